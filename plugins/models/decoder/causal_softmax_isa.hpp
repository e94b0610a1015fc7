// The part of causal_softmax.cpp that is compiled per instruction set: rows of floats.
namespace quench::decoder::QUENCH_ISA_NAMESPACE {

using matrix::QUENCH_ISA_NAMESPACE::lesser;
using Floats = matrix::QUENCH_ISA_NAMESPACE::Simd<float>;
using Doubles = matrix::QUENCH_ISA_NAMESPACE::Simd<double>;

inline constexpr int64_t kSums = 16;  // partial sums of a row, for any vector width
inline constexpr int64_t kRowsAtOnce = 8;
inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kFactorsOfPower[] = {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                                            1.6666665459e-1F, 5.0000001201e-1F};

// sum * 2^n, rounded once; shifted is n + 1.5 * 2^23.
QUENCH_INLINE Floats::Vector scaled_by_power(Floats::Vector sum, Floats::Vector n,
                                             Floats::Vector shifted) {
#if QUENCH_ISA_BYTES == 64
  static_cast<void>(shifted);
  return _mm512_scalef_ps(sum, n);
#else
  // In two factors, since n reaches from -150 to 0.
  static_cast<void>(n);
  typedef int32_t Integers __attribute__((vector_size(QUENCH_ISA_BYTES)));
  const Integers whole =
      reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(Floats::same(12582912.0F));
  const Integers half = whole >> 1;
  sum *= reinterpret_cast<Floats::Vector>((half + 127) << 23);
  return sum * reinterpret_cast<Floats::Vector>((whole - half + 127) << 23);
#endif
}

// e^x for x <= 0, with the operations of transcendental.hpp; NaN stays NaN.
QUENCH_INLINE Floats::Vector power_of_e(Floats::Vector x) {
  using L = Floats;
  const auto far = x < L::same(-104.0F);  // there e^x is 0, and 0 takes its place meanwhile
  const auto held = far ? L::zero() : x;
  const auto shifted = held * L::same(1.44269504F) + L::same(12582912.0F);
  const auto n = shifted - L::same(12582912.0F);
  const auto r = held - n * L::same(0.693359375F) + n * L::same(2.12194440e-4F);
  auto sum = L::same(1.9875691500e-4F);
  for (const float factor : kFactorsOfPower) {
    sum = sum * r + L::same(factor);
  }
  sum = sum * (r * r) + r + L::same(1.0F);
  return far ? L::zero() : scaled_by_power(sum, n, shifted);
}

// Writes kBehind times `value`.
QUENCH_INLINE void end_row(float* row, float value) {
  for (int64_t lane = 0; lane < kSums; lane += Floats::kCount) {
    Floats::store(row + lane, Floats::same(value));
  }
}

QUENCH_INLINE float largest_lane(Floats::Vector x) {
#if QUENCH_ISA_BYTES == 64
  return _mm512_reduce_max_ps(x);
#elif QUENCH_ISA_BYTES == 32
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
#else
  float peak = x[0];
  for (int64_t lane = 1; lane < Floats::kCount; ++lane) {
    peak = x[lane] > peak ? x[lane] : peak;
  }
  return peak;
#endif
}

// The largest of a row that is no NaN; behind the row there is -infinity.
QUENCH_INLINE float peak_of_row(const float* row, int64_t count) {
  constexpr int64_t kVectors = kSums / Floats::kCount;
  Floats::Vector peaks[kVectors];
  for (auto& peak : peaks) {
    peak = Floats::same(-kInfinity);
  }
  for (int64_t i = 0; i < count; i += kSums) {
    for (int64_t part = 0; part < kVectors; ++part) {
      peaks[part] = Floats::greater(Floats::load(row + i + part * Floats::kCount), peaks[part]);
    }
  }
  for (int64_t part = 1; part < kVectors; ++part) {
    peaks[0] = Floats::greater(peaks[part], peaks[0]);
  }
  return largest_lane(peaks[0]);
}

// row = e^(row - peak), and its partial sums.
QUENCH_INLINE void exponentiate_to_sums(float* row, float peak, int64_t count, double* to) {
  constexpr int64_t kVectors = kSums / Doubles::kCount;
  Doubles::Vector sums[kVectors];
  for (auto& sum : sums) {
    sum = Doubles::zero();
  }
  for (int64_t i = 0; i < count; i += kSums) {
    for (int64_t lane = i; lane < i + kSums; lane += Floats::kCount) {
      Floats::store(row + lane, power_of_e(Floats::load(row + lane) - Floats::same(peak)));
    }
    for (int64_t part = 0; part < kVectors; ++part) {
      sums[part] += Doubles::load(row + i + part * Doubles::kCount, Doubles::kCount);
    }
  }
  for (int64_t part = 0; part < kVectors; ++part) {
    Doubles::store(to + part * Doubles::kCount, sums[part]);
  }
}

inline void causal_softmax(float* scores, int64_t stride, int64_t rows, int64_t first,
                           float* kept) {
  for (int64_t from = 0; from < rows; from += kRowsAtOnce) {
    const int64_t group = lesser(kRowsAtOnce, rows - from);
    float* begin = scores + from * stride;
    const int64_t shortest = first + from + 1;
    float* made = kept + 2 * from;
    double sums[kRowsAtOnce][kSums];
    for (int64_t i = 0; i < group; ++i) {  // in time: a load of what two stores wrote waits
      end_row(begin + i * stride + shortest + i, -kInfinity);
    }
    for (int64_t i = 0; i < group; ++i) {
      made[2 * i] = peak_of_row(begin + i * stride, shortest + i);
    }
    for (int64_t i = 0; i < group; ++i) {
      exponentiate_to_sums(begin + i * stride, made[2 * i], shortest + i, sums[i]);
    }
    for (int64_t i = 0; i < group; ++i) {
      double sum = 0;
      for (const double part : sums[i]) {
        sum += part;
      }
      made[2 * i + 1] = static_cast<float>(1.0 / sum);
    }
    for (int64_t i = 0; i < group; ++i) {
      float* row = begin + i * stride;
      const auto inverse = Floats::same(made[2 * i + 1]);
      for (int64_t lane = 0; lane < shortest + i; lane += Floats::kCount) {
        Floats::store(row + lane, Floats::load(row + lane) * inverse);
      }
      end_row(row + shortest + i, 0);
    }
  }
}

// row = p, and the partial sums of p e.
QUENCH_INLINE void soften_to_sums(float* row, const float* errors, float peak, float inverse,
                                  int64_t count, float* to) {
  constexpr int64_t kVectors = kSums / Floats::kCount;
  Floats::Vector sums[kVectors];
  for (auto& sum : sums) {
    sum = Floats::zero();
  }
  for (int64_t i = 0; i < count; i += kSums) {
    for (int64_t part = 0; part < kVectors; ++part) {
      const int64_t lane = i + part * Floats::kCount;
      const auto p =
          power_of_e(Floats::load(row + lane) - Floats::same(peak)) * Floats::same(inverse);
      Floats::store(row + lane, p);
      sums[part] += p * Floats::load(errors + lane);
    }
  }
  for (int64_t part = 0; part < kVectors; ++part) {
    Floats::store(to + part * Floats::kCount, sums[part]);
  }
}

inline void causal_softmax_backward(float* scores, float* errors, int64_t stride, int64_t rows,
                                    int64_t first, const float* kept) {
  for (int64_t from = 0; from < rows; from += kRowsAtOnce) {
    const int64_t group = lesser(kRowsAtOnce, rows - from);
    const int64_t shortest = first + from + 1;
    float sums[kRowsAtOnce][kSums];
    float means[kRowsAtOnce];
    for (int64_t i = 0; i < group; ++i) {
      end_row(scores + (from + i) * stride + shortest + i, -kInfinity);
      end_row(errors + (from + i) * stride + shortest + i, 0);
    }
    for (int64_t i = 0; i < group; ++i) {
      float* row = scores + (from + i) * stride;
      float* error = errors + (from + i) * stride;
      const float* made = kept + 2 * (from + i);
      soften_to_sums(row, error, made[0], made[1], shortest + i, sums[i]);
    }
    for (int64_t i = 0; i < group; ++i) {
      double sum = 0;
      for (const float part : sums[i]) {
        sum += static_cast<double>(part);
      }
      means[i] = static_cast<float>(sum);
    }
    for (int64_t i = 0; i < group; ++i) {
      float* row = scores + (from + i) * stride;
      float* error = errors + (from + i) * stride;
      const auto mean = Floats::same(means[i]);
      for (int64_t lane = 0; lane < shortest + i; lane += Floats::kCount) {
        Floats::store(error + lane, Floats::load(row + lane) * (Floats::load(error + lane) - mean));
      }
      end_row(row + shortest + i, 0);
      end_row(error + shortest + i, 0);
    }
  }
}

}  // namespace quench::decoder::QUENCH_ISA_NAMESPACE
