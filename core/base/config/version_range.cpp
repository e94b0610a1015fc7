#include "core/base/config/version_range.hpp"

#include <charconv>

#include "core/error.hpp"
#include "core/parse_text.hpp"

namespace quench {

bool VersionRange::read(std::string_view text, Numbers& numbers, bool with_suffix) {
  numbers = {};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto read = std::from_chars(at, end, numbers[i]);
    if (read.ec != std::errc()) {
      return false;
    }
    at = read.ptr;
    if (at == end || *at != '.') {
      break;
    }
    ++at;
  }
  return at == end ? text.back() != '.' : with_suffix;
}

VersionRange::VersionRange(std::string_view text) {
  for (std::string_view part : split(text, ',')) {
    part = trimmed(part);
    Condition condition{"==", {}};
    for (const std::string_view relation : {">=", "<=", "==", "!=", ">", "<"}) {
      if (part.starts_with(relation)) {
        condition.relation = relation;
        part = trimmed(part.substr(relation.size()));
        break;
      }
    }
    if (!read(part, condition.numbers, false)) {
      fail(QUENCH_INVALID_ARGUMENT, "got \"{}\", wanted versions like \">=0.2\" or \">=0.2,<1\"",
           printable(text));
    }
    conditions_.push_back(condition);
  }
}

bool VersionRange::contains(std::string_view version) const {
  Numbers numbers{};
  if (!read(version, numbers, true)) {
    return false;
  }
  for (const auto& [relation, bound] : conditions_) {
    const bool holds = relation == ">="   ? numbers >= bound
                       : relation == "<=" ? numbers <= bound
                       : relation == "!=" ? numbers != bound
                       : relation == ">"  ? numbers > bound
                       : relation == "<"  ? numbers < bound
                                          : numbers == bound;
    if (!holds) {
      return false;
    }
  }
  return true;
}

}  // namespace quench
