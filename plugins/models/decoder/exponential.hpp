// e^x of a vector, for files that shared/matrix/each_isa.hpp compiles per instruction set.
namespace quench::decoder::QUENCH_ISA_NAMESPACE {

using matrix::QUENCH_ISA_NAMESPACE::lesser;
using matrix::QUENCH_ISA_NAMESPACE::Simd;

// Constants of e^x for one type: ln 2 in two parts, the first short enough that its products with
// whole numbers are exact; the x below which e^x is 0; 1.5 times the power of two above which all
// numbers are whole; the Taylor coefficients that matter where |r| <= 0.3466.
template <typename T>
struct Exponential;
template <>
struct Exponential<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
  static constexpr float kLeast = -104;
  static constexpr float kWhole = 0x1.8p23F;
  static constexpr float kHigh = 0.693145752F;
  static constexpr float kLow = 1.42860677e-6F;
  static constexpr float kLast = 1.0F / 5040;
  static constexpr float kFactors[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6,
                                       0.5F,       1.0F,       1.0F};
};
template <>
struct Exponential<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kLeast = -746;
  static constexpr double kWhole = 0x1.8p52;
  static constexpr double kHigh = 0x1.62e42feep-1;
  static constexpr double kLow = 0x1.a39ef35793c76p-33;
  static constexpr double kLast = 1.0 / 6227020800;
  static constexpr double kFactors[] = {1.0 / 479001600,
                                        1.0 / 39916800,
                                        1.0 / 3628800,
                                        1.0 / 362880,
                                        1.0 / 40320,
                                        1.0 / 5040,
                                        1.0 / 720,
                                        1.0 / 120,
                                        1.0 / 24,
                                        1.0 / 6,
                                        0.5,
                                        1.0,
                                        1.0};
};

// e^x for x <= 0, to about one unit in the last place; NaN stays NaN.
template <typename T>
QUENCH_INLINE typename Simd<T>::Vector exponential(typename Simd<T>::Vector x) {
  using L = Simd<T>;
  using E = Exponential<T>;
  using Bits = typename E::Bits;
  typedef Bits Integers __attribute__((vector_size(QUENCH_ISA_BYTES)));
  const auto held = L::greater(L::same(E::kLeast), x);
  const auto shifted = held * L::same(static_cast<T>(1.4426950408889634)) + L::same(E::kWhole);
  const auto n = shifted - L::same(E::kWhole);  // to nearest
  auto r = L::multiply_add(n, L::same(-E::kHigh), held);
  r = L::multiply_add(n, L::same(-E::kLow), r);
  auto sum = L::same(E::kLast);
  for (const T factor : E::kFactors) {
    sum = L::multiply_add(sum, r, L::same(factor));
  }
  // 2^n in two steps. The first is exact, so that results below the normal numbers are rounded
  // once.
  const Integers whole =
      reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(L::same(E::kWhole));
  const Integers half = ((whole + 2 * E::kBias) >> 1) - E::kBias;
  using Vector = typename L::Vector;
  sum *= reinterpret_cast<Vector>((half + E::kBias) << E::kMantissa);
  return sum * reinterpret_cast<Vector>((whole - half + E::kBias) << E::kMantissa);
}

}  // namespace quench::decoder::QUENCH_ISA_NAMESPACE
