// Everything that is wrong with a manifest, reported at once.
#pragma once

#include <string>
#include <vector>

#include "core/config/yaml.hpp"

namespace quench {

class Problems {
 public:
  // Adds "file:line:column: message".
  void add(const Place& place, const std::string& message) {
    messages_.push_back(place.text() + ": " + message);
  }
  bool empty() const { return messages_.empty(); }
  const std::vector<std::string>& messages() const { return messages_; }
  // Throws Error(INVALID_ARGUMENT) with all messages, one a line, unless there is none.
  void throw_if_any() const;

 private:
  std::vector<std::string> messages_;
};

// Reads the members of one mapping and knows afterwards which ones nobody asked for: an unread key
// is an error, with the nearest key that would have been read.
class MappingReader {
 public:
  // `where` names the mapping in messages ("quantizers"). A node that is no mapping is a problem.
  MappingReader(const YamlNode& node, std::string where, Problems& problems);

  // The member, or nullptr; either way the key counts as known.
  const YamlNode* get(const std::string& key);
  // Like get, and a problem when it is missing.
  const YamlNode* require(const std::string& key);
  std::string text(const std::string& key, const std::string& otherwise);
  long long integer(const std::string& key, long long otherwise, long long minimum,
                    long long maximum);
  // Reports keys that were never asked for.
  void finish();

 private:
  const YamlNode& node_;
  std::string where_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace quench
