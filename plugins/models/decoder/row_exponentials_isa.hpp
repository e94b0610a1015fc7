// The part of row_exponentials.cpp that is compiled per instruction set.
#include "models/decoder/exponential.hpp"

namespace quench::decoder::QUENCH_ISA_NAMESPACE {

inline constexpr int64_t kLanes = 16;  // partial results per row, for any vector width

// Adds halves pairwise, so that the order does not depend on the vector width.
template <typename T>
T total(T (&parts)[kLanes]) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      parts[i] += parts[i + half];
    }
  }
  return parts[0];
}

template <typename T>
T peak_of(const T* row, int64_t count, T peak) {
  using L = Simd<T>;
  typename L::Vector peaks[4];
  for (auto& part : peaks) {
    part = L::same(peak);
  }
  int64_t i = 0;
  for (; i + 4 * L::kCount <= count; i += 4 * L::kCount) {
    for (int64_t part = 0; part < 4; ++part) {
      peaks[part] = L::greater(peaks[part], L::load(row + i + part * L::kCount));
    }
  }
  T parts[L::kCount];
  L::store(parts, L::greater(L::greater(peaks[0], peaks[1]), L::greater(peaks[2], peaks[3])));
  for (const T part : parts) {
    peak = peak > part ? peak : part;
  }
  for (; i < count; ++i) {
    peak = peak > row[i] ? peak : row[i];
  }
  return peak;
}

// Walks the row twice; the second walk finds it in the cache.
template <typename T>
RowSum sum_exponentials(const T* row, int64_t count) {
  using L = Simd<T>;
  using D = Simd<double>;
  constexpr int64_t kSums = kLanes / D::kCount;
  const T peak = peak_of(row, count, static_cast<T>(-__builtin_huge_val()));
  typename D::Vector sums[kSums];
  for (auto& sum : sums) {
    sum = D::zero();
  }
  T powers[kLanes];
  for (int64_t i = 0; i < count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; lane += L::kCount) {
      const int64_t left = count - i - lane;
      const auto power = exponential<T>(L::load(row + i + lane, left) - L::same(peak));
      L::store(powers + lane, left < L::kCount ? L::first(power, left) : power);
    }
    for (int64_t part = 0; part < kSums; ++part) {
      sums[part] += D::load(powers + part * D::kCount, D::kCount);
    }
  }
  double parts[kLanes];
  for (int64_t part = 0; part < kSums; ++part) {
    D::store(parts + part * D::kCount, sums[part]);
  }
  return {static_cast<double>(peak), total(parts)};
}

template <typename T>
void exponentiate(T* scores, int64_t count, int64_t size, RunningRow<T>& row, T* output,
                  int64_t width) {
  using L = Simd<T>;
  constexpr int64_t kSums = kLanes / L::kCount;
  const T before = row.peak;
  row.peak = peak_of(scores, count, before);
  typename L::Vector sums[kSums];
  for (auto& sum : sums) {
    sum = L::zero();
  }
  for (int64_t i = 0; i < size; i += kLanes) {
    for (int64_t part = 0; part < kSums; ++part) {
      const int64_t lane = i + part * L::kCount;
      auto power = exponential<T>(L::load(scores + lane) - L::same(row.peak));
      if (lane + L::kCount > count) {
        power = L::first(power, count - lane);
      }
      L::store(scores + lane, power);
      sums[part] += power;
    }
  }
  T parts[kLanes];
  for (int64_t part = 0; part < kSums; ++part) {
    L::store(parts + part * L::kCount, sums[part]);
  }
  const T shrunk = row.sum == 0 ? 0 : exponential<T>(L::same(before - row.peak))[0];
  if (row.sum != 0 && shrunk != 1) {
    for (int64_t i = 0; i < width; i += L::kCount) {
      L::store(output + i, width - i, L::load(output + i, width - i) * L::same(shrunk));
    }
  }
  row.sum = row.sum * static_cast<double>(shrunk) + static_cast<double>(total(parts));
}

template <typename T>
void divide(const T* from, T by, int64_t count, T* to) {
  using L = Simd<T>;
  for (int64_t i = 0; i < count; i += L::kCount) {
    L::store(to + i, count - i, L::load(from + i, count - i) / L::same(by));
  }
}

}  // namespace quench::decoder::QUENCH_ISA_NAMESPACE
