// A checkpoint of the template model family (sdk/template/model) with drawn weights.
#pragma once

#include <cstdint>
#include <filesystem>

namespace quench::test {

// Vocabulary 256 (bytes), two blocks. Writes config.json and model.safetensors into
// `folder`: embed.weight, head.weight, blocks.0.mix.weight, blocks.1.mix.weight, drawn in this
// order as float32 numbers in [−0.5, 0.5) from the generator
//   s ← (1103515245 · s + 12345) mod 2³¹, s₀ = 1, value s/2³¹ − 0.5.
void write_template_checkpoint(const std::filesystem::path& folder, int64_t width = 32);

}  // namespace quench::test
