// The end of what a process printed, however much that was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench {

class OutputTail {
 public:
  static constexpr size_t kMostLines = 50;
  static constexpr size_t kMostBytes = size_t{64} << 10;

  void add(std::string_view printed);
  // The last lines, at most kMostLines of kMostBytes together, separated by newlines; all other
  // control characters and invalid UTF-8 are escaped. Empty lines are left out.
  std::string text() const;

 private:
  std::string kept_;  // at most 2 · kMostBytes
};

// `lines` as the end of a message of one line: separated by " | ", cut at the front to about
// `limit` bytes. "" for "".
std::string on_one_line(std::string_view lines, size_t limit = 600);

}  // namespace quench
