// Opens a corpus of an experiment for reading.
#pragma once

#include <string>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

// The files that the corpus's parameters name.
std::vector<std::filesystem::path> corpus_files(const CorpusUse& use);
// The parameters without these files, which count by their content: a field, a range.
nlohmann::json reading_parameters(const PluginDescription& plugin, nlohmann::json parameters);

// First compares files in the hub's cache with the hashes that are their names. Throws what
// check_blob and the plugin throw.
CorpusHandle open_corpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub);

// A corpus that is read for a value. Its plugin opens the files itself, so nothing but their
// content before and after, and their times in between, says what it read.
class HeldCorpus {
 public:
  // Opens it. `content`: of its files, as the keys have it.
  HeldCorpus(Catalog& catalog, const CorpusUse& use, const HubEnvironment& hub,
             std::string content);

  CorpusHandle& handle() { return handle_; }
  // After check(): false of a plugin from elsewhere that opened its files itself.
  bool is_checked() const { return is_checked_; }
  // Call it after the reading. Throws Error(UNAVAILABLE) if the files hold something else, or held
  // it meanwhile; else returns the content. Marks a plugin from elsewhere that opened them itself.
  const std::string& check();

 private:
  void mark_unchecked();

  CorpusUse use_;
  bool is_foreign_;
  bool is_checked_ = true;
  std::string content_;
  Fingerprints::Stamp before_;  // taken first
  CorpusHandle handle_;
};

}  // namespace quench
