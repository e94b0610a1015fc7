// Guesses the pattern that most names of a list follow.
#pragma once

#include <string>
#include <vector>

namespace quench {

struct GuessedRevisions {
  std::string pattern;              // "step{step}", or "" if the names show none
  std::vector<std::string> others;  // captures besides step and tokens: each value is a branch
  std::vector<std::string> matching;
  std::vector<std::string> rest;
};

// Names that differ only in digits form a group; the largest group gives the pattern. Digits after
// "tokens" are tokens, those after "step", "iter", "checkpoint" are the step; a single number is
// the step; digits that are equal in all names stay as they are.
GuessedRevisions guess_revisions(const std::vector<std::string>& names);

}  // namespace quench
