// Model cards of quantized folders, which are written in Python (python/quench/card.py).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace quench {

// The texts of README.md, one for each object of the list; errors have intervals where a Python has
// numpy. Throws what python_output throws.
std::vector<std::string> card_texts(const nlohmann::json& requests, const Context& context);

// What a card says of the quantizer.
nlohmann::json card_of_quantizer(const QuantizerCell& cell);

}  // namespace quench
