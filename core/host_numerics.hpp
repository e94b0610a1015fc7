// Which arithmetic of the host a value comes from.
#pragma once

namespace quench {

// Counts up when arithmetic of the host changes (micro-batches, packing, tokenization): older
// records then answer to nothing any more.
inline constexpr int kHostNumerics = 1;

}  // namespace quench
