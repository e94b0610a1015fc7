// What the program prints with --json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quench::test {

// The whole document; throws if `out` is not one by docs/answer.schema.json.
nlohmann::json answer_of(const std::string& out);
// Its `data`.
nlohmann::json data_of(const std::string& out);

}  // namespace quench::test
