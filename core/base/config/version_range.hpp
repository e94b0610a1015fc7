// Ranges of versions that a manifest accepts: ">=0.2", ">=0.2,<1", "1.2.3".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

class VersionRange {
 public:
  // Parses conditions (>=, >, <=, <, ==, !=, or nothing for ==) joined by commas; all must hold.
  // Throws Error(INVALID_ARGUMENT).
  explicit VersionRange(std::string_view text);
  // Numbers that a version leaves out are 0; text after the third number (-rc1) is ignored.
  bool contains(std::string_view version) const;

 private:
  using Numbers = std::array<uint64_t, 3>;
  struct Condition {
    std::string relation;
    Numbers numbers;
  };
  static bool read(std::string_view text, Numbers& numbers, bool with_suffix);
  std::vector<Condition> conditions_;
};

}  // namespace quench
