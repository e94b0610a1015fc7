#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/base/config/problems.hpp"
#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/manifest/averaging_windows.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/requirements.hpp"
#include "run/manifest/resolve_data.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/resolve_plugin.hpp"
#include "run/manifest/resolve_training.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Saturates: only the size of a large count matters.
size_t product(size_t a, size_t b) {
  size_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? SIZE_MAX : out;
}

// Cells of the grid: weights × (float, quantizers with their replicates) × metrics.
size_t count_cells(const Experiment& experiment) {
  size_t models = experiment.weights.size();
  for (const QuantizerCell& cell : experiment.quantizers) {
    models += experiment.weights.size();
    const std::vector<size_t>& at = cell.replicates.at;
    const auto repeated = [&](const WeightsCell& weights) {
      return at.empty() || std::binary_search(at.begin(), at.end(), weights.checkpoint);
    };
    const auto places = static_cast<size_t>(
        std::count_if(experiment.weights.begin(), experiment.weights.end(), repeated));
    models += product(places, cell.replicates.draws + cell.replicates.jitter - 1);
  }
  return product(models, experiment.metrics.size());
}

// Resolves one manifest without a sweep, or one point of it.
class ManifestResolver {
 public:
  ManifestResolver(const Manifest& manifest, Catalog& catalog, const HubEnvironment& hub,
                   RevisionNames& names, CorpusFingerprints& fingerprints, Problems& problems,
                   std::set<std::string>& gaps)
      : manifest_(manifest),
        catalog_(catalog),
        hub_(hub),
        names_(names),
        fingerprints_(fingerprints),
        gaps_(gaps),
        folder_(fs::absolute(manifest.file).parent_path()),
        problems_(problems),
        plugins_(catalog, hub_, folder_, out_.absent, problems) {}

  Experiment resolve() {
    out_.name = manifest_.name;
    out_.seed = manifest_.seed;
    check_requirements(manifest_, catalog_, problems_);
    keep_in_process();  // before the first is loaded
    plugins_.attempt(manifest_.dtype.place,
                     [&] { out_.dtype = parse_dtype(manifest_.dtype.value); });
    plugins_.attempt(manifest_.device.place,
                     [&] { out_.device = parse_device(manifest_.device.value); });
    catalog_.expect_device(out_.device);  // a family may be loaded to read its config
    out_.tokenizer = tokenizer_path(manifest_.checkpoints.tokenizer, "checkpoints");
    NamedData data(manifest_, plugins_, problems_);
    resolve_checkpoints(data);
    resolve_weights();
    if (training_) {
      out_.training = training_->take();
    }
    for (const ManifestItem& item : manifest_.quantizers) {
      resolve_quantizer(item, data);
    }
    for (const ManifestItem& item : manifest_.metrics) {
      resolve_metric(item, data);
    }
    if (const size_t cells = count_cells(out_); cells > kMaxCells) {
      problems_.add(manifest_.checkpoints.place,
                    fmt::format("manifest: {} cells = {} sets of weights x (float + {} quantizers, "
                                "with replicates) x {} metrics, more than {}",
                                cells, out_.weights.size(), out_.quantizers.size(),
                                out_.metrics.size(), kMaxCells));
    }
    return std::move(out_);
  }

 private:
  void keep_in_process() {
    for (const PlacedText& plugin : manifest_.in_process) {
      if (const std::string fault = catalog_.in_process_fault(plugin.value); !fault.empty()) {
        problems_.add(plugin.place, "in_process: " + fault);
      }
      catalog_.in_process().manifest.push_back(plugin.value);
    }
  }

  // The tokenizer file that `entry` names, "bytes", "", or hf://... that the cache lacks.
  std::string tokenizer_path(const PlacedText& entry, const std::string& where) {
    if (entry.value.empty() || entry.value == "bytes") {
      return entry.value;
    }
    std::string path;
    plugins_.attempt(entry.place, [&] {
      WrittenTokenizer written = read_tokenizer_name(catalog_, entry.value, folder_);
      if (is_hub_spec(written.path)) {
        const auto found = find_in_cache(written.path, hub_, out_.absent);
        if (!found) {
          path = written.path;
          return;
        }
        written.path = found->folder.string();
      }
      path = take_tokenizer(catalog_, written, folder_);
      if (!fs::exists(path)) {
        fail(QUENCH_NOT_FOUND, "{}: tokenizer {} does not exist", where, path);
      }
      check_blob(path, hub_, &HostServices::instance().cancel_flag());
    });
    return path;
  }

  void resolve_checkpoints(NamedData& data) {
    if (manifest_.checkpoints.is_trained()) {
      if (manifest_.training) {
        training_.emplace(manifest_, catalog_, plugins_, data, fingerprints_, problems_);
        trajectory_ =
            training_->resolve(tokenizer_path(manifest_.training->tokenizer, "train"), out_.device);
        out_.branches = trajectory_.branches;
        out_.checkpoints = trajectory_.checkpoints;
      }
      return;
    }
    trajectory_ = find_trajectory(manifest_.checkpoints, folder_, names_, problems_);
    for (const ManifestBranch& branch : manifest_.checkpoints.branches) {
      const std::string where = "branch " + printable(branch.name);
      const std::string tokenizer = tokenizer_path(branch.tokenizer, where);
      for (CheckpointCell& cell : trajectory_.checkpoints) {
        if (!tokenizer.empty() && trajectory_.spec_of(cell.branch) == &branch) {
          cell.tokenizer = tokenizer;
        }
      }
      if (!branch.family.value.empty()) {
        plugins_.find("model", branch.family.value, branch.family.place);
      }
    }
    out_.branches = trajectory_.branches;
    out_.checkpoints = trajectory_.checkpoints;
  }

  // Raw checkpoints and averages, branch by branch; at each checkpoint the raw one first.
  void resolve_weights() {
    std::vector<WeightsCell> averages;
    bool raw = true;
    for (const ManifestItem& item : manifest_.averagings) {
      raw = raw && item.raw;
      resolve_averaging(item, averages);
    }
    for (size_t i = 0; i < out_.checkpoints.size(); ++i) {
      if (raw) {
        out_.weights.push_back({i, std::nullopt, {}});
      }
      for (const WeightsCell& average : averages) {
        if (average.checkpoint == i) {
          out_.weights.push_back(average);
        }
      }
    }
  }

  void resolve_averaging(const ManifestItem& item, std::vector<WeightsCell>& averages) {
    const PluginDescription* plugin = plugins_.find("averaging", item.id, item.place);
    std::vector<size_t> of;
    bool all_found = true;
    for (const PlacedText& reference : item.of) {
      const size_t before = of.size();
      plugins_.attempt(reference.place, [&] {
        for (const size_t found : find_references(trajectory_, reference.value)) {
          if (std::find(of.begin(), of.end(), found) != of.end()) {
            fail(QUENCH_INVALID_ARGUMENT, "`{}`: the same checkpoint twice",
                 printable(reference.value));
          }
          of.push_back(found);
        }
      });
      all_found = all_found && of.size() > before;
    }
    if (plugin == nullptr) {
      return;
    }
    for_each_point(*plugin, item, [&](nlohmann::json parameters, const std::string& label) {
      plugins_.claim_label(label, item.place);
      out_.averagings.push_back(
          {plugin, std::move(parameters), label, item.place.text(), item.keep});
      if (out_.checkpoints.empty() || !all_found) {
        return;  // reported as its own problem
      }
      const bool live = training_ && manifest_.training->snapshots > 0 && of.empty();
      const size_t index = out_.averagings.size() - 1;
      std::vector<std::string> gaps;
      for (WeightsCell& weights :
           live ? training_->averages(out_.averagings.back(), index, trajectory_, gaps)
                : averaged_weights(catalog_, out_.averagings.back(), index, out_.checkpoints, of,
                                   &gaps)) {
        averages.push_back(std::move(weights));
      }
      gaps_.insert(gaps.begin(), gaps.end());
    });
  }

  // Calls `take(parameters, label)` for each point of the entry's grid.
  template <typename Take>
  void for_each_point(const PluginDescription& plugin, const ManifestItem& item, Take take) {
    plugins_.attempt(item.place, [&] {
      for (const nlohmann::json& point : grid_points(plugin, item.parameters)) {
        if (auto parameters = plugins_.complete(plugin, point, item.parameters, item.place)) {
          const std::string label = PluginResolver::label_of(item, plugin, *parameters);
          take(std::move(*parameters), label);
        }
      }
    });
  }

  Replicates replicates_of(const ManifestItem& item) {
    Replicates out;
    if (!item.replicates) {
      return out;
    }
    const std::string where = fmt::format("quantizer {}: replicates", printable(item.id));
    if (item.calibration.value.empty()) {
      problems_.add(item.replicates->place,
                    where +
                        ": a method without calibration has no draws; name a `calibration` "
                        "beside the id, or leave `replicates` out");
    }
    out.draws = item.replicates->draws;
    out.jitter = item.replicates->jitter;
    if (!out_.checkpoints.empty()) {
      out.at = find_places(trajectory_, item.replicates->at, where, problems_);
    }
    return out;
  }

  // nullptr where none is asked for, or after adding a problem.
  const PluginDescription* export_of(const ManifestItem& item) {
    const auto& [id, place] = item.export_as;
    return id.empty() ? nullptr : plugins_.find("format", id, place);
  }

  void resolve_quantizer(const ManifestItem& item, NamedData& data) {
    const PluginDescription* plugin = plugins_.find("quantizer", item.id, item.place);
    const std::optional<Calibration> calibration = data.calibration(item);
    const Replicates replicates = replicates_of(item);
    const PluginDescription* format = export_of(item);
    const std::optional<PluginUse> transform = plugins_.resolve("transform", item.transform);
    if (plugin == nullptr) {
      return;
    }
    if (format != nullptr && transform) {
      problems_.add(item.export_as.place,
                    fmt::format("quantizer {}: export {}: transform {} also changes weights that "
                                "stay in float, which the file takes from the checkpoint",
                                printable(item.id), item.export_as.value, transform->plugin->id));
      return;
    }
    const size_t before = out_.quantizers.size();
    for_each_point(*plugin, item, [&](nlohmann::json parameters, const std::string& made) {
      const std::string label =
          transform && item.label.empty() ? with_transform(made, *transform) : made;
      plugins_.claim_label(label, item.place);
      if (item.label.empty()) {
        refuse_again(*plugin, parameters, transform, label, item.place);
      }
      QuantizerCell cell{plugin,      std::move(parameters), label,
                         calibration, item.place.text(),     replicates};
      cell.transform = transform;
      if (format != nullptr) {
        cell.export_refused = export_fault(FormatHandle(catalog_, *format), cell.parameters);
        if (cell.export_refused.empty()) {
          cell.store_as = format;
        } else {
          cell.export_refused = fmt::format("{}: {}", item.export_as.value, cell.export_refused);
        }
      }
      out_.quantizers.push_back(std::move(cell));
    });
    const auto added = std::span(out_.quantizers).subspan(before);
    if (format != nullptr && !added.empty() &&
        std::none_of(added.begin(), added.end(),
                     [](const auto& cell) { return cell.store_as != nullptr; })) {
      problems_.add(item.export_as.place, fmt::format("quantizer {}: export {}", printable(item.id),
                                                      added.front().export_refused));
    }
  }

  // A quantizer with a default written out is not another one.
  void refuse_again(const PluginDescription& plugin, const nlohmann::json& parameters,
                    const std::optional<PluginUse>& transform, const std::string& label,
                    const Place& place) {
    const std::string what =
        fmt::format("{} {} {}", plugin.id, parameters.dump(),
                    transform ? cell_label(*transform->plugin, transform->parameters) : "");
    const auto [earlier, is_new] = unlabelled_.emplace(what, label);
    if (!is_new && earlier->second != label) {
      problems_.add(place, fmt::format("`{}` is `{}` again; give one its own `label`",
                                       printable(label), printable(earlier->second)));
    }
  }

  void resolve_metric(const ManifestItem& item, NamedData& data) {
    const PluginDescription* plugin = plugins_.find("metric", item.id, item.place);
    if (plugin == nullptr) {
      return;
    }
    for_each_point(*plugin, item, [&](nlohmann::json parameters, const std::string& label) {
      MetricCell cell{plugin,
                      parameters,
                      label,
                      {},
                      item.place.text(),
                      metric_needs(catalog_, *plugin, parameters),
                      metric_dtype(*plugin, parameters)};
      cell.scope = item.scope;
      for (const ParameterSchema& schema : plugin->parameters) {
        const auto name = parameters.find(schema.name);
        if (schema.type != QUENCH_PARAMETER_CORPUS || !name->is_string() ||
            name->get_ref<const std::string&>().empty()) {
          continue;
        }
        const Place place = PluginResolver::place_of(item.parameters, schema.name, item.place);
        if (const CorpusUse* use = data.corpus(name->get<std::string>(), place)) {
          cell.corpora.emplace_back(schema.name, *use);
        }
      }
      if (plugins_.is_claimed(cell.label) && !cell.corpora.empty()) {
        cell.label += " on " + cell.corpora[0].second.name;
      }
      plugins_.claim_label(cell.label, item.place);
      out_.metrics.push_back(std::move(cell));
    });
  }

  const Manifest& manifest_;
  Catalog& catalog_;
  const HubEnvironment& hub_;
  RevisionNames& names_;
  CorpusFingerprints& fingerprints_;
  std::map<std::string, std::string> unlabelled_;  // quantizers: their labels
  std::set<std::string>& gaps_;  // lines about averages that some checkpoints lack
  fs::path folder_;
  Problems& problems_;
  Experiment out_;
  PluginResolver plugins_;
  Trajectory trajectory_;
  std::optional<TrainingResolver> training_;
};

nlohmann::json point_json(const std::vector<Sweep::Setting>& settings) {
  nlohmann::json out = nlohmann::json::object();
  for (const Sweep::Setting& setting : settings) {
    out[setting.path] = yaml_to_json(setting.value);
  }
  return out;
}

// Resolves the points of a sweep one by one until there are too many cells or problems.
std::vector<Experiment> resolve_sweep(const Manifest& manifest, Catalog& catalog,
                                      const HubEnvironment& hub, RevisionNames& names,
                                      CorpusFingerprints& fingerprints, Problems& problems,
                                      std::set<std::string>& gaps) {
  constexpr size_t kEnoughProblems = 100;
  std::vector<Experiment> out;
  std::map<std::string, size_t> seen;  // settings -> point
  size_t cells = 0;
  for (size_t job = 0; job < manifest.sweep.size() && problems.size() < kEnoughProblems; ++job) {
    const std::vector<Sweep::Setting> settings = manifest.sweep.point(job);
    const nlohmann::json point = point_json(settings);
    const auto [same, added] = seen.emplace(point.dump(), job);
    if (!added) {
      problems.add(settings.front().place,
                   fmt::format("sweep: points {} and {} are the same", same->second, job));
      continue;
    }
    const Manifest at = manifest_at(manifest, job);
    Problems found = at.problems;
    Experiment experiment =
        ManifestResolver(at, catalog, hub, names, fingerprints, found, gaps).resolve();
    problems.add(found);
    experiment.job = job;
    experiment.point = point;
    cells += std::min(count_cells(experiment), kMaxCells + 1);
    out.push_back(std::move(experiment));
    if (cells > kMaxCells) {
      problems.add(manifest.sweep.place(),
                   fmt::format("sweep: {} cells in the first {} of {} points, more than {}", cells,
                               job + 1, manifest.sweep.size(), kMaxCells));
      break;
    }
  }
  return out;
}

}  // namespace

std::vector<Experiment> resolve_manifest(const Manifest& manifest, Catalog& catalog,
                                         const HubEnvironment& hub, ListRevisions list,
                                         const AskReport& ask) {
  catalog.in_process().manifest.clear();  // of an earlier manifest
  RevisionNames names(catalog, hub, std::move(list));
  CorpusFingerprints fingerprints;
  std::set<std::string> gaps;
  Problems problems = manifest.problems;
  std::vector<Experiment> out;
  if (manifest.sweep.empty()) {
    out.push_back(
        ManifestResolver(manifest, catalog, hub, names, fingerprints, problems, gaps).resolve());
  } else {
    out = resolve_sweep(manifest, catalog, hub, names, fingerprints, problems, gaps);
  }
  const std::vector<std::string> warnings = check_report(manifest.report, out, ask, problems);
  problems.throw_if_any();
  for (const std::string& line : warnings) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
  }
  for (const std::string& line : gaps) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
  }
  return out;
}

}  // namespace quench
