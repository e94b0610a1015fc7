// Regular expressions of task files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quench::tasks {

// A compiled expression in PCRE2's syntax on UTF-8, `.` matching all but a line feed. Work is
// bounded: a text on which it needs too much is an error.
class Pattern {
 public:
  explicit Pattern(const std::string& expression);  // INVALID_ARGUMENT with the place
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // All matches from left to right, none overlapping another.
  std::vector<std::string> find_all(std::string_view text) const;
  // Every match replaced by `by`, taken literally.
  std::string substitute(std::string_view text, std::string_view by) const;

 private:
  struct Span {
    size_t first;
    size_t end;
  };
  // A list of all matches would be many times as long as the text.
  template <typename Visit>
  void for_each_match(std::string_view text, Visit&& visit) const;
  // What PCRE2 makes of the text from `at` on.
  int search(std::string_view text, size_t at, uint64_t& steps_left) const;

  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace quench::tasks
