#include "run/grid/identity.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/arithmetic/build_id.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/held_source.hpp"
#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/handles/metric_handle.hpp"
#include "core/plugin/library/device_part.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/devices.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "core/store/sealed_folder.hpp"
#include "run/grid/watched_files.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Reads and hashes weights and corpora up to this many bytes in total even if the caller asked only
// for what is remembered: it takes a fraction of a second and lets a plan know its keys.
constexpr uint64_t kQuickBytes = 256u << 20;

nlohmann::json to_json(const CheckpointIdentity& identity) {
  return {{"content", identity.content},
          {"config", identity.config},
          {"bytes", identity.bytes},
          {"parameters", identity.parameters}};
}

CheckpointIdentity identity_from(const nlohmann::json& json) {
  CheckpointIdentity out;
  out.content = json.at("content").get<std::string>();
  out.config = json.at("config").get<std::string>();
  out.bytes = json.at("bytes").get<uint64_t>();
  out.parameters = json.at("parameters").get<uint64_t>();
  return out;
}

std::string corpus_name(const CorpusUse& use) {
  return use.plugin->id + canonical_json(use.parameters);
}

// What `known` holds of this name, or nothing.
template <typename Value>
std::optional<Value> held(const std::map<std::string, Value>& known, const std::string& name,
                          std::mutex& mutex) {
  const std::lock_guard lock(mutex);
  const auto found = known.find(name);
  return found != known.end() ? std::optional(found->second) : std::nullopt;
}

bool takes_paths(const PluginDescription& plugin) {
  return std::any_of(plugin.parameters.begin(), plugin.parameters.end(),
                     [](const auto& schema) { return schema.type == QUENCH_PARAMETER_PATH; });
}

nlohmann::json blocks_question(const std::string& content) {
  return {{"blocks", content}, {"elements", kHashBlock}};
}

// The answer that is remembered of these files, or what `measure` finds, which then is.
template <typename Measure>
std::string asked(const Fingerprints& memory, const nlohmann::json& question,
                  const std::vector<fs::path>& files, Measure measure) {
  if (auto known = memory.find(question, files)) {
    return *std::move(known);
  }
  const Fingerprints::Stamp before = memory.look(question, files);
  std::string answer = measure();
  memory.remember(before, answer);
  return answer;
}

// Files that quench wrote say beside them what they are: one that rotted before it was first read
// would otherwise get a key of its own.
void hold_to_seal(const CheckpointFolder& folder) {
  const std::string fault =
      fault_of_sealed_files(folder.path, folder.files, &HostServices::instance().cancel_flag());
  if (!fault.empty()) {
    fail(QUENCH_DATA_LOSS,
         "{}, as {} says, which was written with it; make it again, or remove {} if the change is "
         "yours",
         fault, kFolderSeal, kFolderSeal);
  }
}

nlohmann::json corpus_question(const CorpusUse& use) {
  return {{"corpus", use.plugin->code}, {"params", use.parameters}};
}

}  // namespace

const std::string& tokenizer_named(const Experiment& experiment, const CheckpointCell& cell) {
  return cell.tokenizer.empty() ? experiment.tokenizer : cell.tokenizer;
}

std::string code_of_kind(const Catalog& catalog, const std::string& kind) {
  nlohmann::json all = nlohmann::json::object();
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    all[plugin->id] = plugin->code;
  }
  return sha256_hex(canonical_json(all));
}

nlohmann::json machine_of(const Experiment& experiment) {
  return {{"isa", key_text(HostServices::instance().instructions())},
          {"libm", math_library()},
          {"device", device_model(experiment.device)},
          {"dtype", dtype_text(experiment.dtype)}};
}

nlohmann::json libraries_of(const std::vector<const PluginDescription*>& plugins,
                            quench_device device) {
  std::map<std::string, std::map<std::string, std::string>> builds;  // of a soname, by plugin
  for (const PluginDescription* plugin : plugins) {
    nlohmann::json libraries = computing_libraries(plugin->links);
    if (device.type != QUENCH_DEVICE_CPU) {
      libraries.update(computing_libraries(device_libraries(*plugin)));
    }
    for (const auto& [soname, build] : libraries.items()) {
      builds[soname][plugin_label(*plugin)] = build.get<std::string>();
    }
  }
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [soname, by_plugin] : builds) {
    const std::string& first = by_plugin.begin()->second;
    const bool one = std::all_of(by_plugin.begin(), by_plugin.end(),
                                 [&](const auto& entry) { return entry.second == first; });
    if (one) {
      out[soname] = first;
    } else {
      out[soname] = by_plugin;
    }
  }
  return out;
}

Identities::Identities(Catalog& catalog, const Fingerprints& fingerprints, HubEnvironment hub)
    : catalog_(catalog),
      fingerprints_(fingerprints),
      hub_(std::move(hub)),
      families_(code_of_kind(catalog, "model")),
      commits_(catalog, fingerprints, hub_),
      reads_(fingerprints),
      budget_(kQuickBytes) {}

// What was measured holds for the code that reads the files: another one is asked again, and says
// the same where it makes the same weights of them.
nlohmann::json Identities::checkpoint_question(const CheckpointCell& cell) const {
  nlohmann::json question = {{"checkpoint", arithmetic_build_id()}, {"config", cell.config}};
  if (const std::string formats = reading_key(catalog_, locate_checkpoint(cell, hub_).path);
      !formats.empty()) {
    question["formats"] = formats;
  }
  return question;
}

std::vector<fs::path> Identities::watched(const CheckpointCell& cell) const {
  return watched_files(cell, locate_checkpoint(cell, hub_).path);
}

bool Identities::spend(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > budget_) {
    return false;
  }
  budget_ -= bytes;
  return true;
}

std::optional<CheckpointIdentity> Identities::known(const CheckpointCell& cell) {
  return held(checkpoints_, cell.location, mutex_);
}

CheckpointIdentity Identities::keep(const CheckpointCell& cell, CheckpointIdentity identity) {
  identity.family = family_of(cell, identity.config, false);
  const std::lock_guard lock(mutex_);
  CheckpointIdentity& kept = checkpoints_[cell.location];
  if (kept.times.empty()) {  // else another thread was as quick
    kept = std::move(identity);
  }
  return kept;
}

std::optional<CheckpointIdentity> Identities::remembered(const CheckpointCell& cell) {
  if (auto there = known(cell)) {
    return there;
  }
  try {
    if (!absence(cell).empty()) {
      if (const auto answer = commits_.checkpoint(cell)) {
        return keep(cell, identity_from(*answer));
      }
      if (!is_hub_spec(cell.location)) {
        return std::nullopt;  // yet to be trained, as most of a plan's: without an exception each
      }
    }
    const std::vector<fs::path> files = watched(cell);
    const auto text = fingerprints_.find(checkpoint_question(cell), files);
    if (!text) {
      return spend(bytes_of(files)) ? std::optional(read(cell)) : std::nullopt;
    }
    CheckpointIdentity identity = identity_from(parse_json(*text, "remembered checkpoint"));
    identity.times = times_of(files);
    return keep(cell, std::move(identity));
  } catch (const std::exception&) {
    return std::nullopt;  // reported when it is opened
  }
}

CheckpointIdentity Identities::read(const CheckpointCell& cell) {
  if (const auto there = known(cell); there && !there->times.empty()) {
    return *there;
  }
  const std::vector<fs::path> files = watched(cell);
  const Fingerprints::Stamp before = fingerprints_.look(checkpoint_question(cell), files);
  CheckpointIdentity identity;
  identity.times = times_of(files);
  const CheckpointFolder folder = open_files(catalog_, cell, hub_);
  const TensorHashes hashes = hash(*folder.source);
  hold_to_seal(folder);
  identity.content = hashes.content;
  identity.config = sha256_hex(folder.config_json);
  identity.bytes = bytes_of(folder.files);
  for (uint64_t i = 0; i < folder.source->count(); ++i) {
    const TensorInfo& tensor = folder.source->info(i);
    const bool counts = tensor.shared_with == i && tensor.dtype.code != QUENCH_DTYPE_INT;
    identity.parameters += counts ? element_count(tensor.shape).value_or(0) : 0;
  }
  check_running_code();
  const nlohmann::json answer = to_json(identity);
  fingerprints_.remember(before, canonical_json(answer));
  commits_.remember_checkpoint(cell, folder.files, answer);
  return keep(cell, std::move(identity));
}

std::string Identities::family_of(const CheckpointCell& cell, const std::string& config_hash,
                                  bool measure) {
  if (!cell.family.empty()) {
    return cell.family;
  }
  if (const auto known = held(families_by_config_, config_hash, mutex_)) {
    return *known;
  }
  const nlohmann::json question = {
      {"config", config_hash}, {"families", families_}, {"rule", "shipped first"}};
  std::string family = fingerprints_.find(question, {}).value_or("");
  if (family.empty() && measure) {
    const CheckpointFolder folder = open_files(catalog_, cell, hub_);
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
  return weights_absence(cell, hub_);
}

std::string Identities::absence_of_known(const CheckpointCell& cell) {
  const auto there = known(cell);
  return there && there->times.empty() ? absence(cell) : "";
}

TensorHashes Identities::hash(const TensorSource& source) const {
  TensorHashes hashes = hash_tensors(source, &HostServices::instance().cancel_flag());
  fingerprints_.remember(blocks_question(hashes.content), {}, hashes.blocks);
  return hashes;
}

CheckpointFolder Identities::hold(const CheckpointCell& cell, CheckpointFolder folder) {
  const CheckpointIdentity keyed = read(cell);
  const auto expect = [&](const char* what, const std::string& wanted, const std::string& got) {
    if (got != wanted) {
      fail(QUENCH_UNAVAILABLE,
           "{}: its {} changed before it was read (sha256 {} when it was hashed for the keys, {} "
           "now); run the command again",
           cell.location, what, wanted.substr(0, 12), got.substr(0, 12));
    }
  };
  expect("config", keyed.config, sha256_hex(folder.config_json));
  auto blocks = fingerprints_.find(blocks_question(keyed.content), {});
  if (!blocks) {  // an earlier version, or another home, hashed them
    TensorHashes hashes = hash(*folder.source);
    expect("weights", keyed.content, hashes.content);
    blocks = std::move(hashes.blocks);
  }
  folder.source = std::make_shared<HeldSource>(std::move(folder.source), *std::move(blocks));
  return folder;
}

void Identities::forget_if_changed(const CheckpointCell& cell) {
  const std::lock_guard lock(mutex_);
  const auto found = checkpoints_.find(cell.location);
  if (found != checkpoints_.end() && times_of(watched(cell)) != found->second.times) {
    checkpoints_.erase(found);
    tokenizers_.erase(cell.location);
  }
}

std::optional<std::string> Identities::remembered_corpus(const CorpusUse& use) {
  const std::string name = corpus_name(use);
  if (auto known = held(corpora_, name, mutex_)) {
    return known;
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
    return std::nullopt;  // reported when it is read
  }
}

std::string Identities::measured_corpus(const CorpusUse& use) {
  const std::string name = corpus_name(use);
  if (const auto known = held(corpora_, name, mutex_)) {
    return *known;
  }
  const std::vector<fs::path> files = corpus_files(use);
  const auto measure = [&] {
    std::string fingerprint = open_corpus(catalog_, use, hub_).fingerprint();
    check_running_code();
    return fingerprint;
  };
  const std::string fingerprint =
      files.empty() ? measure() : asked(fingerprints_, corpus_question(use), files, measure);
  const std::lock_guard lock(mutex_);
  return corpora_[name] = fingerprint;
}

const WantedRecords& Identities::records(const MetricCell& metric) {
  const bool reads = takes_paths(*metric.plugin);
  const std::lock_guard lock(mutex_);
  const auto [entry, added] =
      records_.try_emplace(metric.plugin->id + canonical_json(metric.parameters));
  if (added && reads) {
    try {
      MetricHandle handle(catalog_, *metric.plugin, metric.parameters);
      entry->second = wanted_records(catalog_, handle, hub_);
    } catch (...) {
      records_.erase(entry);
      throw;
    }
  }
  return entry->second;
}

void Identities::check_read(const MetricCell& metric, const WantedRecords& read) {
  if (takes_paths(*metric.plugin)) {
    quench::check_read(metric.plugin->id, read, records(metric));
  }
}

std::string Identities::file(const fs::path& file, bool measure) {
  return asked(fingerprints_, {{"file", "sha256"}}, {file}, [&] {
    if (!measure && !spend(bytes_of({file}))) {
      fail(QUENCH_UNAVAILABLE, "{} not read yet", file.string());
    }
    return sha256_of(File(file), &HostServices::instance().cancel_flag());
  });
}

bool Identities::gives_text(const CorpusUse& use) {
  const std::string name = corpus_name(use);
  if (const auto known = held(texts_, name, mutex_)) {
    return *known;
  }
  nlohmann::json question = corpus_question(use);
  question["asked"] = "text";
  const std::vector<fs::path> files = corpus_files(use);
  const auto look = [&]() -> std::string {
    CorpusHandle corpus = open_corpus(catalog_, use, hub_);
    quench_document document{};
    return corpus.next(document) && document.text != nullptr ? "yes" : "no";
  };
  const std::string answer = files.empty() ? look() : asked(fingerprints_, question, files, look);
  const std::lock_guard lock(mutex_);
  return texts_[name] = answer == "yes";
}

std::optional<TokenizerIdentity> Identities::known_tokenizer(const Experiment& experiment,
                                                             const CheckpointCell& cell) {
  const std::string& named = tokenizer_named(experiment, cell);
  return held(tokenizers_, named.empty() ? cell.location : named, mutex_);
}

TokenizerIdentity Identities::tokenizer(const Experiment& experiment, const CheckpointCell& cell) {
  if (const auto known = known_tokenizer(experiment, cell)) {
    return *known;
  }
  const std::string& named = tokenizer_named(experiment, cell);
  TokenizerIdentity identity =
      named.empty() ? own_tokenizer(cell) : TokenizerChoice(named, "").identity(catalog_);
  const std::lock_guard lock(mutex_);
  return tokenizers_[named.empty() ? cell.location : named] = std::move(identity);
}

TokenizerIdentity Identities::own_tokenizer(const CheckpointCell& cell) {
  if (!absence(cell).empty()) {
    if (const auto remembered = commits_.tokenizer(cell)) {
      return *remembered;
    }
  }
  const fs::path path = locate_checkpoint(cell, hub_).path;
  const fs::path folder = folder_holding(path);
  TokenizerChoice own = TokenizerChoice::beside(catalog_, folder);
  if (!own.exists() && !reading_key(catalog_, path).empty()) {  // a format may find one inside
    own = TokenizerChoice::of(catalog_, open_headers(catalog_, cell, hub_));
  }
  TokenizerIdentity identity = own.identity(catalog_);
  commits_.remember_tokenizer(cell, identity);
  return identity;
}

}  // namespace quench
