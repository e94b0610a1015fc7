// The parameters that most quantizers share, each said once: its name, meaning and range. Params
// has the members, with defaults of its own; `describe` calls these in the order of the
// documentation:
//
//   struct Params {
//     int64_t bits = 4;
//     int64_t group_size = 128;
//     static void describe(kit::Fields<Params>& fields) {
//       kit::add_bits(fields);
//       kit::add_group_size(fields, "groupsize");
//     }
//   };
//
// `published`: the parameter's name in published code, for its description.
#pragma once

#include <deque>
#include <string>

#include "quench/kit/error.hpp"
#include "quench/kit/parameters.hpp"

namespace quench::kit {

namespace detail {

// "meaning (published)", for as long as the process: schemas point to it.
inline const char* lasting_meaning(std::string meaning, const std::string& published) {
  static std::deque<std::string> texts;
  meaning += published.empty() ? "" : " (" + published + ")";
  return texts.emplace_back(std::move(meaning)).c_str();
}

}  // namespace detail

template <typename Params>
void add_bits(Fields<Params>& fields, const std::string& published = "") {
  fields.add("bits", &Params::bits, detail::lasting_meaning("bits per code", published))
      .range(2, 8);
}

// The plugin refuses 0 itself, with check_group_size.
template <typename Params>
void add_group_size(Fields<Params>& fields, const std::string& published = "") {
  fields
      .add("group_size", &Params::group_size,
           detail::lasting_meaning("columns of a row that share a scale; -1: the whole row",
                                   published))
      .at_least(-1);
}

inline void check_group_size(const char* id, int64_t group_size) {
  if (group_size == 0) {
    fail(QUENCH_INVALID_ARGUMENT, "%s: group_size = 0, wanted -1 or at least 1", id);
  }
}

template <typename Params>
void add_sym(Fields<Params>& fields, const std::string& published = "") {
  fields.add("sym", &Params::sym,
             detail::lasting_meaning(
                 "whether the grid is symmetric around zero and stores no zero point", published));
}

template <typename Params>
void add_mse(Fields<Params>& fields) {
  fields
      .add("mse", &Params::mse,
           "exponent of the error that chooses the best of 80 clipped ranges for a scale, 2.4 in "
           "published code; 0: the full range")
      .range(0, 8);
}

// `choices`: "sequential|block|float", or two of them; the first is the default of the method.
template <typename Params>
void add_inputs(Fields<Params>& fields, const char* choices, const std::string& published = "") {
  const bool by_block = std::string(choices).find("block") != std::string::npos;
  fields
      .add("inputs", &Params::inputs,
           detail::lasting_meaning(
               std::string("rows from the model with earlier linears quantized (sequential), ") +
                   (by_block ? "with earlier blocks quantized (block), " : "") +
                   "or from the float model; with float, several settings share one pass",
               published))
      .choices(choices);
}

// Rules for single modules, as far as Params has settings for them.
template <typename Params>
void add_modules(Fields<Params>& fields, const std::string& published = "") {
  std::string meaning = "modules to keep in float, by pattern: \"*.dense skip\"";
  if constexpr (requires(const Params& params) { params.bits; }) {
    constexpr bool kHasSym = requires(const Params& params) {
      params.sym;
    };
    meaning = std::string("per-module settings; the first matching pattern applies: \"*.mlp.* ") +
              "bits=3 group_size=64" + (kHasSym ? " sym=false" : "") + "\", \"*.dense skip\"";
  }
  fields.add("modules", &Params::modules, detail::lasting_meaning(std::move(meaning), published));
}

}  // namespace quench::kit
