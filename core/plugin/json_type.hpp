// The type of a value for the JSON services.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "quench/abi/host.h"

namespace quench {

// QUENCH_JSON_*. An integer beyond int64 is a number.
inline int32_t json_type(const nlohmann::json& value) {
  using Type = nlohmann::json::value_t;
  switch (value.type()) {
    case Type::null:
      return QUENCH_JSON_NULL;
    case Type::boolean:
      return QUENCH_JSON_BOOLEAN;
    case Type::string:
      return QUENCH_JSON_STRING;
    case Type::array:
      return QUENCH_JSON_ARRAY;
    case Type::object:
      return QUENCH_JSON_OBJECT;
    case Type::number_unsigned:
      return value.get<uint64_t>() <= INT64_MAX ? QUENCH_JSON_INTEGER : QUENCH_JSON_NUMBER;
    case Type::number_integer:
      return QUENCH_JSON_INTEGER;
    default:
      return QUENCH_JSON_NUMBER;
  }
}

}  // namespace quench
