// Turns manifest entries and command-line forms into the cells of an experiment. Looks up every
// name and checks every parameter before any work starts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/manifest.hpp"
#include "run/manifest/report_check.hpp"

namespace quench {

// Resolves the whole manifest: one experiment per point of its sweep (one without). A list where a
// parameter's schema has a scalar is an axis: one cell per element. Throws Error(INVALID_ARGUMENT)
// with all problems, one per line. `list` knows the revisions of hub models; without it, the
// cache does. `ask` checks the section `report`; without it, the section is not checked.
std::vector<Experiment> resolve_manifest(const Manifest& manifest, Catalog& catalog,
                                         const HubEnvironment& hub, ListRevisions list = nullptr,
                                         const AskReport& ask = nullptr);

// Parses `id[:key=value,...]`; a quantizer may also have `transform=ID`. For kinds with corpora, an
// option whose key is not a parameter but the id of a corpus plugin (text=FILE, tokens=FILE) makes
// an anonymous corpus of that file. Throw Error(INVALID_ARGUMENT).
QuantizerCell resolve_quantizer(const std::string& inline_form, Catalog& catalog);
MetricCell resolve_metric(const std::string& inline_form, Catalog& catalog);
AveragingCell resolve_averaging(const std::string& inline_form, Catalog& catalog);
// Parses `text=FILE,sequences=32,length=128` or `tokens=FILE`.
Calibration resolve_calibration(const std::string& options, Catalog& catalog);

// "gptq bits=3 group_size=64": the parameters that differ from their defaults or are in `shown`
// (those that a manifest gives as axes).
std::string cell_label(const PluginDescription& plugin, const nlohmann::json& parameters,
                       const std::vector<std::string>& shown = {});

// "gptq bits=3 + smoothquant alpha=0.8".
std::string with_transform(const std::string& label, const PluginUse& transform);

// The schema of parameter `name`, or of the first parameter of a type; nullptr if there is none.
const ParameterSchema* find_parameter(const PluginDescription& plugin, const std::string& name);
const ParameterSchema* first_of_type(const PluginDescription& plugin, int32_t type);

}  // namespace quench
