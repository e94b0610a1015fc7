// Walks over the members of an object in canonical JSON and leaves the values unparsed: most
// readers of a hundred thousand records want a few members of each.
#pragma once

#include <string_view>

namespace quench {

class JsonMembers {
 public:
  // `object`: text that begins with '{'; its bytes are verified, but anything is safe.
  explicit JsonMembers(std::string_view object);

  // The next member, or false at the end and where the text is no object; malformed() tells which.
  bool next();
  bool malformed() const { return malformed_; }
  // As spelled in the text, without quotes; a name with escapes is not unescaped.
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

// A text value without its quotes; nothing when it is no text or has escapes.
std::string_view plain_text(std::string_view value);

}  // namespace quench
