// gptq: weights as AutoGPTQ and GPTQModel store them, version 1.
//
// | tensor    | type    | shape                 | what it is                                      |
// |-----------|---------|-----------------------|-------------------------------------------------|
// | M.qweight | int32   | [in * bits / 32, out] | codes, a stream of bits down each output        |
// | M.qzeros  | int32   | [groups, out*bits/32] | zero points less one                            |
// | M.scales  | float16 | [groups, out]         | steps of the grid                               |
// | M.g_idx   | int32   | [in]                  | group of each input column                      |
//
//   quench quantize MODEL --quantizer gptq:bits=4,group_size=128 --format gptq -o FOLDER
//
// The weight is scales[g] * (codes - zeros[g]) in float32. 2, 3, 4 and 8 bits. A zero
// point of 0 has no place here: asymmetric grids go into `gptq_v2`. docs/formats.md has the history
// of zero points of three bits.
#include "formats/gptq_layout/gptq_format.hpp"

QUENCH_MODULE("quench.gptq_format", "0.1.0",
              quench::kit::format<quench::formats::Gptq<true>>(
                  {.id = "gptq",
                   .version = "0.1.0",
                   .summary = "Packed weights of AutoGPTQ and GPTQModel, version 1.",
                   .reference = "GPTQModel, gptqmodel/nn_modules/qlinear"}))
