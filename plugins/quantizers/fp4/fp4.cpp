// fp4: the 4-bit float of bitsandbytes: a sign, two exponent bits and one mantissa bit, scaled so
// that the largest value is 1.
#include "quantizers/codebook/four_bit.hpp"

namespace quench::quantizers {

namespace {

// The highest bit of a code is the sign. The other three index these magnitudes, in twelfths.
constexpr Levels make_levels() {
  constexpr float kTwelfths[8] = {0, 0.0625F, 8, 12, 4, 6, 2, 3};
  Levels levels{};
  for (size_t i = 0; i < 8; ++i) {
    levels[i] = kTwelfths[i] / 12;
    levels[i + 8] = -kTwelfths[i] / 12;
  }
  return levels;
}

class Fp4 final : public FourBit {
 public:
  explicit Fp4(const Params& params) : FourBit(params, make_levels()) {}
};

}  // namespace

}  // namespace quench::quantizers

QUENCH_MODULE(
    "quench.fp4", "0.1.0",
    quench::kit::quantizer<quench::quantizers::Fp4>(
        {.id = "fp4",
         .version = "0.1.0",
         .summary = "4-bit float with two exponent bits: the nearest of its values, "
                    "times the largest magnitude of the block.",
         .reference = "Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3; Dettmers "
                      "and Zettlemoyer 2023, arXiv 2212.09720",
         .example = "{double_quantization: true}"}))
