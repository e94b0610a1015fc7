#include "core/base/json/canonical_json.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr int kMaxDepth = 256;

void append_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    fail(QUENCH_INVALID_ARGUMENT, "canonical JSON: {} is not a finite number", value);
  }
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  const std::string_view text(digits, static_cast<size_t>(end.ptr - digits));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) {
    out += ".0";
  }
}

void append_string(const std::string& text, std::string& out) {
  try {
    out += json(text).dump();
  } catch (const json::exception&) {
    fail(QUENCH_INVALID_ARGUMENT, "canonical JSON: '{}' is not UTF-8", printable(text));
  }
}

void append(const json& value, std::string& out, int depth) {
  if (depth > kMaxDepth) {
    fail(QUENCH_INVALID_ARGUMENT, "canonical JSON: nested deeper than {} levels", kMaxDepth);
  }
  switch (value.type()) {
    case json::value_t::object: {
      char separator = '{';
      for (const auto& [key, member] : value.items()) {
        out += separator;
        append_string(key, out);
        out += ':';
        append(member, out, depth + 1);
        separator = ',';
      }
      out += value.empty() ? "{}" : "}";
      break;
    }
    case json::value_t::array: {
      char separator = '[';
      for (const json& element : value) {
        out += separator;
        append(element, out, depth + 1);
        separator = ',';
      }
      out += value.empty() ? "[]" : "]";
      break;
    }
    case json::value_t::string:
      append_string(value.get_ref<const std::string&>(), out);
      break;
    case json::value_t::number_float:
      append_double(value.get<double>(), out);
      break;
    case json::value_t::number_integer:
      out += std::to_string(value.get<int64_t>());
      break;
    case json::value_t::number_unsigned:
      out += std::to_string(value.get<uint64_t>());
      break;
    case json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case json::value_t::null:
      out += "null";
      break;
    default:
      fail(QUENCH_INVALID_ARGUMENT, "canonical JSON: a binary value has no JSON form");
  }
}

}  // namespace

std::string canonical_json(const json& value) {
  std::string out;
  append(value, out, 0);
  return out;
}

}  // namespace quench
