// Checks rules for single modules (QUENCH_QUANTIZER_RULES) against the linears of a model: a
// pattern that matches none is misspelt and would otherwise silently change nothing.
#pragma once

#include <set>
#include <string>

#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

// Names of modules, from quench_linear_info.
struct ModuleNames {
  std::set<std::string> linears;
  std::set<std::string> heads;  // heads, if the quantizer has QUENCH_QUANTIZES_HEAD
  std::set<std::string> embeddings;
};
void add_names(const ModelHandle& model, ModuleNames& names);

// The names in all models of an experiment, as far as they are described.
struct KnownModules {
  ModuleNames names;
  bool complete = true;  // false: some models must be opened first
};
KnownModules known_modules(const DescribedModels& described);

// Throws Error(INVALID_ARGUMENT) if a rule of the quantizer matches none of the names; the message
// has the rule and the nearest names.
void require_modules(const QuantizerHandle& quantizer, const nlohmann::json& parameters,
                     const ModuleNames& names);

// Whether the cell's parameters can contain rules at all, so that asking makes sense.
bool may_have_rules(const QuantizerCell& cell);

// Throws Error(INVALID_ARGUMENT) with what require_modules finds in all quantizers of the
// experiment, one per line with its place in the manifest; nothing if a model is not described.
void check_modules(const Experiment& experiment, const DescribedModels& described,
                   QuantizerInstances& quantizers);

}  // namespace quench
