// One entry of a manifest against its plugin: the id looked up, parameters completed, paths made
// absolute, cells named.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/hub/resolve.hpp"
#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// Where hf://... lies in the cache, or nothing, after telling `absent` why not. Throws Error for a
// wrong spec or a damaged cache.
std::optional<ResolvedModel> find_in_cache(const std::string& spec, const HubEnvironment& hub,
                                           std::map<std::string, std::string>& absent);

class PluginResolver {
 public:
  // `folder`: of the manifest. `absent`: see Experiment. All arguments must outlive the resolver.
  PluginResolver(Catalog& catalog, const HubEnvironment& hub, const std::filesystem::path& folder,
                 std::map<std::string, std::string>& absent, Problems& problems)
      : catalog_(catalog), hub_(hub), folder_(folder), absent_(absent), problems_(problems) {}

  // Runs `body`; an Error becomes a problem at `place`, unless it is that a stop was requested.
  template <typename Body>
  void attempt(const Place& place, Body body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() == QUENCH_CANCELLED) {
        throw;
      }
      problems_.add(place, error.what());
    }
  }

  // nullptr, after adding a problem unless the id is empty (which has its own already).
  const PluginDescription* find(const std::string& kind, const std::string& id, const Place& place);

  // Complete parameters, or nothing after adding what is wrong.
  std::optional<nlohmann::json> complete(const PluginDescription& plugin,
                                         const nlohmann::json& given, const YamlNode& parameters,
                                         const Place& place);

  // Notes files of the corpus that are not there, hub or not; whether there are any.
  bool await_files(const CorpusUse& use);
  const HubEnvironment& hub() const { return hub_; }
  bool is_absent(const std::string& spec) const { return absent_.contains(spec); }

  // The user's label, with what tells the points of a grid apart, or one from the parameters.
  static std::string label_of(const ManifestItem& item, const PluginDescription& plugin,
                              const nlohmann::json& parameters);

  // Two cells of one name could not be told apart in the results.
  void claim_label(const std::string& label, const Place& place);
  bool is_claimed(const std::string& label) const { return labels_.contains(label); }

  // Where a parameter stands in the manifest, for its message.
  static Place place_of(const YamlNode& parameters, const std::string& name,
                        const Place& otherwise);

 private:
  Catalog& catalog_;
  const HubEnvironment& hub_;
  const std::filesystem::path& folder_;
  std::map<std::string, std::string>& absent_;
  Problems& problems_;
  std::set<std::string> labels_;  // of the cells so far
};

// What the metric asks for beside the model (QUENCH_METRIC_NEEDS_*); 0 where these parameters do
// not make one, which check_experiment will say.
uint32_t metric_needs(Catalog& catalog, const PluginDescription& plugin,
                      const nlohmann::json& parameters);

// The dtype that a metric's choice named `dtype` asks for; none where it has no such parameter, or
// the choice is no dtype ("model").
std::optional<quench_dtype> metric_dtype(const PluginDescription& plugin,
                                         const nlohmann::json& parameters);

}  // namespace quench
