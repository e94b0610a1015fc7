// Revision patterns: read from a checkpoint's name when in training it was saved.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// A pattern such as "stage1-step{step}-tokens{tokens}B": text with captures. A capture matches
// digits and, unless the pattern has the unit, one of k, M, B, T behind them.
class RevisionPattern {
 public:
  // Throws Error(INVALID_ARGUMENT) for an unclosed brace or a repeated capture.
  explicit RevisionPattern(std::string pattern);

  struct Capture {
    std::string text;   // as in the name, without a unit that the pattern has
    int64_t value = 0;  // with its unit
  };
  // The captures by name, if the whole of `name` matches.
  using Match = std::map<std::string, Capture>;
  std::optional<Match> match(const std::string& name) const;

  const std::string& text() const { return pattern_; }
  // Names of the captures, in the order of the pattern.
  std::vector<std::string> captures() const;
  // The pattern's text with each capture in `values` replaced by its text.
  std::string filled(const Match& values) const;

 private:
  struct Piece {
    std::string literal;  // text before the capture
    std::string capture;  // "" at the end of the pattern
    int64_t unit = 1;     // 10^3, 10^6, ... if the literal after the capture begins with a unit
  };
  std::string pattern_;
  std::vector<Piece> pieces_;
};

// Step and tokens in their usual spelling, for names without a pattern: the digits after "step" and
// after "tokens" ("stage1-step1000-tokens3B").
struct NamedPosition {
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
};
NamedPosition named_position(const std::string& name);

}  // namespace quench
