// Revisions of one list, as branches: those whose names differ only in digits behind the word for a
// step, in the order of the list, and every other one by itself.
#pragma once

#include <string>
#include <vector>

namespace quench {

struct RevisionGroup {
  std::string name;     // of the branch
  std::string pattern;  // with {step} and perhaps {tokens}; empty: the name has no place
  std::vector<std::string> revisions;
};

// Names that occur twice are taken once.
std::vector<RevisionGroup> group_revisions(const std::vector<std::string>& names);

}  // namespace quench
