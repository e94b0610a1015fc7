#include "metrics/curvature/batch_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::curvature {

namespace {

constexpr quench_device kHost = {QUENCH_DEVICE_CPU, 0};

// Calls `function(..., &error)` and throws the error that it reports.
template <typename Function>
void checked(Function&& function) {
  quench_error error{sizeof error, 0, {}};
  kit::check(function(&error), error);
}

template <typename T>
quench_tensor vector_view(std::span<T> values, const int64_t* size, quench_device device) {
  return {const_cast<std::remove_const_t<T>*>(values.data()),
          device,
          1,
          kit::dtype_of<std::remove_const_t<T>>(),
          size,
          nullptr,
          0};
}

}  // namespace

std::span<const quench_parameter_info> parameters_of(const quench_subject& subject) {
  const quench_parameter_info* list = nullptr;
  uint64_t count = 0;
  checked([&](quench_error* error) {
    return subject.table->parameters(subject.model, &list, &count, error);
  });
  return {list, count};
}

uint64_t elements_of(const quench_parameter_info& parameter) {
  return std::accumulate(parameter.shape, parameter.shape + parameter.dimensions, uint64_t{1},
                         [](uint64_t a, int64_t b) { return a * static_cast<uint64_t>(b); });
}

uint64_t elements_of_all(const quench_subject& subject) {
  uint64_t size = 0;
  for (const quench_parameter_info& parameter : parameters_of(subject)) {
    size += elements_of(parameter);
  }
  return size;
}

bool has_wide_vectors(const quench_subject& subject) {
  quench_model_info info{};
  info.struct_size = sizeof info;
  checked([&](quench_error* error) { return subject.table->info(subject.model, &info, error); });
  return kit::same(info.dtype, kit::kFloat64);
}

Kind kind_of(const std::string& name) {
  if (name == "gauss_newton") {
    return Kind::kGaussNewton;
  }
  if (name == "forward") {
    return Kind::kForward;
  }
  return name == "differences" ? Kind::kDifferences : Kind::kHessian;
}

// Groups rows of equal length.
template <typename T>
struct BatchLoss<T>::Batch {
  Batch(const std::vector<Row>& rows, double weight)
      : shape{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.front().size())} {
    for (const Row& row : rows) {
      ids.insert(ids.end(), row.begin(), row.end());
      targets.insert(targets.end(), row.begin() + 1, row.end());
      targets.push_back(-1);
    }
    id_view = {ids.data(), kHost, 2, kit::kInt32, shape, nullptr, 0};
    target_view = {targets.data(), kHost, 2, kit::kInt32, shape, nullptr, 0};
    batch = {sizeof batch, 0, &id_view, nullptr, nullptr};
    args = {sizeof args, 0, &batch, &target_view, weight, nullptr};
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  int64_t shape[2];
  std::vector<int32_t> ids;
  std::vector<int32_t> targets;
  quench_tensor id_view{};
  quench_tensor target_view{};
  quench_batch batch{};
  quench_loss_args args{};
  quench_curvature* open = nullptr;
};

template <typename T>
BatchLoss<T>::BatchLoss(const quench_subject& subject, std::vector<Row> rows, Kind kind,
                        uint64_t kept_tokens)
    : subject_(subject), space_(metrics::space_of<T>(subject)), kind_(kind), rows_(rows.size()) {
  gradient_ = static_cast<const quench_model_gradient*>(
      subject.table->extension(subject.model, QUENCH_MODEL_GRADIENT));
  curvature_ = static_cast<const quench_model_curvature*>(
      subject.table->extension(subject.model, QUENCH_MODEL_CURVATURE));
  if (gradient_ == nullptr || (curvature_ == nullptr && kind != Kind::kDifferences)) {
    kit::fail(QUENCH_UNSUPPORTED, "the model's family does not implement %s",
              gradient_ == nullptr ? QUENCH_MODEL_GRADIENT : QUENCH_MODEL_CURVATURE);
  }
  size_ = elements_of_all(subject);
  std::map<size_t, std::vector<Row>> by_length;
  for (const Row& row : rows) {
    tokens_ += row.size();
    scored_ += row.size() - 1;
    by_length[row.size()].push_back(row);
  }
  const GraphShapes shapes = graph_shapes(*subject.table, subject.model);
  uint64_t graphs = 0;
  for (const auto& [length, list] : by_length) {
    const size_t together = rows_together(shapes, length);
    graphs += graph_bytes(shapes, list.size(), length);
    for (size_t first = 0; first < list.size(); first += together) {
      const auto begin = list.begin() + static_cast<int64_t>(first);
      const auto end = list.begin() + static_cast<int64_t>(std::min(first + together, list.size()));
      batches_.push_back(std::make_unique<Batch>(std::vector<Row>(begin, end),
                                                 1.0 / static_cast<double>(scored_)));
    }
  }
  keeps_ = tokens_ <= kept_tokens && graphs <= kGraphBytes;
}

template <typename T>
BatchLoss<T>::~BatchLoss() {
  release();
}

template <typename T>
void BatchLoss<T>::release() {
  for (const auto& batch : batches_) {
    if (batch->open != nullptr) {
      curvature_->close(batch->open);
      batch->open = nullptr;
    }
  }
}

template <typename T>
template <typename Function>
double BatchLoss<T>::over_batches(Function&& call) {
  double sum = 0;
  for (const auto& batch : batches_) {
    double loss = 0;
    checked([&](quench_error* error) { return call(*batch, &loss, error); });
    sum += loss;
  }
  return sum / static_cast<double>(scored_);
}

template <typename T>
double BatchLoss<T>::value() {
  return over_batches([this](const Batch& batch, double* loss, quench_error* error) {
    return gradient_->gradient(subject_.model, &batch.args, nullptr, loss, error);
  });
}

template <typename T>
double BatchLoss<T>::gradient(std::span<T> to) {
  space_->clear(to);
  const auto size = static_cast<int64_t>(to.size());
  const quench_tensor view = vector_view(to, &size, space_->device());
  return over_batches([&](const Batch& batch, double* loss, quench_error* error) {
    return gradient_->gradient(subject_.model, &batch.args, &view, loss, error);
  });
}

template <typename T>
void BatchLoss<T>::product(std::span<const T> v, std::span<T> to) {
  kit::check_cancelled();
  if (kind_ == Kind::kDifferences) {
    return difference(v, to);
  }
  space_->clear(to);
  const auto size = static_cast<int64_t>(to.size());
  const quench_tensor from = vector_view(v, &size, space_->device());
  const quench_tensor into = vector_view(to, &size, space_->device());
  const int32_t kind = kind_ == Kind::kGaussNewton ? QUENCH_CURVATURE_GAUSS_NEWTON
                       : kind_ == Kind::kForward   ? QUENCH_CURVATURE_FORWARD
                                                   : QUENCH_CURVATURE_HESSIAN;
  for (const auto& batch : batches_) {
    double loss = 0;
    if (batch->open == nullptr) {
      checked([&](quench_error* error) {
        return curvature_->open(subject_.model, &batch->args, kind, nullptr, &loss, &batch->open,
                                error);
      });
    }
    checked(
        [&](quench_error* error) { return curvature_->product(batch->open, &from, &into, error); });
    if (!keeps_) {
      release();
    }
  }
}

// (g(θ + ε v) - g(θ - ε v)) / 2ε, where ε |v| = (1 + |θ|) times the cube root of the type's unit
// roundoff, which balances rounding against the third derivative.
template <typename T>
void BatchLoss<T>::difference(std::span<const T> v, std::span<T> to) {
  const metrics::Vector<T> here(*space_, size_);
  read_parameters<T>(subject_, *space_, here);
  const double unit = std::cbrt(static_cast<double>(std::numeric_limits<T>::epsilon()));
  const double length = metrics::norm<T>(*space_, v);
  if (length == 0.0) {
    space_->clear(to);
    return;
  }
  const double step = unit * (1.0 + metrics::norm<T>(*space_, here)) / length;
  const metrics::Vector<T> moved(*space_, size_);
  const metrics::Vector<T> behind(*space_, size_);
  space_->copy(here, moved);
  space_->combine(moved, 1.0, step, v);
  write_parameters<T>(subject_, *space_, moved);
  gradient(to);
  space_->copy(here, moved);
  space_->combine(moved, 1.0, -step, v);
  write_parameters<T>(subject_, *space_, moved);
  gradient(behind);
  write_parameters<T>(subject_, *space_, here);
  space_->combine(to, 0.5 / step, -0.5 / step, behind);
}

namespace {

// The elements of one parameter, as it is shaped.
template <typename T>
quench_tensor shaped(const quench_parameter_info& parameter, const T* values,
                     quench_device device) {
  return {const_cast<T*>(values),
          device,
          parameter.dimensions,
          kit::dtype_of<T>(),
          parameter.shape,
          nullptr,
          0};
}

void get_weight(const quench_subject& subject, const char* name, const quench_tensor& to) {
  checked([&](quench_error* error) {
    return subject.table->weight_get(subject.model, name, &to, error);
  });
}

}  // namespace

template <typename T>
void read_parameter(const quench_subject& subject, const quench_parameter_info& parameter,
                    std::span<T> to) {
  get_weight(subject, parameter.name, shaped(parameter, to.data(), kHost));
}

template <typename T>
void read_parameters(const quench_subject& subject, const metrics::Space<T>& space,
                     std::span<T> to) {
  for (const quench_parameter_info& parameter : parameters_of(subject)) {
    get_weight(subject, parameter.name,
               shaped(parameter, to.data() + parameter.offset, space.device()));
  }
}

template <typename T>
void write_parameters(const quench_subject& subject, const metrics::Space<T>& space,
                      std::span<const T> from) {
  for (const quench_parameter_info& parameter : parameters_of(subject)) {
    const quench_tensor value = shaped(parameter, from.data() + parameter.offset, space.device());
    checked([&](quench_error* error) {
      return subject.table->weight_set(subject.model, parameter.name, &value, error);
    });
  }
}

template class BatchLoss<double>;
template class BatchLoss<float>;
template void read_parameters<double>(const quench_subject&, const metrics::Space<double>&,
                                      std::span<double>);
template void read_parameters<float>(const quench_subject&, const metrics::Space<float>&,
                                     std::span<float>);
template void write_parameters<double>(const quench_subject&, const metrics::Space<double>&,
                                       std::span<const double>);
template void write_parameters<float>(const quench_subject&, const metrics::Space<float>&,
                                      std::span<const float>);
template void read_parameter<double>(const quench_subject&, const quench_parameter_info&,
                                     std::span<double>);
template void read_parameter<float>(const quench_subject&, const quench_parameter_info&,
                                    std::span<float>);

}  // namespace quench::curvature
