// Rules for single modules (extension/modules.h) against the linears that a model has: a pattern
// that fits none of them is misspelt, and would otherwise change nothing without a word.
#pragma once

#include <set>
#include <string>

#include "core/experiment/experiment.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/plugin/quantizer_handle.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

// Names of modules, as quench_linear_info has them.
struct ModuleNames {
  std::set<std::string> linears;
  std::set<std::string> heads;  // those of QUENCH_QUANTIZES_HEAD
  std::set<std::string> embeddings;
};
void add_names(const ModelHandle& model, ModuleNames& names);

// The names in all models of an experiment, as far as they are described.
struct KnownModules {
  ModuleNames names;
  bool complete = true;  // false: some model's are known once it is open
};
KnownModules known_modules(const DescribedModels& described);

// Throws Error(INVALID_ARGUMENT) where a rule of the quantizer fits none of the names; it says
// which, and the nearest names.
void require_modules(const QuantizerHandle& quantizer, const nlohmann::json& parameters,
                     const ModuleNames& names);

// Whether the cell's parameters can hold rules at all, so that it is worth asking.
bool may_have_rules(const QuantizerCell& cell);

// Throws Error(INVALID_ARGUMENT) with what require_modules finds in all quantizers of the
// experiment, one a line with its place in the manifest; nothing where not all is described.
void check_modules(const Experiment& experiment, const DescribedModels& described,
                   QuantizerInstances& quantizers);

}  // namespace quench
