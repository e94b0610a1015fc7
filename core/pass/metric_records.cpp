#include "core/pass/metric_records.hpp"

#include <algorithm>
#include <deque>

#include "core/base/config/yaml.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

namespace {

// Collects what a metric asks for.
class RecordHost {
 public:
  RecordHost(Catalog& catalog, const HubEnvironment& hub) : catalog_(catalog), hub_(hub) {
    table_ = {sizeof table_,
              this,
              Called<&RecordHost::locate>::call,
              Called<&RecordHost::yaml_file>::call,
              Called<&RecordHost::yaml_text>::call,
              Called<&RecordHost::want>::call,
              Called<&RecordHost::want_file>::call};
  }
  RecordHost(const RecordHost&) = delete;
  RecordHost& operator=(const RecordHost&) = delete;

  const quench_record_host* table() const { return &table_; }
  WantedRecords take() { return std::move(wanted_); }

 private:
  // Checks files of the hub's cache against their hashes.
  void check(const char* path) const {
    check_blobs(path, hub_, &HostServices::instance().cancel_flag());
  }

  // Keeps the text until `wants` returns.
  const std::string& keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  void locate(const char* location, const char** path) {
    std::string found = location;
    if (is_hub_spec(found)) {
      const ResolvedModel hub = resolve(found, hub_);
      found = (hub.file.empty() ? hub.folder : hub.folder / hub.file).string();
    }
    *path = keep(std::move(found)).c_str();
  }

  void yaml_file(const char* path, const char** json, uint64_t* bytes) {
    check(path);
    const std::string yaml = read_file(path, kYamlMaxBytes);
    give_json(yaml, path, json, bytes);
    wanted_.files.push_back({path, sha256_hex(yaml)});
  }

  void yaml_text(const char* text, uint64_t text_bytes, const char* name, const char** json,
                 uint64_t* bytes) {
    give_json({text, text_bytes}, name, json, bytes);
  }

  void give_json(std::string_view yaml, const char* name, const char** json, uint64_t* bytes) {
    const std::string& text = keep(yaml_to_json(parse_yaml(yaml, name)).dump());
    *json = text.c_str();
    *bytes = text.size();
  }

  void want(const char* name, const char* corpus_id, const char* parameters_json) {
    CorpusUse use{name, &catalog_.require("corpus", corpus_id), {}};
    std::vector<ParameterProblem> problems;
    use.parameters =
        complete_parameters(*use.plugin, parse_json(parameters_json, "parameters"), problems);
    if (!problems.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "corpus {}: {}", use.plugin->id, problems[0].message);
    }
    wanted_.data_sets.push_back(std::move(use));
  }

  void want_file(const char* path) {
    check(path);
    wanted_.files.push_back({path, sha256_of(File(path)), /*is_read_later=*/true});
  }

  Catalog& catalog_;
  const HubEnvironment& hub_;
  std::deque<std::string> texts_;
  WantedRecords wanted_;
  quench_record_host table_{};
};

}  // namespace

WantedRecords wanted_records(Catalog& catalog, MetricHandle& metric, const HubEnvironment& hub) {
  if (!metric.reads_records()) {
    return {};
  }
  RecordHost host(catalog, hub);
  metric.wants(*host.table());
  return host.take();
}

void check_read(const std::string& metric, const WantedRecords& read, const WantedRecords& keyed) {
  const auto same_set = [](const CorpusUse& a, const CorpusUse& b) {
    return a.plugin == b.plugin && a.parameters == b.parameters;
  };
  const auto same_path = [](const WantedFile& a, const WantedFile& b) { return a.path == b.path; };
  if (!std::ranges::equal(read.data_sets, keyed.data_sets, same_set) ||
      !std::ranges::equal(read.files, keyed.files, same_path)) {
    fail(QUENCH_UNAVAILABLE,
         "metric {}: its files are not those that were hashed for the keys; run the command again",
         metric);
  }
  for (size_t i = 0; i < read.files.size(); ++i) {
    const WantedFile& file = read.files[i];
    const std::string found = file.is_read_later ? sha256_of(File(file.path)) : file.sha256;
    if (const std::string& wanted = keyed.files[i].sha256; found != wanted) {
      fail(QUENCH_UNAVAILABLE,
           "metric {}: {} changed before it was read (sha256 {} in the key, {} now); run the "
           "command "
           "again",
           metric, file.path.string(), wanted.substr(0, 12), found.substr(0, 12));
    }
  }
}

void give_records(Catalog& catalog, MetricHandle& metric, const WantedRecords& wanted,
                  Corpora& corpora) {
  for (size_t set = 0; set < wanted.data_sets.size(); ++set) {
    const CorpusUse& use = wanted.data_sets[set];
    HeldCorpus corpus(catalog, use, corpora.hub(), corpora.expected_content(use));
    quench_document document{};
    while (corpus.handle().next(document)) {
      stop_if_asked();
      if (document.record == nullptr) {
        fail(QUENCH_INVALID_ARGUMENT, "corpus {}: yields no records", use.name);
      }
      if (!metric.take(static_cast<uint32_t>(set), {document.record, document.record_bytes})) {
        break;
      }
    }
    corpus.check();
    corpora.count_skipped(use.name, corpus.handle().skipped(), corpus.handle().given());
  }
}

}  // namespace quench
