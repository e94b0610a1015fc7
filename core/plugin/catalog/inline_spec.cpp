// Parses the command line's form of a plugin with parameters: `gptq:bits=4,group_size=128`.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/parse_text.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "quench/abi/parameter.h"

namespace quench {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const ParameterSchema& schema, const char* wanted, std::string_view text) {
  const bool several = !is_list_type(schema.type) && text.find('+', 1) != std::string_view::npos;
  fail(QUENCH_INVALID_ARGUMENT, "{}: got {}, wanted {}{}", schema.name,
       text.empty() ? "nothing" : printable(text, 60), wanted,
       several ? "; it takes one value: give the whole spec once for each" : "");
}

json parse_integer(const ParameterSchema& schema, std::string_view text) {
  const auto value = parse_number<int64_t>(text);
  if (!value) {
    refuse(schema, "an integer", text);
  }
  return *value;
}

json parse_real(const ParameterSchema& schema, std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) {
    refuse(schema, "a number", text);
  }
  return *value;
}

json parse_scalar(const ParameterSchema& schema, std::string_view text) {
  switch (schema.type) {
    case QUENCH_PARAMETER_INTEGER:
    case QUENCH_PARAMETER_INTEGER_LIST:
      return parse_integer(schema, text);
    case QUENCH_PARAMETER_NUMBER:
    case QUENCH_PARAMETER_NUMBER_LIST:
      return parse_real(schema, text);
    case QUENCH_PARAMETER_BOOLEAN:
      if (text != "true" && text != "false") {
        refuse(schema, "true or false", text);
      }
      return text == "true";
    default:
      return std::string(text);
  }
}

// Position of the '+' that ends the element starting at `from`. In numbers, the sign of an exponent
// (1e+5) is not a separator.
size_t element_end(const ParameterSchema& schema, std::string_view text, size_t from) {
  size_t end = text.find('+', from);
  while (schema.type == QUENCH_PARAMETER_NUMBER_LIST && end != std::string_view::npos &&
         end > from && (text[end - 1] == 'e' || text[end - 1] == 'E')) {
    end = text.find('+', end + 1);
  }
  return end == std::string_view::npos ? text.size() : end;
}

}  // namespace

InlineSpec parse_inline(std::string_view text) {
  text = trimmed(text);
  size_t end = text.find_first_of(": ");
  if (const size_t next = text.find_first_not_of(' ', end);
      next != std::string_view::npos && text[next] == ':') {
    end = next;
  }
  const bool is_label = end != std::string_view::npos && text[end] == ' ';
  InlineSpec spec;
  spec.id = trimmed(text.substr(0, end));
  if (spec.id.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "\"{}\": wanted id[:key=value,...]", printable(text));
  }
  std::string_view rest = end == std::string_view::npos ? "" : trimmed(text.substr(end + 1));
  while (!rest.empty()) {
    const size_t separator = rest.find(is_label ? ' ' : ',');
    const std::string_view option = trimmed(rest.substr(0, separator));
    const size_t equals = option.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(QUENCH_INVALID_ARGUMENT, "\"{}\": option \"{}\": wanted key=value{}", printable(text),
           printable(option),
           is_label ? ", as in id:key=value,key=value"
           : spec.options.empty() || option.empty() || equals == 0
               ? ""
               : "; a comma begins the next option: join the values of a list with +, and for "
                 "several settings give the whole spec once for each");
    }
    std::string key(trimmed(option.substr(0, equals)));
    for (const auto& earlier : spec.options) {
      if (earlier.first == key) {
        fail(QUENCH_INVALID_ARGUMENT, "\"{}\": {} is given twice", printable(text), printable(key));
      }
    }
    std::string_view value = trimmed(option.substr(equals + 1));
    if (is_label && value.ends_with(',')) {
      value.remove_suffix(1);
    }
    spec.options.emplace_back(std::move(key), value);
    const bool goes_on = separator != std::string_view::npos;
    rest = goes_on ? trimmed(rest.substr(separator + 1)) : "";
    if (goes_on && rest.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "\"{}\": ends with a comma", printable(text));
    }
  }
  return spec;
}

json parse_option(const ParameterSchema& schema, std::string_view text) {
  if (text == "null" && schema.default_value && schema.default_value->is_null()) {
    return nullptr;
  }
  if (!is_list_type(schema.type)) {
    return parse_scalar(schema, text);
  }
  json list = json::array();
  for (size_t from = 0; !text.empty() && from <= text.size();) {
    const size_t end = element_end(schema, text, from);
    list.push_back(parse_scalar(schema, text.substr(from, end - from)));
    from = end + 1;
  }
  return list;
}

}  // namespace quench
