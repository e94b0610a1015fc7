#include "run/manifest/revision_pattern.hpp"

#include <algorithm>
#include <set>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads the digits of `name` at `at`, times `unit`, and moves `at` behind them. Nothing if there
// are none, or too many.
std::optional<int64_t> read_digits(const std::string& name, size_t& at) {
  int64_t value = 0;
  const size_t first = at;
  while (at < name.size() && is_digit(name[at])) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, name[at] - '0', &value)) {
      return std::nullopt;
    }
    ++at;
  }
  return at == first ? std::nullopt : std::optional(value);
}

// Reads a count with its unit, if it has one.
std::optional<int64_t> read_count(const std::string& name, size_t& at, int64_t unit) {
  std::optional<int64_t> value = read_digits(name, at);
  if (value && unit == 1 && at < name.size() && unit_of(name[at]) > 0) {
    unit = unit_of(name[at++]);
  }
  if (!value || __builtin_mul_overflow(*value, unit, &*value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

RevisionPattern::RevisionPattern(std::string pattern) : pattern_(std::move(pattern)) {
  std::set<std::string> names;
  size_t at = 0;
  while (true) {
    const size_t open = pattern_.find('{', at);
    Piece piece;
    piece.literal = pattern_.substr(at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) {
      pieces_.push_back(piece);
      return;
    }
    const size_t close = pattern_.find('}', open);
    if (close == std::string::npos) {
      fail(QUENCH_INVALID_ARGUMENT, "the pattern \"{}\" has a {{ without a }}",
           printable(pattern_));
    }
    piece.capture = pattern_.substr(open + 1, close - open - 1);
    if (piece.capture.empty() || !names.insert(piece.capture).second) {
      fail(QUENCH_INVALID_ARGUMENT, "the pattern \"{}\" has an empty capture, or one twice",
           printable(pattern_));
    }
    const char behind = close + 1 < pattern_.size() ? pattern_[close + 1] : '\0';
    piece.unit = std::max<int64_t>(1, unit_of(behind));
    pieces_.push_back(piece);
    at = close + 1;
  }
}

std::optional<RevisionPattern::Match> RevisionPattern::match(const std::string& name) const {
  Match found;
  size_t at = 0;
  for (const Piece& piece : pieces_) {
    if (name.compare(at, piece.literal.size(), piece.literal) != 0) {
      return std::nullopt;
    }
    at += piece.literal.size();
    if (piece.capture.empty()) {
      break;
    }
    const size_t first = at;
    const std::optional<int64_t> value = read_count(name, at, piece.unit);
    if (!value) {
      return std::nullopt;
    }
    found[piece.capture] = {name.substr(first, at - first), *value};
  }
  return at == name.size() ? std::optional(found) : std::nullopt;
}

std::vector<std::string> RevisionPattern::captures() const {
  std::vector<std::string> names;
  for (const Piece& piece : pieces_) {
    if (!piece.capture.empty()) {
      names.push_back(piece.capture);
    }
  }
  return names;
}

std::string RevisionPattern::filled(const Match& values) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    out += piece.literal;
    if (const auto value = values.find(piece.capture); value != values.end()) {
      out += value->second.text;
    } else if (!piece.capture.empty()) {
      out += "{" + piece.capture + "}";
    }
  }
  return out;
}

NamedPosition named_position(const std::string& name) {
  const auto behind = [&](const std::string& word) -> std::optional<int64_t> {
    const size_t found = name.find(word);
    if (found == std::string::npos) {
      return std::nullopt;
    }
    size_t at = found + word.size();
    return read_count(name, at, 1);
  };
  return {behind("step"), behind("tokens")};
}

}  // namespace quench
