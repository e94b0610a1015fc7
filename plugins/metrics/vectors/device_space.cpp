#include <algorithm>

#include "metrics/vectors/space.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/kit/scalar.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

template <typename Function>
void checked(Function&& function) {
  quench_error error{sizeof error, 0, {}};
  kit::check(function(&error), error);
}

// A span as it crosses the border.
template <typename T>
class View {
 public:
  View(std::span<const T> values, quench_device device)
      : size_(static_cast<int64_t>(values.size())),
        view_{const_cast<T*>(values.data()), device, 1, kit::dtype_of<T>(), &size_, nullptr, 0} {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  const quench_tensor* get() const { return &view_; }

 private:
  int64_t size_;
  quench_tensor view_;
};

template <typename T>
class DeviceSpace final : public Space<T> {
 public:
  DeviceSpace(const quench_subject& subject, quench_device device,
              const quench_model_vectors& vectors)
      : subject_(subject), device_(device), vectors_(vectors) {}

  quench_device device() const override { return device_; }
  T* allocate(uint64_t count) override {
    void* memory = nullptr;
    checked([&](quench_error* error) {
      return subject_.table->allocate(subject_.model, std::max<uint64_t>(count, 1) * sizeof(T),
                                      &memory, error);
    });
    auto* const values = static_cast<T*>(memory);
    clear({values, static_cast<size_t>(count)});
    return values;
  }
  void release(T* memory) override { subject_.table->release(subject_.model, memory); }

  void clear(std::span<T> to) override {
    const View<T> view(to, device_);
    checked(
        [&](quench_error* error) { return vectors_.fill(subject_.model, 0.0, view.get(), error); });
  }
  void copy(std::span<const T> from, std::span<T> to) override { move(from, device_, to); }
  void fill(std::span<T> to, const std::function<void(std::span<T>)>& make) override {
    std::vector<T> made(to.size());
    make(made);
    move(made, {QUENCH_DEVICE_CPU, 0}, to);
  }
  double dot(std::span<const T> a, std::span<const T> b) override {
    const View<T> left(a, device_);
    const View<T> right(b, device_);
    double value = 0;
    checked([&](quench_error* error) {
      return vectors_.dot(subject_.model, left.get(), right.get(), &value, error);
    });
    return value;
  }
  void combine(std::span<T> y, double scale, double factor, std::span<const T> x) override {
    sum({y, x}, {scale, factor}, y);
  }
  void project_out(std::span<const Vector<T>> vectors, std::span<T> w) override {
    std::vector<std::span<const T>> terms = {w};
    std::vector<double> factors = {1.0};
    for (const Vector<T>& v : vectors) {
      terms.push_back(v);
      factors.push_back(-dot(v, w));
    }
    sum(terms, factors, w);
  }
  void combination(std::span<const Vector<T>> vectors, std::span<const double> coefficients,
                   std::span<T> to) override {
    sum({vectors.begin(), vectors.begin() + static_cast<int64_t>(coefficients.size())},
        {coefficients.begin(), coefficients.end()}, to);
  }
  // Slice by slice: whole new vectors would take the memory of the old ones again.
  void turn(std::span<Vector<T>> vectors, std::span<const std::vector<double>> rows) override {
    const uint64_t size = vectors.front().size();
    const Vector<T> turned(*this, rows.size() * std::min(kTurned, size));
    for (uint64_t from = 0; from < size; from += kTurned) {
      const uint64_t count = std::min(kTurned, size - from);
      for (size_t k = 0; k < rows.size(); ++k) {
        std::vector<std::span<const T>> slices;
        for (size_t j = 0; j < rows[k].size(); ++j) {
          slices.push_back(vectors[j].part(from, count));
        }
        sum(slices, rows[k], turned.part(k * count, count));
      }
      for (size_t k = 0; k < rows.size(); ++k) {
        copy(turned.part(k * count, count), vectors[k].part(from, count));
      }
    }
  }

 private:
  // to = Σ factors[k] · terms[k].
  void sum(const std::vector<std::span<const T>>& terms, const std::vector<double>& factors,
           std::span<T> to) {
    const auto size = static_cast<int64_t>(to.size());
    std::vector<quench_tensor> views;
    for (const std::span<const T>& term : terms) {
      views.push_back(
          {const_cast<T*>(term.data()), device_, 1, kit::dtype_of<T>(), &size, nullptr, 0});
    }
    const View<T> into(to, device_);
    checked([&](quench_error* error) {
      return vectors_.combine(subject_.model, static_cast<uint32_t>(views.size()), views.data(),
                              factors.data(), into.get(), error);
    });
  }
  void move(std::span<const T> from, quench_device where, std::span<T> to) {
    const View<T> source(from, where);
    const View<T> target(to, device_);
    checked([&](quench_error* error) {
      return subject_.table->copy(subject_.model, source.get(), target.get(), nullptr, error);
    });
  }

  const quench_subject& subject_;
  quench_device device_;
  const quench_model_vectors& vectors_;
};

}  // namespace

template <typename T>
std::shared_ptr<Space<T>> space_of(const quench_subject& subject) {
  quench_model_info info{};
  info.struct_size = sizeof info;
  checked([&](quench_error* error) { return subject.table->info(subject.model, &info, error); });
  const auto* vectors = info.device.type == QUENCH_DEVICE_CPU ||
                                subject.table->allocate == nullptr ||
                                subject.table->extension == nullptr
                            ? nullptr
                            : static_cast<const quench_model_vectors*>(
                                  subject.table->extension(subject.model, QUENCH_MODEL_VECTORS));
  if (vectors == nullptr || vectors->struct_size < sizeof *vectors) {
    return {std::shared_ptr<Space<T>>(), &host_space<T>()};
  }
  return std::make_shared<DeviceSpace<T>>(subject, info.device, *vectors);
}

template std::shared_ptr<Space<float>> space_of<float>(const quench_subject&);
template std::shared_ptr<Space<double>> space_of<double>(const quench_subject&);

}  // namespace quench::metrics
