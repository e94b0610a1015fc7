// Who may include whom; the table is at the top of docs/architecture.md.
#pragma once

#include <string>
#include <vector>

namespace quench::test {

struct Include {
  int line;
  std::string target;  // as written, without quotes or brackets
  bool quoted;
};

// The #include lines of a source text.
std::vector<Include> includes_of(const std::string& text);

// Why `file` (relative to the project's root) may not have this include, or "".
std::string objection(const std::string& file, const Include& include);

}  // namespace quench::test
