// What plugins warn of while a checkpoint's files are opened: kept for the records, shown once, and
// refused where the user asked for that (--strict).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quench {

// Hears the warnings of plugins on its own thread for as long as it lives; one inside another hears
// for both.
class HeardWarnings {
 public:
  // Of what plugins warn: it is shown, once; it is going to be refused, as a new model is drawn
  // from the config that they warn of, and is not shown; or only what those inside hear counts.
  enum class Fate { kShown, kRefused, kByInner };
  explicit HeardWarnings(Fate fate = Fate::kShown);
  ~HeardWarnings();
  HeardWarnings(const HeardWarnings&) = delete;
  HeardWarnings& operator=(const HeardWarnings&) = delete;

  // Each once, in the order in which they came; the first 50 of more.
  const std::vector<std::string>& lines() const { return lines_; }
  // Throws Error(INVALID_ARGUMENT) with all of them, if there are any and they are refused, here or
  // by strict().
  void check() const;

  // Whether all are refused: --strict. Set before work begins.
  static bool& strict();
  // Takes a warning of a plugin. Whether somebody hears it and it is not to be shown: it is
  // refused, or has been shown before by this process.
  static bool take(std::string_view module, std::string_view line);

 private:
  Fate fate_;
  HeardWarnings* outer_;
  std::vector<std::string> lines_;
};

}  // namespace quench
