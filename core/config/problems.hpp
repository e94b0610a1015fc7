// Everything that is wrong with a manifest, reported at once.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config/yaml.hpp"

namespace quench {

class Problems {
 public:
  // Adds "file:line:column: message", once, however often it is found. Where there are 256 already
  // it throws them as throw_if_any does.
  void add(const Place& place, const std::string& message);
  // All of `others`.
  void add(const Problems& others);
  bool empty() const { return found_.empty(); }
  size_t size() const { return found_.size(); }
  // Throws Error(INVALID_ARGUMENT) with all messages in the order of their places, one a line,
  // unless there is none.
  void throw_if_any() const;

 private:
  std::vector<std::pair<Place, std::string>> found_;
  std::set<std::string> messages_;  // of `found_`
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
  // A count with a unit (4000B, 2k), or nothing when it is not there or is none.
  std::optional<int64_t> amount(const std::string& key);
  double number(const std::string& key, double otherwise, double minimum);
  bool flag(const std::string& key, bool otherwise);
  // Reports keys that were never asked for. `homes`: for keys that are known elsewhere, where.
  void finish(const std::vector<std::pair<std::string, std::string>>& homes = {});

 private:
  const YamlNode& node_;
  std::string where_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace quench
