// How the inputs of linears are rounded: parameters that several quantizers have, none of them set
// by default, so that settings without them have the keys that they had before these were there.
//
//   struct Params : ActivationParameters {
//     static void describe(kit::Fields<Params>& fields) { ...; add_activations(fields); }
//   };
//   activation_settings(params)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quench/kit/parameters.hpp"

namespace quench::quantizers {

// What they come to.
struct ActivationSettings {
  std::string activations = "float";
  bool activation_sym = true;
  std::string activation_per = "token";
  int64_t activation_group_size = 128;
  std::string activation_range = "dynamic";
  double activation_percentile = 99.9;
  int64_t activation_keep = 0;
  double activation_threshold = 0;

  bool operator==(const ActivationSettings&) const = default;

  bool rounds() const { return activations != "float"; }
  // Whether ranges come from the calibration rows.
  bool is_static() const { return activation_range != "dynamic"; }
  // Whether some columns stay in float, which the calibration rows name.
  bool keeps_columns() const { return activation_keep > 0 || activation_threshold > 0; }
  // QUENCH_* bits for `needs`: those of an op, and of rows if it takes something from them.
  uint32_t needs() const;
};

struct ActivationDetails {
  std::optional<bool> activation_sym;
  std::optional<std::string> activation_per;
  std::optional<int64_t> activation_group_size;
  std::optional<std::string> activation_range;
  std::optional<double> activation_percentile;
  std::optional<int64_t> activation_keep;
  std::optional<double> activation_threshold;

  bool has_any() const;
  ActivationSettings with(const std::optional<std::string>& activations) const;
};

struct ActivationParameters : ActivationDetails {
  std::optional<std::string> activations;
};

template <typename Params>
ActivationSettings activation_settings(const Params& params) {
  return params.with(params.activations);
}

// The names of all formats, "float" first, for the parameter's choices.
const char* activation_choices();

template <typename Params>
void add_activations(kit::Fields<Params>& fields) {
  fields
      .template add<decltype(Params::activations)>(
          "activations", &Params::activations,
          "format to which the inputs of linears are rounded; float, as if not set: they stay as "
          "they are")
      .choices(activation_choices());
  fields.template add<std::optional<bool>>(
      "activation_sym", &Params::activation_sym,
      "whether integers of inputs are symmetric around zero; true if not set");
  fields
      .template add<std::optional<std::string>>(
          "activation_per", &Params::activation_per,
          "inputs that share a scale: the row of a token (as if not set), a group of its columns, "
          "or all rows of a micro-batch (tensor)")
      .choices("token|group|tensor");
  fields
      .template add<std::optional<int64_t>>(
          "activation_group_size", &Params::activation_group_size,
          "columns of a group of inputs, which must divide a row; 128 if not set")
      .at_least(1);
  fields
      .template add<std::optional<std::string>>(
          "activation_range", &Params::activation_range,
          "range of a scale: of the values themselves (dynamic, as if not set), or of the "
          "calibration rows: their extremes (max) or a percentile")
      .choices("dynamic|max|percentile");
  fields
      .template add<std::optional<double>>(
          "activation_percentile", &Params::activation_percentile,
          "percentage of the calibrated inputs within the range of activation_range = percentile; "
          "99.9 if not set")
      .range(50, 100);
  fields
      .template add<std::optional<int64_t>>(
          "activation_keep", &Params::activation_keep,
          "number of input columns that stay in float: those of the largest magnitudes in the "
          "calibration rows")
      .at_least(0);
  fields
      .template add<std::optional<double>>(
          "activation_threshold", &Params::activation_threshold,
          "input columns in which a calibrated magnitude is at least this stay in float; 0: none")
      .at_least(0);
}

// Throws INVALID_ARGUMENT with the plugin's `id` for settings that contradict each other. `details`
// are what they were made of.
void check_activations(const char* id, const ActivationSettings& settings,
                       const ActivationDetails& details);

}  // namespace quench::quantizers
