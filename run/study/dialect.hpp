// What dialect.yaml says of the study's files. The names of its keys' plugins are there and not in
// the host's code.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace quench {

extern const char* const kStudyDialectText;  // dialect.yaml

struct StudyDialect {
  std::vector<std::string> sweep;      // a file with all of these keys is a sweep over checkpoints
  std::vector<std::string> landscape;  // or names the checkpoints of a landscape
  std::map<std::string, std::set<std::string>> used;       // by key, what is said of it
  std::map<std::string, std::string> without_counterpart;  // by key, why
  std::map<std::string, int64_t> pads;                     // by tokenizer, the id of its pad token
  std::map<std::string, std::string> pieces;               // of manifests, with @names@ to fill in

  // Whether the word is said of a key that enters the manifest.
  bool is(const std::string& key, const std::string& word) const;
  // The piece `name` with the values in place of their names.
  std::string piece(const std::string& name,
                    const std::map<std::string, std::string>& values = {}) const;
};

const StudyDialect& study_dialect();

}  // namespace quench
