#include "quantizers/inputs/settings.hpp"

#include "quantizers/inputs/format.hpp"
#include "quench/abi/kind/quantizer.h"
#include "quench/kit/error.hpp"

namespace quench::quantizers {

bool ActivationDetails::has_any() const {
  return activation_sym || activation_per || activation_group_size || activation_range ||
         activation_percentile || activation_keep || activation_threshold;
}

ActivationSettings ActivationDetails::with(const std::optional<std::string>& activations) const {
  const ActivationSettings usual;
  return {activations.value_or(usual.activations),
          activation_sym.value_or(usual.activation_sym),
          activation_per.value_or(usual.activation_per),
          activation_group_size.value_or(usual.activation_group_size),
          activation_range.value_or(usual.activation_range),
          activation_percentile.value_or(usual.activation_percentile),
          activation_keep.value_or(usual.activation_keep),
          activation_threshold.value_or(usual.activation_threshold)};
}

uint32_t ActivationSettings::needs() const {
  if (!rounds()) {
    return 0;
  }
  return QUENCH_MAKES_LINEAR_OP | QUENCH_USES_ROWS |
         (is_static() || keeps_columns() ? QUENCH_NEEDS_ROWS : 0u);
}

void check_activations(const char* id, const ActivationSettings& settings,
                       const ActivationDetails& details) {
  const auto expects = [&](bool holds, const char* what) {
    if (!holds) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s", id, what);
    }
  };
  if (!settings.rounds()) {
    expects(!details.has_any(), "activation_* has no effect without activations; wanted a format");
    return;
  }
  expects(!details.activation_group_size || settings.activation_per == "group",
          "activation_group_size has no effect; wanted activation_per = group");
  expects(!details.activation_percentile || settings.activation_range == "percentile",
          "activation_percentile has no effect; wanted activation_range = percentile");
  expects(!settings.is_static() || settings.activation_per != "token",
          "a calibrated activation_range is not of one token; wanted activation_per = tensor or "
          "group");
  expects(settings.activation_range != "percentile" || settings.activation_per == "tensor",
          "activation_range = percentile is of all values; wanted activation_per = tensor");
  expects(settings.activation_range != "percentile" || !settings.keeps_columns(),
          "activation_range = percentile clips the outliers that activation_keep and "
          "activation_threshold keep; wanted one of them");
  expects(settings.activation_keep == 0 || settings.activation_threshold == 0,
          "activation_keep and activation_threshold both choose columns; wanted one");
  activation_format(settings)->check(id, settings);
}

}  // namespace quench::quantizers
