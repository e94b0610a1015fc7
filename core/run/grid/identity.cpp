#include "core/run/grid/identity.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/checkpoint/content_hash.hpp"
#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/parse_json.hpp"
#include "core/plugin/averaging_handle.hpp"
#include "core/plugin/corpus_handle.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/metric_handle.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/run/averaging/average_identity.hpp"
#include "core/run/corpora/tokenizer_choice.hpp"
#include "core/run/experiment/host_numerics.hpp"
#include "core/run/grid/grid.hpp"
#include "core/run/quantize/judge.hpp"
#include "core/run/weights/open_checkpoint.hpp"
#include "core/run/weights/open_weights.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Weights and corpora up to this many bytes in all are hashed even where only what is remembered
// was asked for: it takes a fraction of a second, and a plan then knows its keys.
constexpr uint64_t kQuickBytes = 256u << 20;

// One hash over the binaries of all plugins of a kind: which of them answers may change with any.
std::string hash_of_kind(const Catalog& catalog, const std::string& kind) {
  std::string all;
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    all += plugin->id + "=" + plugin->sha256 + "\n";
  }
  return sha256_hex(all);
}

// The files of a checkpoint whose times tell whether it changed: the folder's, or a single file
// with what is read beside it.
std::vector<fs::path> watched_files(const CheckpointCell& cell, const fs::path& path) {
  std::vector<fs::path> files = {path};
  if (!cell.config.empty() && cell.config.front() != '{') {
    files.emplace_back(cell.config);
  }
  if (fs::is_directory(path)) {
    return files;
  }
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer.model"}) {
    const fs::path beside = path.parent_path() / name;
    if (fs::exists(beside)) {
      files.push_back(beside);
    }
  }
  return files;
}

// Sizes and times of the files, which change when one of them is written or replaced.
std::string times_of(const std::vector<fs::path>& files) {
  std::string out;
  const auto add = [&](const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      out += fmt::format("{} {} {} {}.{} {}.{}\n", file.string(), status.st_ino, status.st_size,
                         status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                         status.st_ctim.tv_nsec);
    }
  };
  for (const fs::path& file : files) {
    if (!fs::is_directory(file)) {
      add(file);
      continue;
    }
    std::set<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(file)) {
      inside.insert(entry.path());
    }
    std::for_each(inside.begin(), inside.end(), add);
  }
  return out;
}

// The files that a corpus reads, as far as its parameters name them.
std::vector<fs::path> corpus_files(const CorpusUse& use) {
  std::vector<fs::path> files;
  for (const ParameterSchema& schema : use.plugin->parameters) {
    const auto value = use.parameters.find(schema.name);
    if (schema.type == QUENCH_PARAMETER_PATH && value != use.parameters.end() &&
        value->is_string() && !value->get_ref<const std::string&>().empty()) {
      files.emplace_back(value->get<std::string>());
    }
  }
  return files;
}

// The widest vectors that libraries here choose their kernels by.
const char* vector_extension() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    return "avx512";
  }
  return __builtin_cpu_supports("avx2") != 0 ? "avx2" : "x86-64";
#else
  return "generic";
#endif
}

nlohmann::json to_json(const CheckpointIdentity& identity) {
  return {{"content", identity.content},
          {"config", identity.config},
          {"tokenizer", identity.tokenizer},
          {"bytes", identity.bytes},
          {"parameters", identity.parameters}};
}

CheckpointIdentity identity_from(const std::string& text) {
  const nlohmann::json json = parse_json(text, "remembered checkpoint");
  CheckpointIdentity out;
  out.content = json.at("content").get<std::string>();
  out.config = json.at("config").get<std::string>();
  out.tokenizer = json.at("tokenizer").get<std::string>();
  out.bytes = json.at("bytes").get<uint64_t>();
  out.parameters = json.at("parameters").get<uint64_t>();
  return out;
}

uint64_t bytes_of(const std::vector<fs::path>& files) {
  uint64_t bytes = 0;
  const auto add = [&](const fs::path& file) {
    std::error_code error;
    const uint64_t size = fs::is_regular_file(file, error) ? fs::file_size(file, error) : 0;
    bytes += error ? 0 : size;
  };
  for (const fs::path& file : files) {
    if (!fs::is_directory(file)) {
      add(file);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(file)) {
      add(entry.path());
    }
  }
  return bytes;
}

// The content of a corpus, or of the part of it.
std::string of_part(std::string fingerprint, const CorpusUse& use) {
  const std::string part = use.part.key();
  return part.empty() ? fingerprint : sha256_hex(fingerprint + " " + part);
}

std::string corpus_name(const CorpusUse& use) {
  return use.plugin->id + canonical_json(use.parameters);
}

// The parameters but for paths: a field, a range.
nlohmann::json reading_of(const CorpusUse& use) {
  nlohmann::json out = use.parameters;
  for (const ParameterSchema& schema : use.plugin->parameters) {
    if (schema.type == QUENCH_PARAMETER_PATH) {
      out.erase(schema.name);
    }
  }
  return out;
}

nlohmann::json corpus_question(const CorpusUse& use) {
  return {{"corpus", use.plugin->sha256}, {"params", use.parameters}};
}

}  // namespace

Identities::Identities(Catalog& catalog, const Equivalences& equivalences,
                       const Fingerprints& fingerprints, HubEnvironment hub)
    : catalog_(catalog),
      equivalences_(equivalences),
      fingerprints_(fingerprints),
      hub_(std::move(hub)),
      families_(hash_of_kind(catalog, "model")),
      budget_(kQuickBytes) {}

nlohmann::json Identities::checkpoint_question(const CheckpointCell& cell) const {
  return {{"checkpoint", kHostNumerics}, {"config", cell.config}};
}

bool Identities::spend(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > budget_) {
    return false;
  }
  budget_ -= bytes;
  return true;
}

std::optional<CheckpointIdentity> Identities::remembered(const CheckpointCell& cell) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = checkpoints_.find(cell.location); found != checkpoints_.end()) {
      return found->second;
    }
  }
  try {
    const std::vector<fs::path> files = watched_files(cell, locate_checkpoint(cell, hub_).path);
    const auto text = fingerprints_.find(checkpoint_question(cell), files);
    if (!text) {
      return spend(bytes_of(files)) ? std::optional(read(cell)) : std::nullopt;
    }
    CheckpointIdentity identity = identity_from(*text);
    identity.times = times_of(files);
    identity.family = family_of(cell, identity.config, false);
    const std::lock_guard lock(mutex_);
    return checkpoints_.emplace(cell.location, std::move(identity)).first->second;
  } catch (const std::exception&) {
    return std::nullopt;  // whoever opens it will say what is wrong
  }
}

CheckpointIdentity Identities::read(const CheckpointCell& cell) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = checkpoints_.find(cell.location); found != checkpoints_.end()) {
      return found->second;
    }
  }
  const std::vector<fs::path> files = watched_files(cell, locate_checkpoint(cell, hub_).path);
  const Fingerprints::Stamp before = fingerprints_.look(checkpoint_question(cell), files);
  CheckpointIdentity identity;
  identity.times = times_of(files);
  const CheckpointFolder folder = open_files(cell, hub_);
  identity.content = content_hash(*folder.source, &HostServices::instance().cancel_flag());
  identity.config = sha256_hex(folder.config_json);
  identity.tokenizer = folder.tokenizer ? sha256_of(File(*folder.tokenizer)) : "none";
  identity.bytes = bytes_of(folder.files);
  for (uint64_t i = 0; i < folder.source->count(); ++i) {
    const TensorInfo& tensor = folder.source->info(i);
    const bool counts = tensor.shared_with == i && tensor.dtype.code != QUENCH_DTYPE_INT;
    identity.parameters += counts ? element_count(tensor.shape).value_or(0) : 0;
  }
  fingerprints_.remember(before, canonical_json(to_json(identity)));
  identity.family = family_of(cell, identity.config, false);
  const std::lock_guard lock(mutex_);
  return checkpoints_.emplace(cell.location, std::move(identity)).first->second;
}

std::string Identities::family_of(const CheckpointCell& cell, const std::string& config_hash,
                                  bool measure) {
  if (!cell.family.empty()) {
    return cell.family;
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = families_by_config_.find(config_hash);
        found != families_by_config_.end()) {
      return found->second;
    }
  }
  const nlohmann::json question = {{"config", config_hash}, {"families", families_}};
  std::string family = fingerprints_.find(question, {}).value_or("");
  if (family.empty() && measure) {
    const CheckpointFolder folder = open_files(cell, hub_);
    family = choose_family(catalog_, folder.config_json, (folder.path / "config.json").string()).id;
    fingerprints_.remember(question, {}, family);
  }
  if (!family.empty()) {
    const std::lock_guard lock(mutex_);
    families_by_config_[config_hash] = family;
  }
  return family;
}

CheckpointIdentity Identities::measured(const CheckpointCell& cell) {
  CheckpointIdentity identity = remembered(cell).value_or(CheckpointIdentity());
  if (identity.content.empty()) {
    identity = read(cell);
  }
  if (identity.family.empty()) {
    identity.family = family_of(cell, identity.config, true);
    const std::lock_guard lock(mutex_);
    checkpoints_[cell.location] = identity;
  }
  return identity;
}

std::string Identities::absence(const CheckpointCell& cell) const {
  try {
    const fs::path path = locate_checkpoint(cell, hub_).path;
    return fs::exists(path) ? "" : path.string() + " is not there";
  } catch (const Error& error) {
    return error.what();
  }
}

bool Identities::unchanged(const CheckpointCell& cell) {
  return times_of(watched_files(cell, locate_checkpoint(cell, hub_).path)) == read(cell).times;
}

std::optional<std::string> Identities::remembered_corpus(const CorpusUse& use) {
  const std::string name = corpus_name(use);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = corpora_.find(name); found != corpora_.end()) {
      return found->second;
    }
  }
  const std::vector<fs::path> files = corpus_files(use);
  if (files.empty()) {
    return std::nullopt;
  }
  auto found = fingerprints_.find(corpus_question(use), files);
  if (found) {
    const std::lock_guard lock(mutex_);
    corpora_[name] = *found;
    return found;
  }
  try {
    return spend(bytes_of(files)) ? std::optional(measured_corpus(use)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;  // whoever reads it will say what is wrong
  }
}

std::string Identities::measured_corpus(const CorpusUse& use) {
  const std::string name = corpus_name(use);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = corpora_.find(name); found != corpora_.end()) {
      return found->second;
    }
  }
  const std::vector<fs::path> files = corpus_files(use);
  std::string fingerprint;
  if (const auto known =
          files.empty() ? std::nullopt : fingerprints_.find(corpus_question(use), files)) {
    fingerprint = *known;
  } else {
    const Fingerprints::Stamp before = fingerprints_.look(corpus_question(use), files);
    fingerprint = CorpusHandle(catalog_, *use.plugin, use.parameters).fingerprint();
    if (!files.empty()) {
      fingerprints_.remember(before, fingerprint);
    }
  }
  const std::lock_guard lock(mutex_);
  return corpora_[name] = fingerprint;
}

const WantedRecords& Identities::records(const MetricCell& metric) {
  const auto& parameters = metric.plugin->parameters;
  const bool reads = std::any_of(parameters.begin(), parameters.end(), [](const auto& schema) {
    return schema.type == QUENCH_PARAMETER_PATH;
  });
  const std::lock_guard lock(mutex_);
  const auto [entry, added] =
      records_.try_emplace(metric.plugin->id + canonical_json(metric.parameters));
  if (added && reads) {
    try {
      MetricHandle handle(catalog_, *metric.plugin, metric.parameters);
      entry->second = wanted_records(catalog_, handle, hub_);
    } catch (const Error&) {
      records_.erase(entry);
      throw;
    }
  }
  return entry->second;
}

std::string Identities::tokenizer_key(const Experiment& experiment, const CheckpointCell& cell,
                                      const CheckpointIdentity& checkpoint) {
  for (const std::string& named : {cell.tokenizer, experiment.tokenizer}) {
    if (!named.empty()) {
      return TokenizerChoice(named, "").key();
    }
  }
  return checkpoint.tokenizer;
}

std::optional<const PluginDescription*> Identities::judge(bool measure) {
  if (judge_) {
    return judge_;
  }
  const nlohmann::json question = {{"judge", hash_of_kind(catalog_, "quantizer")}};
  if (const auto id = fingerprints_.find(question, {})) {
    judge_ = catalog_.find("quantizer", *id);
  } else if (measure) {
    const auto found = find_judge(catalog_);
    judge_ = found ? catalog_.find("quantizer", found->id()) : nullptr;
    fingerprints_.remember(question, {}, found ? found->id() : "");
  }
  return judge_;
}

std::string Identities::plugin_hash(const PluginDescription& plugin) const {
  return equivalences_.canonical_plugin_hash(plugin.sha256);
}

nlohmann::json Identities::environment(const Experiment& experiment,
                                       const std::vector<const PluginDescription*>& plugins) const {
  nlohmann::json libraries = nlohmann::json::object();
  for (const PluginDescription* plugin : plugins) {
    for (const LinkedLibrary& link : plugin->links) {
      libraries[link.soname] = link.build_id;
    }
  }
  return {{"isa", vector_extension()},
          {"device", device_text(experiment.device)},
          {"dtype", dtype_text(experiment.dtype)},
          {"libraries", libraries}};
}

namespace {

// Gathers the parts; says what is missing when it may not measure.
class Parts {
 public:
  Parts(Identities& identities, const EvaluationParts& what, bool measure)
      : identities_(identities), what_(what), experiment_(*what.experiment), measure_(measure) {}

  bool gather() {
    out_ = {{"host", kHostNumerics}, {"seed", experiment_.seed}};
    return add_weights() && add_metric() && (what_.quantizer == nullptr || add_quantizer()) &&
           add_environment();
  }

  nlohmann::json take() { return std::move(out_); }
  const std::string& missing() const { return missing_; }

 private:
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

  nlohmann::json plugin(const PluginDescription& description, const nlohmann::json& parameters) {
    plugins_.push_back(&description);
    return {{"id", description.id},
            {"sha256", identities_.plugin_hash(description)},
            {"params", parameters}};
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
    const PluginDescription& family = identities_.family(main->family);
    out_["config"] = main->config;
    out_["family"] = plugin(family, nullptr);
    out_["tokenizer"] =
        identities_.tokenizer_key(experiment_, experiment_.checkpoints[weights.checkpoint], *main);
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
    out_["averaging"] = plugin(*averaging.plugin, averaging.parameters);
    out_["averaging"]["members"] = hashes;
    // Which order the members have, and what else makes the result.
    out_["averaging"]["identity"] =
        average_identity(averaging, members_of(experiment_, weights), hashes, kFloat32);
    if (AveragingHandle(identities_.catalog(), *averaging.plugin, averaging.parameters)
            .searches()) {
      const MetricCell& judge = experiment_.metrics.front();
      return add_evaluation(out_["averaging"]["score"], judge);
    }
    return true;
  }

  // The bytes of its files and what the plugin takes of them; not where the files lie.
  bool add_corpus(nlohmann::json& to, const CorpusUse& use) {
    const auto files = measure_ ? std::optional(identities_.measured_corpus(use))
                                : identities_.remembered_corpus(use);
    if (!files) {
      return lacks("corpus " + use.name);
    }
    to = {{"files", of_part(*files, use)}, {"id", use.plugin->id}, {"params", reading_of(use)}};
    return true;
  }

  bool add_metric() {
    return add_evaluation(out_["metric"], *what_.metric) &&
           ((what_.metric->needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0 || add_trajectory());
  }

  // What a metric is told of the whole branch.
  bool add_trajectory() {
    for (const size_t place : branch_until(experiment_, what_.weights->checkpoint)) {
      const auto one = identity(experiment_.checkpoints[place]);
      if (!one) {
        return false;
      }
      const CheckpointCell& cell = experiment_.checkpoints[place];
      const auto number = [](const std::optional<int64_t>& value) {
        return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
      };
      out_["trajectory"].push_back({{"weights", one->content},
                                    {"revision", cell.revision},
                                    {"step", number(cell.step)},
                                    {"tokens", number(cell.tokens)}});
    }
    return true;
  }

  bool add_evaluation(nlohmann::json& to, const MetricCell& metric) {
    to = plugin(*metric.plugin, metric.parameters);
    nlohmann::json corpora = nlohmann::json::object();
    for (const auto& [parameter, use] : metric.corpora) {
      // The name of a corpus is the manifest's business, its content is the value's.
      to["params"].erase(parameter);
      if (!add_corpus(corpora[parameter], use)) {
        return false;
      }
    }
    to["corpora"] = corpora;
    return add_records(to, metric);
  }

  // The content of what a metric reads beside its corpora, in order.
  bool add_records(nlohmann::json& to, const MetricCell& metric) {
    try {
      const WantedRecords& wanted = identities_.records(metric);
      for (const CorpusUse& use : wanted.data_sets) {
        nlohmann::json& entry = to["data"].emplace_back();
        plugins_.push_back(use.plugin);
        if (!add_corpus(entry, use)) {
          return false;
        }
      }
      for (const fs::path& file : wanted.files) {
        to["files"].push_back(sha256_of(File(file)));
      }
      return true;
    } catch (const Error& error) {
      if (measure_) {
        throw;
      }
      return lacks(fmt::format("data of metric {} ({})", metric.plugin->id, error.what()));
    }
  }

  bool add_quantizer() {
    out_["quantizer"] = plugin(*what_.quantizer->plugin, what_.quantizer->parameters);
    if (what_.quantizer->store_as) {  // measured as the file holds it
      out_["quantizer"]["stored"] = format_name(*what_.quantizer->store_as);
    }
    if (const std::optional<TransformUse>& transform = what_.quantizer->transform) {
      out_["transform"] = plugin(*transform->plugin, transform->parameters);
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
    const auto judge = identities_.judge(measure_);
    if (!judge) {
      return lacks("quantizers");
    }
    if (*judge != nullptr) {
      out_["calibration"]["judge"] = plugin(**judge, nullptr);
    }
    return add_corpus(out_["calibration"]["corpus"], calibration.corpus);
  }

  bool add_environment() {
    out_["environment"] = identities_.environment(experiment_, plugins_);
    return true;
  }

  Identities& identities_;
  const EvaluationParts& what_;
  const Experiment& experiment_;
  bool measure_;
  std::vector<const PluginDescription*> plugins_;
  nlohmann::json out_;
  std::string missing_;
};

}  // namespace

const PluginDescription& Identities::family(const std::string& id) const {
  return catalog_.require("model", id);
}

std::optional<nlohmann::json> evaluation_parts(Identities& identities, const EvaluationParts& what,
                                               bool measure, std::string& missing) {
  Parts parts(identities, what, measure);
  if (!parts.gather()) {
    missing = parts.missing();
    return std::nullopt;
  }
  return parts.take();
}

std::string content_key(const nlohmann::json& parts) {
  return sha256_hex(canonical_json(parts));
}

}  // namespace quench
