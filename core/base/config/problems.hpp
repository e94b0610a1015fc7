// Collects everything that is wrong with a manifest and reports it at once.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config/yaml.hpp"
#include "core/error.hpp"

namespace quench {

class Problems {
 public:
  // Adds "file:line:column: message", once even if it is found repeatedly. Throws like throw_if_any
  // if there are 256 problems already.
  void add(const Place& place, const std::string& message);
  // Adds what an error that is being handled says, behind `before`. What the user need not change
  // is no problem: CANCELLED and UNAVAILABLE are thrown on, the latter with its place.
  void add(const Place& place, const Error& error, const std::string& before = "");
  // Adds all problems of `others`.
  void add(const Problems& others);
  bool empty() const { return found_.empty(); }
  size_t size() const { return found_.size(); }
  // Throws Error(INVALID_ARGUMENT) with all messages in the order of their places, one per line;
  // does nothing if there are none.
  void throw_if_any() const;

 private:
  std::vector<std::pair<Place, std::string>> found_;
  std::set<std::string> messages_;  // the messages of `found_`
};

// Reads the members of one mapping and then knows which keys were not asked for. An unread key is
// an error that names the nearest known key.
class MappingReader {
 public:
  // `where` names the mapping in messages ("quantizers"). Reports a node that is not a mapping.
  MappingReader(const YamlNode& node, std::string where, Problems& problems);

  // Returns the member, or nullptr; either way the key is known from now on.
  const YamlNode* get(const std::string& key);
  // Like get, but reports a missing member.
  const YamlNode* require(const std::string& key);
  // Adds "where: message" at the place.
  void add(const Place& place, const std::string& message);
  std::string text(const std::string& key, const std::string& otherwise);
  long long integer(const std::string& key, long long otherwise, long long minimum,
                    long long maximum);
  // A count with a unit (4000B, 2k); nothing if the member is missing or malformed.
  std::optional<int64_t> amount(const std::string& key);
  double number(const std::string& key, double otherwise, double minimum);
  bool flag(const std::string& key, bool otherwise);
  // Reports keys that were not asked for; `homes` says which section knows such a key.
  void finish(const std::vector<std::pair<std::string, std::string>>& homes = {});

  const YamlNode& node() const { return node_; }
  const std::string& where() const { return where_; }
  Problems& problems() const { return problems_; }

 private:
  const YamlNode& node_;
  std::string where_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace quench
