#include "tests/plugins/metrics/quadratic_model.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/scalar.hpp"

namespace quench::test {

namespace {

constexpr int64_t kFirst[] = {2};
constexpr int64_t kLast[] = {1};
constexpr quench_parameter_info kParameters[] = {
    {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "blocks.0.first", 1, kFirst, 0, 0, nullptr},
    {sizeof(quench_parameter_info), QUENCH_ROLE_OTHER, "last", 1, kLast, 2, 0, nullptr}};

constexpr quench_parameter_info kApart[] = {
    {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "blocks.0.a", 1, kLast, 0, 0, nullptr},
    {sizeof(quench_parameter_info), QUENCH_ROLE_OTHER, "last", 1, kLast, 1, 0, nullptr},
    {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "blocks.0.b", 1, kLast, 2, 0, nullptr}};

std::span<const quench_parameter_info> parameters_of(const QuadraticModel& model) {
  return model.apart ? std::span<const quench_parameter_info>(kApart) : kParameters;
}

QuadraticModel& self(const void* model) {
  return *const_cast<QuadraticModel*>(static_cast<const QuadraticModel*>(model));
}

// The loss is a sum over scored positions.
double scored(const quench_loss_args& args) {
  const auto* targets = static_cast<const int32_t*>(args.targets->data);
  double count = 0;
  for (int64_t i = 0; i < args.targets->shape[0] * args.targets->shape[1]; ++i) {
    count += targets[i] >= 0 ? 1 : 0;
  }
  return count;
}

quench_status gradient(quench_model* model, const quench_loss_args* args, const quench_tensor* to,
                       double* loss, quench_error*) noexcept {
  QuadraticModel& own = self(model);
  *loss = scored(*args) * own.loss();
  ++(to == nullptr ? own.forwards : own.gradients);
  for (size_t i = 0; to != nullptr && i < 3; ++i) {
    static_cast<double*>(to->data)[i] += args->weight * scored(*args) * own.gradient()[i];
  }
  return QUENCH_OK;
}

struct Opened {
  QuadraticModel* model;
  double weight;
};

quench_status open_curvature(quench_model* model, const quench_loss_args* args, int32_t,
                             const quench_tensor* to, double* loss, quench_curvature** out,
                             quench_error* error) noexcept {
  ++self(model).open;
  *out =
      reinterpret_cast<quench_curvature*>(new Opened{&self(model), args->weight * scored(*args)});
  return gradient(model, args, to, loss, error);
}

quench_status product(quench_curvature* curvature, const quench_tensor* v, const quench_tensor* to,
                      quench_error*) noexcept {
  const auto& opened = *reinterpret_cast<const Opened*>(curvature);
  ++opened.model->products;
  const auto made = opened.model->times(static_cast<const double*>(v->data));
  for (size_t i = 0; i < 3; ++i) {
    static_cast<double*>(to->data)[i] += opened.weight * made[i];
  }
  return QUENCH_OK;
}

void close_curvature(quench_curvature* curvature) noexcept {
  auto* opened = reinterpret_cast<Opened*>(curvature);
  --opened->model->open;
  delete opened;
}

constexpr quench_model_gradient kGradient = {sizeof kGradient, gradient};
constexpr quench_model_curvature kCurvature = {sizeof kCurvature, open_curvature, product,
                                               close_curvature};

double* place(QuadraticModel& model, const char* name) {
  const auto parameters = parameters_of(model);
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& p) { return std::string_view(p.name) == name; });
  return model.x.data() + found->offset;
}

}  // namespace

QuadraticModel::QuadraticModel(std::array<Vector, 3> matrix, Vector slope, Vector start)
    : a(matrix), g(slope), x(start) {
  table_.struct_size = sizeof table_;
  table_.info = [](const quench_model*, quench_model_info* info, quench_error*) noexcept {
    info->dtype = kit::kFloat64;
    return quench_status{QUENCH_OK};
  };
  table_.parameters = [](const quench_model* model, const quench_parameter_info** list,
                         uint64_t* count, quench_error*) noexcept {
    *list = parameters_of(self(model)).data();
    *count = parameters_of(self(model)).size();
    return quench_status{QUENCH_OK};
  };
  table_.weight_get = [](quench_model* model, const char* name, const quench_tensor* to,
                         quench_error*) noexcept {
    std::memcpy(to->data, place(self(model), name),
                static_cast<size_t>(to->shape[0]) * sizeof(double));
    return quench_status{QUENCH_OK};
  };
  table_.weight_set = [](quench_model* model, const char* name, const quench_tensor* from,
                         quench_error* error) noexcept {
    if (self(model).open > 0) {
      std::strcpy(error->message, "a weight is set while a curvature is open");
      return quench_status{QUENCH_FAILED_PRECONDITION};
    }
    std::memcpy(place(self(model), name), from->data,
                static_cast<size_t>(from->shape[0]) * sizeof(double));
    return quench_status{QUENCH_OK};
  };
  table_.extension = [](const quench_model*, const char* id) noexcept -> const void* {
    const std::string_view wanted = id;
    return wanted == QUENCH_MODEL_GRADIENT    ? static_cast<const void*>(&kGradient)
           : wanted == QUENCH_MODEL_CURVATURE ? &kCurvature
                                              : nullptr;
  };
  subject_ = {sizeof subject_, &table_, reinterpret_cast<quench_model*>(this), nullptr, nullptr};
}

QuadraticModel::Vector QuadraticModel::times(const double* v) const {
  Vector out{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      out[i] += a[i][j] * v[j];
    }
  }
  return out;
}

double QuadraticModel::loss() const {
  const Vector ax = times(x.data());
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    sum += x[i] * (g[i] + 0.5 * ax[i]);
  }
  return sum;
}

QuadraticModel::Vector QuadraticModel::gradient() const {
  Vector out = times(x.data());
  for (size_t i = 0; i < 3; ++i) {
    out[i] += g[i];
  }
  return out;
}

}  // namespace quench::test
