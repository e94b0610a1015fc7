#include "metrics/curvature/basis.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "metrics/curvature/algebra.hpp"

namespace quench::curvature {

namespace {

constexpr uint64_t kSlice = 512;  // elements of all vectors combined at once: fits the cache

// to = Σ_j coefficients[j] v_j in [begin, begin + to.size()).
template <typename T>
void combine_slice(std::span<const std::vector<T>> vectors, std::span<const double> coefficients,
                   uint64_t begin, std::span<double> to) {
  std::fill(to.begin(), to.end(), 0.0);
  for (size_t j = 0; j < coefficients.size(); ++j) {
    const T* v = vectors[j].data() + begin;
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] += coefficients[j] * static_cast<double>(v[i]);
    }
  }
}

}  // namespace

template <typename T>
void Basis<T>::push(std::vector<T> vector) {
  vectors_.push_back(std::move(vector));
}

template <typename T>
void Basis<T>::drop_oldest() {
  vectors_.erase(vectors_.begin());
}

// One pass over the basis computes the coefficients, another subtracts.
template <typename T>
void Basis<T>::project_out(std::span<T> w) const {
  std::vector<double> parts;
  for (const std::vector<T>& v : vectors_) {
    parts.push_back(dot<T>(v, w));
  }
  kit::parallel_for(w.size(), kRange, [&](uint64_t begin, uint64_t end) {
    std::vector<double> rest(w.begin() + static_cast<int64_t>(begin),
                             w.begin() + static_cast<int64_t>(end));
    for (size_t j = 0; j < vectors_.size(); ++j) {
      const T* v = vectors_[j].data() + begin;
      for (size_t i = 0; i < rest.size(); ++i) {
        rest[i] -= parts[j] * static_cast<double>(v[i]);
      }
    }
    for (size_t i = 0; i < rest.size(); ++i) {
      w[begin + i] = static_cast<T>(rest[i]);
    }
  });
}

template <typename T>
std::vector<T> Basis<T>::combination(std::span<const double> coefficients) const {
  std::vector<T> out(vectors_.front().size());
  kit::parallel_for(out.size(), kRange, [&](uint64_t begin, uint64_t end) {
    std::vector<double> sum(end - begin);
    combine_slice<T>(vectors_, coefficients, begin, sum);
    for (size_t i = 0; i < sum.size(); ++i) {
      out[begin + i] = static_cast<T>(sum[i]);
    }
  });
  return out;
}

template <typename T>
void Basis<T>::turn(std::span<const std::vector<double>> rows) {
  kit::parallel_for(vectors_.front().size(), kRange, [&](uint64_t begin, uint64_t end) {
    std::vector<double> turned(rows.size() * kSlice);
    for (uint64_t from = begin; from < end; from += kSlice) {
      const uint64_t count = std::min(kSlice, end - from);
      for (size_t k = 0; k < rows.size(); ++k) {
        combine_slice<T>(vectors_, rows[k], from,
                         std::span<double>(turned).subspan(k * kSlice, count));
      }
      for (size_t k = 0; k < rows.size(); ++k) {
        for (uint64_t i = 0; i < count; ++i) {
          vectors_[k][from + i] = static_cast<T>(turned[k * kSlice + i]);
        }
      }
    }
  });
  vectors_.resize(rows.size());
}

template class Basis<double>;
template class Basis<float>;

}  // namespace quench::curvature
