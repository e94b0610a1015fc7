// A YAML document as a tree whose nodes know their place in the file.
//
// Reads the parser's events, because the document model of YAML libraries silently takes the first
// of two equal keys, follows aliases without bound and accepts cycles. Refuses the following with
// file, line and column: aliases and anchors, tags, merge keys, duplicate keys, keys that are not
// scalars, more than one document, control characters, invalid UTF-8, and documents beyond the
// limits below.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quench {

inline constexpr size_t kYamlMaxBytes = 16u << 20;
inline constexpr size_t kYamlMaxNodes = 1u << 20;
inline constexpr size_t kYamlMaxDepth = 64;

// A place in a text file; line and column count from 1.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  // "file:line:column"
  std::string text() const;
};

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  struct Member;

  Kind kind = Kind::kNull;
  Place place;
  std::string scalar;           // text of a scalar
  bool quoted = false;          // a quoted scalar is a string whatever it looks like
  std::vector<YamlNode> items;  // items of a sequence
  std::vector<Member> members;  // members of a mapping, in file order

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_mapping() const { return kind == Kind::kMapping; }
  // The member called `key`, or nullptr.
  const YamlNode* find(std::string_view key) const;
  // For messages: "a mapping", "an empty list", "the number 3", "the text \"x\"".
  std::string described() const;
};

struct YamlNode::Member {
  std::string key;
  Place key_place;
  YamlNode value;
};

// Parses text; messages show `name`, the file name. Throws Error(INVALID_ARGUMENT).
YamlNode parse_yaml(std::string_view text, const std::string& name);

// The node as JSON. A plain scalar becomes null, a boolean (true, false), an integer or a number
// only if it has JSON's spelling; everything else is a string: 010, yes, 0x4 and .inf are not
// numbers.
nlohmann::json yaml_to_json(const YamlNode& node);

}  // namespace quench
