#include "run/grid/evaluation_parts.hpp"

#include <vector>

#include "core/arithmetic/build_id.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/or_null.hpp"
#include "core/base/json/set_parameters.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/averaging/average_identity.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/weights/open_weights.hpp"
#include "core/pass/judge.hpp"
#include "core/plugin/handles/averaging_handle.hpp"

namespace quench {

namespace {

// The hash of a corpus, or of the selected part of it.
std::string of_part(const std::string& fingerprint, const CorpusUse& use) {
  const std::string part = use.part.key();
  return part.empty() ? fingerprint : sha256_hex(fingerprint + " " + part);
}

// Collects the parts; names what is missing if it may not measure.
class Parts {
 public:
  Parts(Identities& identities, const EvaluationParts& what, bool measure)
      : identities_(identities), what_(what), experiment_(*what.experiment), measure_(measure) {}

  bool gather() {
    out_ = {{"host", {{"build_id", arithmetic_build_id()}}},
            {"seed", experiment_.seed},
            {"tokenizer", nullptr}};
    const bool whole = add_weights() && (what_.metric == nullptr || add_metric()) &&
                       (what_.quantizer == nullptr || add_quantizer());
    if (!whole) {
      return false;
    }
    // What affects rounding besides our own code.
    out_["environment"] = machine_of(experiment_);
    out_["environment"]["libraries"] = libraries_of(plugins_, experiment_.device);
    if (!foreign_.empty()) {
      identities_.reads().add_to(out_);
    }
    return true;
  }

  // Of the metric alone.
  std::optional<nlohmann::json> metric_only() {
    nlohmann::json out;
    return add_evaluation(out, *what_.metric, Place("/metric")) ? std::optional(std::move(out))
                                                                : std::nullopt;
  }

  nlohmann::json take() { return std::move(out_); }
  const std::string& missing() const { return missing_; }
  std::vector<ForeignUse> take_foreign() { return std::move(foreign_); }

 private:
  using Place = nlohmann::json::json_pointer;

  bool lacks(std::string what) {
    missing_ = std::move(what) + " not read yet";
    return false;
  }

  std::optional<CheckpointIdentity> identity(const CheckpointCell& cell) {
    if (measure_) {
      return identities_.measured(cell);
    }
    auto known = identities_.remembered(cell);
    if (!known || known->family.empty()) {
      lacks((known ? "config of " : "weights of ") +
            (cell.revision.empty() ? cell.model : cell.revision));
      return std::nullopt;
    }
    return known;
  }

  // `where`: the part that the result becomes.
  nlohmann::json plugin(const PluginDescription& description, const nlohmann::json& parameters,
                        const char* where) {
    return plugin(description, parameters, Place(where));
  }
  nlohmann::json plugin(const PluginDescription& description, const nlohmann::json& parameters,
                        const Place& where) {
    plugins_.push_back(&description);
    nlohmann::json out = {
        {"id", description.id}, {"code", description.code}, {"params", set_parameters(parameters)}};
    const bool in_worker = identities_.catalog().placed(description).placement == Placement::kOwn;
    if (in_worker && experiment_.device.type != QUENCH_DEVICE_CPU) {
      out["device"] = "cpu";  // of copies, so with other roundings than where the model is
    }
    if (!identities_.catalog().is_shipped(description)) {
      foreign_.push_back({&description, parameters, where, {}});
      add_named_files(out);
    }
    return out;
  }

  // What lies at the paths that the parameters of the latest plugin from elsewhere name.
  void add_named_files(nlohmann::json& to) {
    const ForeignUse& use = foreign_.back();
    for (const ParameterSchema& schema : use.plugin->parameters) {
      const auto value = use.parameters.find(schema.name);
      if (schema.type == QUENCH_PARAMETER_PATH && value != use.parameters.end() &&
          value->is_string() && is_file_at(value->get<std::string>())) {
        const std::string file = value->get<std::string>();
        const std::string sha256 = identities_.file(file, measure_);
        to["inputs"][schema.name] = sha256;
        OpenedInputs::instance().expect(use.plugin->module_id, file, sha256);
      }
    }
  }

  // Null where no text is read: a tokenizer then changes no value.
  nlohmann::json tokenizer(const char* where) {
    if (!reads_text_) {
      return nullptr;
    }
    const TokenizerIdentity used =
        identities_.tokenizer(experiment_, experiment_.checkpoints[what_.weights->checkpoint]);
    if (used.plugin == nullptr) {
      return used.file;
    }
    nlohmann::json out = plugin(*used.plugin, nullptr, where);
    out["file"] = used.file;
    return out;
  }

  bool add_weights() {
    const WeightsCell& weights = *what_.weights;
    const auto main = identity(files_cell(experiment_, weights));
    if (!main) {
      return false;
    }
    const bool is_average = weights.averaging && !weights.live;
    if (is_average && !add_average(weights)) {
      return false;
    }
    if (!is_average) {
      out_["weights"] = main->content;
    }
    const PluginDescription& family = identities_.catalog().require("model", main->family);
    out_["config"] = main->config;
    out_["family"] = plugin(family, nullptr, "/family");
    return true;
  }

  bool add_average(const WeightsCell& weights) {
    const AveragingCell& averaging = experiment_.averagings[*weights.averaging];
    std::vector<std::string> hashes;
    for (const size_t member : weights.members) {
      const auto one = identity(experiment_.checkpoints[member]);
      if (!one) {
        return false;
      }
      hashes.push_back(one->content);
    }
    out_["averaging"] = plugin(*averaging.plugin, averaging.parameters, "/averaging");
    out_["averaging"]["members"] = hashes;
    // The plugin's order of the members and everything else that determines the result.
    out_["averaging"]["identity"] =
        average_identity(averaging, members_of(experiment_, weights), hashes, kFloat32);
    if (AveragingHandle(identities_.catalog(), *averaging.plugin, averaging.parameters)
            .searches()) {
      const MetricCell& criterion = experiment_.metrics.front();
      nlohmann::json& score = out_["averaging"]["score"];
      if (!add_evaluation(score, criterion, Place("/averaging/score"))) {
        return false;
      }
      score["tokenizer"] = tokenizer("/averaging/score/tokenizer");
    }
    return true;
  }

  // The content of the files and the plugin's parameters; not the paths of the files.
  bool add_corpus(nlohmann::json& to, const CorpusUse& use, const Place& where) {
    const auto files = measure_ ? std::optional(identities_.measured_corpus(use))
                                : identities_.remembered_corpus(use);
    if (!files) {
      return lacks("corpus " + use.name);
    }
    to = {{"files", of_part(*files, use)},
          {"id", use.plugin->id},
          {"params", reading_parameters(*use.plugin, use.parameters)}};
    if (!identities_.catalog().is_shipped(*use.plugin)) {
      foreign_.push_back({use.plugin, use.parameters, where, corpus_files(use)});
    }
    reads_text_ = reads_text_ || identities_.gives_text(use);
    return true;
  }

  bool add_metric() {
    if (!add_evaluation(out_["metric"], *what_.metric, Place("/metric"))) {
      return false;
    }
    out_["tokenizer"] = tokenizer("/tokenizer");
    return (what_.metric->needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0 || add_trajectory();
  }

  // Adds what a metric learns about the whole branch.
  bool add_trajectory() {
    for (const size_t place : branch_until(experiment_, what_.weights->checkpoint)) {
      const auto one = identity(experiment_.checkpoints[place]);
      if (!one) {
        return false;
      }
      const CheckpointCell& cell = experiment_.checkpoints[place];
      out_["trajectory"].push_back({{"weights", one->content},
                                    {"revision", cell.revision},
                                    {"step", or_null(cell.step)},
                                    {"tokens", or_null(cell.tokens)}});
    }
    return true;
  }

  bool add_evaluation(nlohmann::json& to, const MetricCell& metric, const Place& where) {
    to = plugin(*metric.plugin, metric.parameters, where);
    reads_text_ = (metric.needs & QUENCH_METRIC_NEEDS_TOKENIZER) != 0;
    nlohmann::json corpora = nlohmann::json::object();
    for (const auto& [parameter, use] : metric.corpora) {
      // The name of a corpus belongs to the manifest; the value depends on its content.
      to["params"].erase(parameter);
      if (!add_corpus(corpora[parameter], use, where / "corpora" / parameter)) {
        return false;
      }
    }
    to["corpora"] = corpora;
    return add_records(to, metric, where);
  }

  // Adds, in order, the content that a metric reads besides its corpora.
  bool add_records(nlohmann::json& to, const MetricCell& metric, const Place& where) {
    try {
      const WantedRecords& wanted = identities_.records(metric);
      for (const CorpusUse& use : wanted.data_sets) {
        nlohmann::json& entry = to["data"].emplace_back();
        plugins_.push_back(use.plugin);
        if (!add_corpus(entry, use, where / "data" / (to["data"].size() - 1))) {
          return false;
        }
      }
      for (const WantedFile& file : wanted.files) {
        to["files"].push_back(file.sha256);
      }
      add_handed(metric, wanted);
      return true;
    } catch (const Error& error) {
      if (measure_) {
        throw;
      }
      return lacks(fmt::format("data of metric {} ({})", metric.plugin->id, error.what()));
    }
  }

  // What a metric from elsewhere has named is in the key.
  void add_handed(const MetricCell& metric, const WantedRecords& wanted) {
    for (ForeignUse& use : foreign_) {
      if (use.plugin != metric.plugin) {
        continue;
      }
      for (const WantedFile& file : wanted.files) {
        use.handed.push_back(file.path);
      }
      for (const CorpusUse& data : wanted.data_sets) {
        const std::vector<std::filesystem::path> files = corpus_files(data);
        use.handed.insert(use.handed.end(), files.begin(), files.end());
      }
    }
  }

  bool add_quantizer() {
    const QuantizerCell& cell = *what_.quantizer;
    out_["quantizer"] = plugin(*cell.plugin, cell.parameters, "/quantizer");
    if (const PluginDescription* format = what_.quantizer->store_as) {
      // Measured as the format's file holds it.
      out_["quantizer"]["stored"] = plugin(*format, nlohmann::json::object(), "/quantizer/stored");
    }
    if (const std::optional<PluginUse>& transform = what_.quantizer->transform) {
      out_["transform"] = plugin(*transform->plugin, transform->parameters, "/transform");
    }
    if (!what_.quantizer->calibration) {
      return true;
    }
    const Calibration& calibration = *what_.quantizer->calibration;
    out_["calibration"] = {{"documents", calibration.documents},
                           {"sequences", calibration.sequences},
                           {"length", calibration.length},
                           {"packing", calibration.packing == Packing::kConcat ? "concat" : "none"},
                           {"draw", what_.draw},
                           {"jitter", what_.jitter}};
    if (calibration.pad_batch > 0) {
      out_["calibration"]["pads"] = {{"batch", calibration.pad_batch}, {"id", calibration.pad_id}};
    }
    const PluginDescription* judge =
        measures_layer_errors(*what_.quantizer->plugin) ? nullptr : judge_of(identities_.catalog());
    if (judge != nullptr) {
      out_["calibration"]["judge"] = plugin(*judge, nullptr, "/calibration/judge");
    }
    reads_text_ = false;
    if (!add_corpus(out_["calibration"]["corpus"], calibration.corpus,
                    Place("/calibration/corpus"))) {
      return false;
    }
    out_["calibration"]["tokenizer"] = tokenizer("/calibration/tokenizer");
    return true;
  }

  Identities& identities_;
  const EvaluationParts& what_;
  const Experiment& experiment_;
  bool measure_;
  bool reads_text_ = false;  // what was added since it was reset
  std::vector<const PluginDescription*> plugins_;
  std::vector<ForeignUse> foreign_;
  nlohmann::json out_;
  std::string missing_;
};

}  // namespace

std::optional<nlohmann::json> evaluation_parts(Identities& identities, const EvaluationParts& what,
                                               bool measure, std::string& missing) {
  Parts parts(identities, what, measure);
  try {
    if (parts.gather()) {
      return parts.take();
    }
    missing = parts.missing();
  } catch (...) {
    if (measure) {
      throw;
    }
    missing = current_error().what();  // reported when it is measured
  }
  return std::nullopt;
}

std::vector<ForeignUse> foreign_uses(Identities& identities, const EvaluationParts& what) {
  Parts parts(identities, what, true);
  parts.gather();
  return parts.take_foreign();
}

std::optional<nlohmann::json> metric_part(Identities& identities, const Experiment& experiment,
                                          const MetricCell& metric, bool measure) {
  EvaluationParts what;
  what.experiment = &experiment;
  what.metric = &metric;
  return Parts(identities, what, measure).metric_only();
}

std::string content_key(const nlohmann::json& parts) {
  return sha256_hex(canonical_json(parts));
}

}  // namespace quench
