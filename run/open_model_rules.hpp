// Checks rules for single modules that could not be checked before a model was open.
#pragma once

#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/plugin/model_handle.hpp"
#include "run/manifest/module_rules.hpp"

namespace quench {

class OpenModelRules {
 public:
  OpenModelRules(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                 QuantizerInstances& quantizers)
      : catalog_(catalog), experiment_(experiment), hub_(hub), quantizers_(quantizers) {}

  // By quantizer (index) of the experiment: a rule that matches no module of this model, nor of one
  // opened before. Empty if all models were described and the rules checked before.
  std::map<size_t, Error> faults(const ModelHandle& model);

 private:
  Catalog& catalog_;
  const Experiment& experiment_;
  const HubEnvironment& hub_;
  QuantizerInstances& quantizers_;
  std::optional<KnownModules> modules_;
};

}  // namespace quench
