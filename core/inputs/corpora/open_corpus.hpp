// Opens a corpus of an experiment for reading.
#pragma once

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/corpus_handle.hpp"

namespace quench {

// The files that the corpus's parameters name.
std::vector<std::filesystem::path> corpus_files(const CorpusUse& use);
// The parameters without these files, which count by their content: a field, a range.
nlohmann::json reading_parameters(const PluginDescription& plugin, nlohmann::json parameters);

// First compares files in the hub's cache with the hashes that are their names. Throws what
// check_blob and the plugin throw.
CorpusHandle open_corpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub);

}  // namespace quench
