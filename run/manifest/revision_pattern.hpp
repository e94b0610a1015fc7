// Revision patterns: what a checkpoint's name says about where in training it was taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// A pattern like "stage1-step{step}-tokens{tokens}B": text with captures. A capture matches digits
// and, unless the pattern writes the unit itself, one of k, M, B, T behind them.
class RevisionPattern {
 public:
  // Throws Error(INVALID_ARGUMENT) for a brace that is not closed or a capture given twice.
  explicit RevisionPattern(std::string pattern);

  struct Capture {
    std::string text;   // as in the name, without a unit of the pattern's
    int64_t value = 0;  // with its unit
  };
  // The captures by their names, if all of `name` matches.
  using Match = std::map<std::string, Capture>;
  std::optional<Match> match(const std::string& name) const;

  const std::string& text() const { return pattern_; }
  // Names of the captures, in the order of the pattern.
  std::vector<std::string> captures() const;
  // The text with each capture that `values` has replaced by its text.
  std::string filled(const Match& values) const;

 private:
  struct Piece {
    std::string literal;  // what comes before the capture
    std::string capture;  // "" at the end of the pattern
    int64_t unit = 1;     // 10^3, 10^6, ... where the literal behind the capture begins with a unit
  };
  std::string pattern_;
  std::vector<Piece> pieces_;
};

// Step and tokens as names commonly spell them, for names without a pattern: the digits behind
// "step" and behind "tokens" ("stage1-step1000-tokens3B").
struct NamedPosition {
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
};
NamedPosition named_position(const std::string& name);

}  // namespace quench
