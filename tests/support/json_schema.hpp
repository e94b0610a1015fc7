// JSON Schema (draft-07) as editors apply it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quench::test {

// What `schema` has against `instance`, one complaint a line; "" when nothing.
std::string schema_complaints(const nlohmann::json& schema, const nlohmann::json& instance);

}  // namespace quench::test
