// Walks over the members of an object in canonical JSON without parsing the values: most readers of
// a hundred thousand records need a few members of each.
#pragma once

#include <string_view>

namespace quench {

class JsonMembers {
 public:
  // `object`: text that begins with '{'. Its bytes are verified, but any text is safe.
  explicit JsonMembers(std::string_view object);

  // Advances to the next member; false at the end or if the text is malformed (see malformed()).
  bool next();
  bool malformed() const { return malformed_; }
  // As spelled in the text, without quotes; escapes in a name stay.
  std::string_view name() const { return name_; }
  std::string_view value() const { return value_; }

 private:
  bool stop();

  const char* at_;
  const char* end_;
  bool first_ = true;
  bool malformed_ = false;
  std::string_view name_;
  std::string_view value_;
};

// The value of one member, or an empty view.
std::string_view json_member(std::string_view object, std::string_view name);

// The value at a dotted path, whose names may have dots themselves: {"train.lr": {"peak": 1}} has
// train.lr.peak. An empty view if there is none.
std::string_view json_at(std::string_view value, std::string_view path);

// A text value without its quotes; nothing if it is not a text or has escapes.
std::string_view plain_text(std::string_view value);

}  // namespace quench
