#include <algorithm>
#include <cmath>
#include <new>

#include "metrics/vectors/algebra.hpp"
#include "metrics/vectors/space.hpp"

namespace quench::metrics {

namespace {

constexpr uint64_t kSlice = 512;  // elements of all vectors combined at once: fits the cache

// to = Σ_j coefficients[j] v_j in [begin, begin + to.size()).
template <typename T>
void combine_slice(std::span<const Vector<T>> vectors, std::span<const double> coefficients,
                   uint64_t begin, std::span<double> to) {
  std::fill(to.begin(), to.end(), 0.0);
  for (size_t j = 0; j < coefficients.size(); ++j) {
    const T* v = vectors[j].data() + begin;
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] += coefficients[j] * static_cast<double>(v[i]);
    }
  }
}

template <typename T>
class HostSpace final : public Space<T> {
 public:
  quench_device device() const override { return {QUENCH_DEVICE_CPU, 0}; }
  T* allocate(uint64_t count) override {
    try {
      return new T[count]();
    } catch (const std::bad_alloc&) {
      kit::fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for a vector of %llu bytes",
                static_cast<unsigned long long>(count * sizeof(T)));
    }
  }
  void release(T* memory) override { delete[] memory; }

  void clear(std::span<T> to) override { std::fill(to.begin(), to.end(), T{0}); }
  void copy(std::span<const T> from, std::span<T> to) override {
    std::copy(from.begin(), from.end(), to.begin());
  }
  void fill(std::span<T> to, const std::function<void(std::span<T>)>& make) override { make(to); }
  double dot(std::span<const T> a, std::span<const T> b) override { return metrics::dot<T>(a, b); }
  void combine(std::span<T> y, double scale, double factor, std::span<const T> x) override {
    metrics::combine<T>(y, scale, factor, x);
  }

  // One pass over the vectors computes the coefficients, another subtracts.
  void project_out(std::span<const Vector<T>> vectors, std::span<T> w) override {
    std::vector<double> parts;
    for (const Vector<T>& v : vectors) {
      parts.push_back(metrics::dot<T>(v, w));
    }
    kit::parallel_for(w.size(), kRange, [&](uint64_t begin, uint64_t end) {
      std::vector<double> rest(w.begin() + static_cast<int64_t>(begin),
                               w.begin() + static_cast<int64_t>(end));
      for (size_t j = 0; j < vectors.size(); ++j) {
        const T* v = vectors[j].data() + begin;
        for (size_t i = 0; i < rest.size(); ++i) {
          rest[i] -= parts[j] * static_cast<double>(v[i]);
        }
      }
      for (size_t i = 0; i < rest.size(); ++i) {
        w[begin + i] = static_cast<T>(rest[i]);
      }
    });
  }

  void combination(std::span<const Vector<T>> vectors, std::span<const double> coefficients,
                   std::span<T> to) override {
    kit::parallel_for(to.size(), kRange, [&](uint64_t begin, uint64_t end) {
      std::vector<double> sum(end - begin);
      combine_slice<T>(vectors, coefficients, begin, sum);
      for (size_t i = 0; i < sum.size(); ++i) {
        to[begin + i] = static_cast<T>(sum[i]);
      }
    });
  }

  void turn(std::span<Vector<T>> vectors, std::span<const std::vector<double>> rows) override {
    kit::parallel_for(vectors.front().size(), kRange, [&](uint64_t begin, uint64_t end) {
      std::vector<double> turned(rows.size() * kSlice);
      for (uint64_t from = begin; from < end; from += kSlice) {
        const uint64_t count = std::min(kSlice, end - from);
        for (size_t k = 0; k < rows.size(); ++k) {
          combine_slice<T>(vectors, rows[k], from,
                           std::span<double>(turned).subspan(k * kSlice, count));
        }
        for (size_t k = 0; k < rows.size(); ++k) {
          for (uint64_t i = 0; i < count; ++i) {
            vectors[k].data()[from + i] = static_cast<T>(turned[k * kSlice + i]);
          }
        }
      }
    });
  }
};

}  // namespace

template <typename T>
Space<T>& host_space() {
  static HostSpace<T> space;
  return space;
}

template <typename T>
double norm(Space<T>& space, std::span<const T> a) {
  return std::sqrt(space.dot(a, a));
}

template Space<float>& host_space<float>();
template Space<double>& host_space<double>();
template double norm<float>(Space<float>&, std::span<const float>);
template double norm<double>(Space<double>&, std::span<const double>);

}  // namespace quench::metrics
