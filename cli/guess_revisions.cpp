#include "cli/guess_revisions.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "run/manifest/revision_pattern.hpp"

namespace quench {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A name split at its digits: literals.size() == numbers.size() + 1.
struct Cut {
  std::vector<std::string> literals = {""};
  std::vector<std::string> numbers;
};

Cut cut(const std::string& name) {
  Cut out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) {
      out.literals.back() += name[i];
      continue;
    }
    if (i == 0 || !is_digit(name[i - 1])) {
      out.numbers.emplace_back();
      out.literals.emplace_back();
    }
    out.numbers.back() += name[i];
  }
  return out;
}

bool ends_with_any(std::string literal, std::initializer_list<const char*> words) {
  while (!literal.empty() && (literal.back() == '-' || literal.back() == '_')) {
    literal.pop_back();
  }
  std::transform(literal.begin(), literal.end(), literal.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return literal.ends_with(word); });
}

// The capture for each number of a group's names; "" for a number that never changes.
std::vector<std::string> captures_of(const std::vector<Cut>& cuts) {
  const Cut& first = cuts.front();
  std::vector<std::string> out(first.numbers.size());
  std::vector<size_t> open;  // numbers that vary and whose word has no meaning
  for (size_t i = 0; i < out.size(); ++i) {
    const auto free = [&](const char* name) {
      return std::find(out.begin(), out.end(), name) == out.end();
    };
    const bool varies = std::any_of(cuts.begin(), cuts.end(), [&](const Cut& one) {
      return one.numbers[i] != first.numbers[i];
    });
    if (ends_with_any(first.literals[i], {"tokens", "token"}) && free("tokens")) {
      out[i] = "tokens";
    } else if (ends_with_any(first.literals[i],
                             {"step", "steps", "iter", "iteration", "checkpoint", "ckpt"}) &&
               free("step")) {
      out[i] = "step";
    } else if (varies) {
      open.push_back(i);
    }
  }
  const bool known = std::any_of(out.begin(), out.end(),
                                 [](const std::string& capture) { return !capture.empty(); });
  if (!known && open.size() == 1) {
    out[open[0]] = "step";
    return out;
  }
  char letter = 'i';
  for (const size_t i : open) {
    out[i] = std::string(1, letter++);
  }
  return out;
}

}  // namespace

GuessedRevisions guess_revisions(const std::vector<std::string>& names) {
  std::map<std::vector<std::string>, std::vector<std::string>> groups;  // names by their literals
  for (const std::string& name : names) {
    if (name.find_first_of("{}@") == std::string::npos) {
      groups[cut(name).literals].push_back(name);
    }
  }
  GuessedRevisions out;
  for (const auto& [literals, members] : groups) {
    if (literals.size() > 1 && literals.size() < 8 && members.size() > out.matching.size()) {
      out.matching = members;
    }
  }
  if (out.matching.empty()) {
    out.rest = names;
    return out;
  }
  std::vector<Cut> cuts;
  for (const std::string& name : out.matching) {
    cuts.push_back(cut(name));
  }
  const std::vector<std::string> captures = captures_of(cuts);
  for (size_t i = 0; i < captures.size(); ++i) {
    out.pattern +=
        cuts[0].literals[i] + (captures[i].empty() ? cuts[0].numbers[i] : "{" + captures[i] + "}");
    if (!captures[i].empty() && captures[i] != "step" && captures[i] != "tokens") {
      out.others.push_back(captures[i]);
    }
  }
  out.pattern += cuts[0].literals.back();
  const std::set<std::string> taken(out.matching.begin(), out.matching.end());
  for (const std::string& name : names) {
    if (!taken.contains(name)) {
      out.rest.push_back(name);
    }
  }
  return out;
}

}  // namespace quench
