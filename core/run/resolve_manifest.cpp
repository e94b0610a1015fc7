#include <algorithm>
#include <map>
#include <set>

#include "core/config/problems.hpp"
#include "core/error.hpp"
#include "core/hub/resolve.hpp"
#include "core/plugin/parameters.hpp"
#include "core/run/checkpoints.hpp"
#include "core/run/open_checkpoint.hpp"
#include "core/run/resolve_items.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Paths of a manifest are relative to its folder; hf://datasets/... is looked up in the hub cache.
void resolve_paths(const PluginDescription& plugin, nlohmann::json& parameters,
                   const fs::path& relative_to, const HubEnvironment& hub) {
  for (const ParameterSchema& schema : plugin.parameters) {
    auto value = parameters.find(schema.name);
    if (schema.type != QUENCH_PARAMETER_PATH || value == parameters.end() || !value->is_string() ||
        value->get_ref<const std::string&>().empty()) {
      continue;
    }
    const std::string text = value->get<std::string>();
    if (text.rfind("hf://", 0) == 0) {
      const ResolvedModel found = resolve(text, hub);
      *value = (found.file.empty() ? found.folder : found.folder / found.file).string();
    } else {
      *value = fs::absolute(relative_to / text).lexically_normal().string();
    }
  }
}

class ManifestResolver {
 public:
  ManifestResolver(const Manifest& manifest, Catalog& catalog, const HubEnvironment& hub)
      : manifest_(manifest),
        catalog_(catalog),
        hub_(hub),
        folder_(fs::absolute(manifest.file).parent_path()),
        problems_(manifest.problems) {}

  Experiment resolve() {
    Experiment out;
    out.name = manifest_.name;
    out.seed = manifest_.seed;
    attempt(manifest_.dtype_place, [&] { out.dtype = parse_dtype(manifest_.dtype); });
    attempt(manifest_.device_place, [&] { out.device = parse_device(manifest_.device); });
    resolve_tokenizer(out);
    out.checkpoints = find_checkpoints(manifest_.checkpoints, folder_, hub_, problems_);
    out.branches.push_back({});
    out.weights = weights_as_they_are(out.checkpoints);
    resolve_corpora();
    resolve_calibrations();
    for (const ManifestItem& item : manifest_.quantizers) {
      resolve_quantizer_item(item, out);
    }
    for (const ManifestItem& item : manifest_.metrics) {
      resolve_metric_item(item, out);
    }
    problems_.throw_if_any();
    return out;
  }

 private:
  template <typename Body>
  void attempt(const Place& place, Body body) {
    try {
      body();
    } catch (const Error& error) {
      problems_.add(place, error.what());
    }
  }

  void resolve_tokenizer(Experiment& out) {
    const std::string& text = manifest_.checkpoints.tokenizer;
    if (text.empty() || text == "bytes") {
      out.tokenizer = text;
      return;
    }
    attempt(manifest_.checkpoints.tokenizer_place, [&] {
      fs::path path =
          text.rfind("hf://", 0) == 0 ? quench::resolve(text, hub_).folder : folder_ / text;
      if (fs::is_directory(path)) {
        path /= "tokenizer.json";
      }
      if (!fs::exists(path)) {
        fail(QUENCH_NOT_FOUND, "checkpoints: tokenizer {} is not there", path.string());
      }
      out.tokenizer = path.lexically_normal().string();
    });
  }

  const PluginDescription* find_plugin(const std::string& kind, const std::string& id,
                                       const Place& place) {
    const PluginDescription* found = nullptr;
    attempt(place, [&] { found = &catalog_.require(kind, id); });
    return found;
  }

  // Where a parameter stands in the manifest, for its message.
  static Place place_of(const YamlNode& parameters, const std::string& name,
                        const Place& otherwise) {
    for (const YamlNode::Member& member : parameters.members) {
      if (member.key == name) {
        return member.value.place;
      }
    }
    return otherwise;
  }

  std::optional<nlohmann::json> complete(const PluginDescription& plugin,
                                         const nlohmann::json& given, const YamlNode& parameters,
                                         const Place& place) {
    std::vector<ParameterProblem> found;
    nlohmann::json out = complete_parameters(plugin, given, found);
    for (const ParameterProblem& problem : found) {
      const bool beside = std::find(std::begin(kBesideId), std::end(kBesideId),
                                    problem.parameter) != std::end(kBesideId) &&
                          find_parameter(plugin, problem.parameter) == nullptr;
      problems_.add(place_of(parameters, problem.parameter, place),
                    beside ? fmt::format("{} {}: `{}` belongs beside the id, not under it",
                                         plugin.kind, plugin.id, problem.parameter)
                           : fmt::format("{} {}: {}", plugin.kind, plugin.id, problem.message));
    }
    if (!found.empty()) {
      return std::nullopt;
    }
    attempt(place, [&] { resolve_paths(plugin, out, folder_, hub_); });
    return out;
  }

  void resolve_corpora() {
    for (const ManifestCorpus& corpus : manifest_.corpora) {
      if (corpus.id.empty()) {
        continue;
      }
      const PluginDescription* plugin = find_plugin("corpus", corpus.id, corpus.place);
      if (plugin == nullptr) {
        continue;
      }
      const nlohmann::json given =
          corpus.parameters.is_null() ? nlohmann::json::object() : yaml_to_json(corpus.parameters);
      if (auto parameters = complete(*plugin, given, corpus.parameters, corpus.place)) {
        corpora_[corpus.name] = {corpus.name, plugin, std::move(*parameters)};
      } else {
        broken_.push_back(corpus.name);
      }
    }
  }

  const CorpusUse* find_corpus(const std::string& name, const Place& place) {
    const auto found = corpora_.find(name);
    if (found != corpora_.end()) {
      return &found->second;
    }
    if (std::find(broken_.begin(), broken_.end(), name) == broken_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, use] : corpora_) {
        names.push_back(known);
      }
      const std::string near = nearest(name, names);
      problems_.add(
          place, fmt::format("no corpus \"{}\" in `corpora`; {}", printable(name),
                             names.empty()  ? std::string("there are none")
                             : near.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                                            : fmt::format("did you mean \"{}\"?", near)));
    }
    return nullptr;
  }

  void resolve_calibrations() {
    for (const ManifestCalibration& entry : manifest_.calibrations) {
      const CorpusUse* corpus =
          entry.corpus.empty() ? nullptr : find_corpus(entry.corpus, entry.corpus_place);
      if (corpus == nullptr) {
        continue;
      }
      calibrations_[entry.name] = {
          entry.name,      *corpus,
          entry.documents, entry.sequences,
          entry.length,    entry.packing == "concat" ? Packing::kConcat : Packing::kNone};
    }
  }

  static bool is_axis(const PluginDescription& plugin, const YamlNode::Member& member) {
    const ParameterSchema* schema = find_parameter(plugin, member.key);
    if (schema == nullptr || !member.value.is_sequence() || member.value.items.empty()) {
      return false;
    }
    return !is_list_type(schema->type) || member.value.items[0].is_sequence();
  }

  static std::vector<std::string> axes(const PluginDescription& plugin,
                                       const YamlNode& parameters) {
    std::vector<std::string> names;
    for (const YamlNode::Member& member : parameters.members) {
      if (is_axis(plugin, member)) {
        names.push_back(member.key);
      }
    }
    return names;
  }

  // The points of the grid that lists under scalar parameters span; last key fastest.
  static std::vector<nlohmann::json> expand(const PluginDescription& plugin,
                                            const YamlNode& parameters) {
    std::vector<nlohmann::json> points = {nlohmann::json::object()};
    for (const YamlNode::Member& member : parameters.members) {
      const nlohmann::json value = yaml_to_json(member.value);
      const bool axis = is_axis(plugin, member);
      if (axis && points.size() * value.size() > kMaxCells) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: {} combinations up to `{}`, more than {}", plugin.id,
             points.size() * value.size(), printable(member.key), kMaxCells);
      }
      std::vector<nlohmann::json> next;
      for (const nlohmann::json& point : points) {
        if (!axis) {
          next.push_back(point);
          next.back()[member.key] = value;
          continue;
        }
        for (const nlohmann::json& element : value) {
          next.push_back(point);
          next.back()[member.key] = element;
        }
      }
      points = std::move(next);
    }
    return points;
  }

  void report_no_calibration(const ManifestItem& item) {
    std::vector<std::string> names;
    for (const ManifestCalibration& entry : manifest_.calibrations) {
      if (entry.name == item.calibration) {
        return;  // its own problem is reported already
      }
      names.push_back(entry.name);
    }
    const std::string near = nearest(item.calibration, names);
    problems_.add(
        item.calibration_place,
        fmt::format("no calibration \"{}\" in `calibration`; {}", printable(item.calibration),
                    names.empty()  ? std::string("there are none")
                    : near.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                                   : fmt::format("did you mean \"{}\"?", near)));
  }

  // The user's label, with what tells the points of a grid apart, or one from the parameters.
  static std::string label_of(const ManifestItem& item, const PluginDescription& plugin,
                              const nlohmann::json& parameters) {
    const std::vector<std::string> shown = axes(plugin, item.parameters);
    if (item.label.empty()) {
      return cell_label(plugin, parameters, shown);
    }
    std::string label = item.label;
    for (const std::string& name : shown) {
      const nlohmann::json& value = parameters.at(name);
      label +=
          fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return label;
  }

  // Two cells of one name could not be told apart in the results.
  void claim_label(const std::string& label, const Place& place) {
    if (!labels_.insert(label).second) {
      problems_.add(place, fmt::format("`{}` is there twice; give one a `label` of its own",
                                       printable(label)));
    }
  }

  void resolve_quantizer_item(const ManifestItem& item, Experiment& out) {
    const PluginDescription* plugin =
        item.id.empty() ? nullptr : find_plugin("quantizer", item.id, item.place);
    std::optional<Calibration> calibration;
    if (!item.calibration.empty()) {
      const auto found = calibrations_.find(item.calibration);
      if (found != calibrations_.end()) {
        calibration = found->second;
      } else {
        report_no_calibration(item);
      }
    }
    if (plugin == nullptr) {
      return;
    }
    attempt(item.place, [&] {
      for (const nlohmann::json& point : expand(*plugin, item.parameters)) {
        if (auto parameters = complete(*plugin, point, item.parameters, item.place)) {
          const std::string label = label_of(item, *plugin, *parameters);
          claim_label(label, item.place);
          out.quantizers.push_back(
              {plugin, std::move(*parameters), label, calibration, item.place.text(), {}});
        }
      }
    });
  }

  void resolve_metric_item(const ManifestItem& item, Experiment& out) {
    const PluginDescription* plugin =
        item.id.empty() ? nullptr : find_plugin("metric", item.id, item.place);
    if (plugin == nullptr) {
      return;
    }
    attempt(item.place, [&] {
      for (const nlohmann::json& point : expand(*plugin, item.parameters)) {
        auto parameters = complete(*plugin, point, item.parameters, item.place);
        if (!parameters) {
          continue;
        }
        MetricCell cell{
            plugin, *parameters, label_of(item, *plugin, *parameters), {}, item.place.text()};
        for (const ParameterSchema& schema : plugin->parameters) {
          const auto name = parameters->find(schema.name);
          if (schema.type != QUENCH_PARAMETER_CORPUS || !name->is_string() ||
              name->get_ref<const std::string&>().empty()) {
            continue;
          }
          if (const CorpusUse* use = find_corpus(
                  name->get<std::string>(), place_of(item.parameters, schema.name, item.place))) {
            cell.corpora.emplace_back(schema.name, *use);
          }
        }
        if (labels_.contains(cell.label) && !cell.corpora.empty()) {
          cell.label += " on " + cell.corpora[0].second.name;
        }
        claim_label(cell.label, item.place);
        out.metrics.push_back(std::move(cell));
      }
    });
  }

  static constexpr size_t kMaxCells = 100'000;
  // Keys of an entry that are the host's and stand beside the plugin's id.
  static constexpr const char* kBesideId[] = {"label", "calibration", "replicates", "transform"};

  const Manifest& manifest_;
  Catalog& catalog_;
  const HubEnvironment& hub_;
  fs::path folder_;
  Problems problems_;
  std::map<std::string, CorpusUse> corpora_;
  std::vector<std::string> broken_;  // corpora with problems of their own: not reported twice
  std::map<std::string, Calibration> calibrations_;
  std::set<std::string> labels_;  // of the cells so far
};

}  // namespace

Experiment resolve_manifest(const Manifest& manifest, Catalog& catalog, const HubEnvironment& hub) {
  return ManifestResolver(manifest, catalog, hub).resolve();
}

}  // namespace quench
