// Writes the quantized weights of a grid row beside the results.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/format_writer.hpp"
#include "core/weights/open_weights.hpp"
#include "run/row_folders.hpp"

namespace quench {

// Writes the folder, or leaves it to another process that has written the same one meanwhile.
// Throws what export_weights and SealedFolder throw.
void export_row(OpenWeights& open, FormatWriter& stored, const OwedFolder& owed,
                const std::string& tokenizer);

}  // namespace quench
