// From a list of names to the pattern that most of them follow.
#pragma once

#include <string>
#include <vector>

namespace quench {

struct GuessedRevisions {
  std::string pattern;              // "step{step}", or "" where the names show none
  std::vector<std::string> others;  // captures beside step and tokens: each value is a branch
  std::vector<std::string> matching;
  std::vector<std::string> rest;
};

// Names that differ only in digits are a group; the largest one makes the pattern. Digits behind
// "tokens" are tokens, those behind "step", "iter", "checkpoint" the step; a single number is the
// step; digits that are the same everywhere stay as they are.
GuessedRevisions guess_revisions(const std::vector<std::string>& names);

}  // namespace quench
