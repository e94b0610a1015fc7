// The parameter `format` of a quantizer: a number format in place of the integer grid that `bits`,
// `group_size` and `sym` describe. `mse` is 0 then, or 2.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "quench/kit/error.hpp"
#include "quench/kit/parameters.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

using number_formats::NumberFormat;

// Null by default, so that settings without it have the keys that they had before it was there.
template <typename Params>
void add_format(
    kit::Fields<Params>& fields,
    const char* meaning =
        "a number format in place of the integer grid, with the scales and blocks of its "
        "specification; group_size is that of fp8, ternary and binary. bits and sym then keep "
        "their defaults, and mse is 0 or 2: scales of the least squared error") {
  fields.add("format", &Params::format, meaning).choices(number_formats::float_format_names());
}

// The format that the parameters name, or null. Throws INVALID_ARGUMENT for what has no effect with
// it; bits = 4 is the default, which cannot be told from a value that was given.
template <typename Params>
const NumberFormat* chosen_format(const char* id, const Params& params) {
  if (!params.format) {
    return nullptr;
  }
  const char* name = params.format->c_str();
  const NumberFormat* format = number_formats::find_number_format(name);
  if (format == nullptr) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: format = %s, wanted one of %s", id, name,
              number_formats::float_format_names());
  }
  const Params usual;
  const auto refuse = [&](bool is_given, const std::string& what) {
    if (is_given) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s has no effect with format = %s", id, what.c_str(),
                name);
    }
  };
  refuse(params.bits != usual.bits, "bits = " + std::to_string(params.bits));
  refuse(params.sym != usual.sym, params.sym ? "sym" : "sym = false");
  const double mse = std::optional<double>(params.mse).value_or(0);
  if (mse != 0 && mse != 2) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "%s: mse = %g, wanted 0, or 2 for the least squared error, with format = %s", id, mse,
              name);
  }
  if (format->block > 0 && params.group_size != usual.group_size &&
      params.group_size != format->block) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: group_size = %lld, but format = %s has blocks of %lld",
              id, static_cast<long long>(params.group_size), name,
              static_cast<long long>(format->block));
  }
  for (const std::string& rule : params.modules) {
    if (!rule.ends_with(" skip")) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: modules: got \"%s\", wanted \"PATTERN skip\" with format = %s", id,
                rule.c_str(), name);
    }
  }
  return format;
}

// Columns that share a scale.
inline int64_t group_size_with(const NumberFormat* format, int64_t group_size) {
  return format != nullptr && format->block > 0 ? format->block : group_size;
}

}  // namespace quench::quantizers
