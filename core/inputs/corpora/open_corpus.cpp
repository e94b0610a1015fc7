#include "core/inputs/corpora/open_corpus.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/opened_inputs.hpp"

namespace quench {

std::vector<std::filesystem::path> corpus_files(const CorpusUse& use) {
  std::vector<std::filesystem::path> files;
  for (const ParameterSchema& schema : use.plugin->parameters) {
    const auto value = use.parameters.find(schema.name);
    if (schema.type == QUENCH_PARAMETER_PATH && value != use.parameters.end() &&
        value->is_string() && !value->get_ref<const std::string&>().empty()) {
      files.emplace_back(value->get<std::string>());
    }
  }
  return files;
}

nlohmann::json reading_parameters(const PluginDescription& plugin, nlohmann::json parameters) {
  for (const ParameterSchema& schema : plugin.parameters) {
    if (schema.type == QUENCH_PARAMETER_PATH) {
      parameters.erase(schema.name);
    }
  }
  return parameters;
}

CorpusHandle open_corpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub) {
  for (const std::filesystem::path& file : corpus_files(use)) {
    check_blobs(file, hub, &HostServices::instance().cancel_flag());
  }
  return {catalog, *use.plugin, use.parameters};
}

namespace {

Fingerprints::Stamp look_at(const CorpusUse& use) {
  return Fingerprints("").look({}, corpus_files(use));
}

}  // namespace

HeldCorpus::HeldCorpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub,
                       std::string content)
    : use_(use),
      is_foreign_(!catalog.is_shipped(*use.plugin)),
      content_(std::move(content)),
      before_(look_at(use)),
      handle_(open_corpus(catalog, use, hub)) {}

void HeldCorpus::mark_unchecked() {
  OpenedInputs& inputs = OpenedInputs::instance();
  const InputReader reader = {use_.plugin->module_id, plugin_label(*use_.plugin),
                              use_.parameters.dump()};
  if (is_foreign_ && !inputs.has_opened(reader, corpus_files(use_))) {
    is_checked_ = false;
    inputs.mark_unchecked(reader);
  }
}

const std::string& HeldCorpus::check() {
  const std::string found = handle_.fingerprint();
  const bool touched = !look_at(use_).same_as(before_);
  if (found == content_ && !touched) {
    mark_unchecked();
    return content_;
  }
  std::string files;
  for (const std::filesystem::path& file : corpus_files(use_)) {
    files += file.string() + ": ";
  }
  if (found == content_) {
    fail(QUENCH_UNAVAILABLE,
         "corpus {}: {}changed while it was read (sha256 {} before and now, other times in "
         "between); run the command again",
         use_.name, files, found.substr(0, 12));
  }
  fail(QUENCH_UNAVAILABLE,
       "corpus {}: {}changed before it was read to its end (sha256 {} before, {} now); run the "
       "command again",
       use_.name, files, content_.substr(0, 12), found.substr(0, 12));
}

}  // namespace quench
