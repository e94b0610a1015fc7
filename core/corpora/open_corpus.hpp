// A corpus of an experiment, ready to be read.
#pragma once

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/corpus_handle.hpp"

namespace quench {

// The files that a corpus reads, as far as its parameters name them.
std::vector<std::filesystem::path> corpus_files(const CorpusUse& use);

// Files of it that lie in the hub's cache are compared with the hashes that name them first. Throws
// what check_blob and the plugin throw.
CorpusHandle open_corpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub);

}  // namespace quench
