#include "quantizers/grid/module_rules.hpp"

#include <charconv>
#include <sstream>

#include "quench/kit/error.hpp"

namespace quench::quantizers {

namespace {

[[noreturn]] void refuse(size_t number, const std::string& word) {
  kit::fail(QUENCH_INVALID_ARGUMENT,
            "modules[%zu]: got \"%s\", wanted PATTERN and then skip, bits=2..8, group_size=N or "
            "sym=true|false",
            number, word.c_str());
}

int64_t whole_number(const std::string& text, size_t number, const std::string& word) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    refuse(number, word);
  }
  return value;
}

}  // namespace

// Linear in the text per star, because it backtracks only to the last star.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

void ModuleRules::read_word(const std::string& word, size_t number, Rule& rule) {
  const size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (word == "skip") {
    rule.skip = true;
  } else if (key == "bits") {
    rule.bits = whole_number(value, number, word);
    if (rule.bits < 2 || rule.bits > 8) {
      refuse(number, word);
    }
  } else if (key == "group_size") {
    rule.group_size = whole_number(value, number, word);
    if (rule.group_size < -1 || rule.group_size == 0) {
      refuse(number, word);
    }
  } else if (key == "sym" && (value == "true" || value == "false")) {
    rule.sym = value == "true" ? 1 : 0;
  } else {
    refuse(number, word);
  }
}

ModuleRules::ModuleRules(const std::vector<std::string>& rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    std::istringstream words(rules[i]);
    Rule rule;
    words >> rule.pattern;
    std::string word;
    bool says_something = false;
    while (words >> word) {
      read_word(word, i, rule);
      says_something = true;
    }
    if (rule.pattern.empty() || !says_something) {
      refuse(i, rules[i]);
    }
    rules_.push_back(std::move(rule));
  }
}

ModuleSetting ModuleRules::setting_of(std::string_view module, ModuleSetting usual) const {
  for (const Rule& rule : rules_) {
    if (matches(rule.pattern, module)) {
      usual.kind.bits = rule.bits != 0 ? rule.bits : usual.kind.bits;
      usual.kind.sym = rule.sym >= 0 ? rule.sym == 1 : usual.kind.sym;
      usual.group_size = rule.group_size != 0 ? rule.group_size : usual.group_size;
      usual.skip = rule.skip;
      break;
    }
  }
  return usual;
}

bool ModuleRules::fits(size_t rule, std::string_view module) const {
  return rule < rules_.size() && matches(rules_[rule].pattern, module);
}

}  // namespace quench::quantizers
