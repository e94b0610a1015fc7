// Regular expressions of task files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quench::tasks {

// A compiled expression in PCRE2's syntax on UTF-8; `.` matches everything except a line feed. The
// work is bounded: a text that takes too much of it is an error.
class Pattern {
 public:
  explicit Pattern(const std::string& expression);  // INVALID_ARGUMENT names the place
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // All matches from left to right, without overlaps.
  std::vector<std::string> find_all(std::string_view text) const;
  // Replaces every match by `by`, which is taken literally.
  std::string substitute(std::string_view text, std::string_view by) const;

 private:
  struct Span {
    size_t first;
    size_t end;
  };
  // Visits matches one by one: a list of them would take many times the memory of the text.
  template <typename Visit>
  void for_each_match(std::string_view text, Visit&& visit) const;
  // Runs PCRE2 on the text from `at` on.
  int search(std::string_view text, size_t at, uint64_t& steps_left) const;

  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace quench::tasks
