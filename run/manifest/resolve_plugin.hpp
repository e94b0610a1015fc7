// Resolves one entry of a manifest with its plugin: looks up the id, completes parameters, makes
// paths absolute, names cells.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/config/yaml.hpp"
#include "core/error.hpp"
#include "core/hub/environment.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/description.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// The parameters with several values: lists where the schema has a scalar, lists of lists where it
// has a list.
std::vector<std::string> grid_axes(const PluginDescription& plugin, const YamlNode& parameters);

// All combinations, last key fastest. Throws Error(INVALID_ARGUMENT) before making any if there are
// more than kMaxCells.
std::vector<nlohmann::json> grid_points(const PluginDescription& plugin,
                                        const YamlNode& parameters);

// Where hf://... is in the cache; nothing if it is missing, after adding the reason to `absent`.
// Throws Error for a malformed spec or a damaged cache.
std::optional<ResolvedModel> find_in_cache(const std::string& spec, const HubEnvironment& hub,
                                           std::map<std::string, std::string>& absent);

class PluginResolver {
 public:
  // `folder`: of the manifest. `absent`: see Experiment. All arguments must outlive the resolver.
  PluginResolver(Catalog& catalog, const HubEnvironment& hub, const std::filesystem::path& folder,
                 std::map<std::string, std::string>& absent, Problems& problems)
      : catalog_(catalog), hub_(hub), folder_(folder), absent_(absent), problems_(problems) {}

  // Runs `body` and turns an Error into a problem at `place`; what the user need not change,
  // CANCELLED and UNAVAILABLE, is none.
  template <typename Body>
  void attempt(const Place& place, Body body) {
    try {
      body();
    } catch (const Error& error) {
      problems_.add(place, error);
    }
  }

  // nullptr, after adding a problem unless the id is empty (which is reported already).
  const PluginDescription* find(const std::string& kind, const std::string& id, const Place& place);

  // Complete parameters; nothing after adding problems.
  std::optional<nlohmann::json> complete(const PluginDescription& plugin,
                                         const nlohmann::json& given, const YamlNode& parameters,
                                         const Place& place);

  // The plugin of a key that takes one, with complete parameters; nothing where none is named, or
  // after adding problems.
  std::optional<PluginUse> resolve(const std::string& kind, const ManifestPlugin& entry);

  // Notes missing files of the corpus, on the hub or not; returns whether there are any.
  bool await_files(const CorpusUse& use);
  const HubEnvironment& hub() const { return hub_; }
  bool is_absent(const std::string& spec) const { return absent_.contains(spec); }

  // The user's label plus what distinguishes points of a grid, or one made from the parameters.
  static std::string label_of(const ManifestItem& item, const PluginDescription& plugin,
                              const nlohmann::json& parameters);

  // Reports a repeated name: its cells could not be distinguished in the results.
  void claim_label(const std::string& label, const Place& place);
  bool is_claimed(const std::string& label) const { return labels_.contains(label); }

  // The place of a parameter in the manifest, for its message.
  static Place place_of(const YamlNode& parameters, const std::string& name,
                        const Place& otherwise);

 private:
  // Reports a file that the parameter names and that is not there.
  void check_exists(const PluginDescription& plugin, const std::string& parameter,
                    const nlohmann::json& values, const Place& place);

  Catalog& catalog_;
  const HubEnvironment& hub_;
  const std::filesystem::path& folder_;
  std::map<std::string, std::string>& absent_;
  Problems& problems_;
  std::set<std::string> labels_;  // of the cells so far
};

// What the metric needs besides the model (QUENCH_METRIC_NEEDS_*); 0 if it cannot be created with
// these parameters, which check_experiment reports.
uint32_t metric_needs(Catalog& catalog, const PluginDescription& plugin,
                      const nlohmann::json& parameters);

// The dtype of a metric's parameter `dtype`; nothing if it has none or its choice is not a dtype
// ("model").
std::optional<quench_dtype> metric_dtype(const PluginDescription& plugin,
                                         const nlohmann::json& parameters);

}  // namespace quench
