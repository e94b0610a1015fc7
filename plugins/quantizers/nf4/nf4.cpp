// nf4: the 4-bit NormalFloat of QLoRA. Its values are quantiles of a normal distribution with an
// exact 0 and extremes -1 and 1, so that normally distributed weights use all codes about equally
// often.
#include "quantizers/codebook/four_bit.hpp"

namespace quench::quantizers {

namespace {

// As published (QLoRA, appendix E), each rounded to float32.
constexpr Levels kNormalFloat = {-1.0F,
                                 -0.6961928009986877F,
                                 -0.5250730514526367F,
                                 -0.39491748809814453F,
                                 -0.28444138169288635F,
                                 -0.18477343022823334F,
                                 -0.09105003625154495F,
                                 0.0F,
                                 0.07958029955625534F,
                                 0.16093020141124725F,
                                 0.24611230194568634F,
                                 0.33791524171829224F,
                                 0.44070982933044434F,
                                 0.5626170039176941F,
                                 0.7229568362236023F,
                                 1.0F};

class Nf4 final : public FourBit {
 public:
  explicit Nf4(const Params& params) : FourBit(params, kNormalFloat) {}
};

}  // namespace

}  // namespace quench::quantizers

QUENCH_MODULE("quench.nf4", "0.1.0",
              quench::kit::quantizer<quench::quantizers::Nf4>(
                  {.id = "nf4",
                   .version = "0.1.0",
                   .summary = "4-bit NormalFloat: the nearest of sixteen quantiles of a normal "
                              "distribution, times the largest magnitude of the block.",
                   .reference = "Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3",
                   .example = "{double_quantization: true}"}))
