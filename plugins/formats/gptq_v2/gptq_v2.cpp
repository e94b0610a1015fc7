// gptq_v2: weights as GPTQModel stores them, version 2.
//
// | tensor    | type    | shape                   | what it is                               |
// |-----------|---------|-------------------------|------------------------------------------|
// | M.qweight | int32   | [in * bits / 32, out]   | codes, a stream of bits down each output |
// | M.qzeros  | int32   | [groups, out * bits/32] | zero points as they are                  |
// | M.scales  | float16 | [groups, out]           | steps of the grid                        |
// | M.g_idx   | int32   | [in]                    | group of each input column               |
//
//   quench quantize MODEL --quantizer gptq:bits=4,sym=false --format gptq_v2 -o FOLDER
//
// The weight is scales[g] * (codes - zeros[g]) in float32. 2, 3, 4 and 8 bits.
#include "formats/gptq_layout/gptq_format.hpp"

QUENCH_MODULE("quench.gptq_v2_format", "0.1.0",
              quench::kit::format<quench::formats::Gptq<false>>(
                  {.id = "gptq_v2",
                   .version = "0.1.0",
                   .summary = "Packed weights of GPTQModel, version 2: zero points as they are.",
                   .reference = "GPTQModel, gptqmodel/nn_modules/qlinear"}))
