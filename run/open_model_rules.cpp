#include "run/open_model_rules.hpp"

#include "core/plugin/plugin_call.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

std::map<size_t, Error> OpenModelRules::faults(const ModelHandle& model) {
  std::map<size_t, Error> out;
  for (size_t q = 0; q < experiment_.quantizers.size(); ++q) {
    const QuantizerCell& quantizer = experiment_.quantizers[q];
    if (!may_have_rules(quantizer)) {
      continue;
    }
    if (!modules_) {
      modules_ = known_modules(describe_models(catalog_, experiment_, hub_));
    }
    if (modules_->complete) {
      return out;
    }
    add_names(model, modules_->names);
    try {
      require_modules(quantizers_.of(quantizer), quantizer.parameters, modules_->names);
    } catch (...) {
      out.emplace(q, current_error());
    }
  }
  return out;
}

}  // namespace quench
