#include "core/inputs/corpora/open_corpus.hpp"

#include "core/hub/blob.hpp"
#include "core/plugin/host_services.hpp"

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

}  // namespace quench
