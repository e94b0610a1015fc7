#include "run/study/revision_groups.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace quench {

namespace {

// Of "stage2-ingredient1-step7000-tokens15B": "stage2-ingredient1-step", "-tokens", "".
struct PlacedName {
  std::string before;
  std::string between;  // with tokens; else all that follows the step
  std::string after;
  bool tokens = false;
};

// An empty `before`: the name has no place.
PlacedName placed_name(const std::string& name) {
  static const std::regex kStep(R"(^(.*(?:step|iter|ckpt|checkpoint)[-_]?)(\d+)([^\d].*)?$)",
                                std::regex::icase);
  static const std::regex kTokens(R"(^(.*tokens[-_]?)\d+[kMBT]?(.*)$)");
  std::smatch step;
  if (name.find_first_of("{}@") != std::string::npos || !std::regex_match(name, step, kStep)) {
    return {};
  }
  PlacedName out{step[1], step[3], "", false};
  std::smatch tokens;
  const std::string rest = step[3];
  if (std::regex_match(rest, tokens, kTokens)) {
    out.between = tokens[1];
    out.after = tokens[2];
    out.tokens = true;
  }
  return out;
}

// "stage2-ingredient1" of "stage2-ingredient1-step"; "run" where nothing is left.
std::string branch_name(const std::string& before) {
  static const std::regex kEnd("[-_.]*(?:step|iter|ckpt|checkpoint)?[-_.]*$", std::regex::icase);
  std::string out = before;
  for (std::string last; last != out;) {  // ckpt_step_
    last = out;
    out = std::regex_replace(out, kEnd, "", std::regex_constants::format_first_only);
  }
  return out.empty() ? "run" : out;
}

}  // namespace

std::vector<RevisionGroup> group_revisions(const std::vector<std::string>& names) {
  std::vector<RevisionGroup> out;
  std::map<std::string, size_t> by_pattern;
  std::set<std::string> seen;
  std::set<std::string> taken;  // names of branches
  const auto add = [&](std::string name, const std::string& pattern) {
    while (!taken.insert(name).second) {
      name += "'";
    }
    out.push_back({name, pattern, {}});
    return out.size() - 1;
  };
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      continue;
    }
    const PlacedName placed = placed_name(name);
    if (placed.before.empty()) {
      out[add(name, "")].revisions.push_back(name);
      continue;
    }
    const std::string pattern = placed.before + "{step}" + placed.between +
                                (placed.tokens ? "{tokens}" : "") + placed.after;
    const auto found = by_pattern.find(pattern);
    const size_t at = found != by_pattern.end()
                          ? found->second
                          : (by_pattern[pattern] = add(branch_name(placed.before), pattern));
    out[at].revisions.push_back(name);
  }
  return out;
}

}  // namespace quench
