#include "core/plugin/services/heard_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMostLines = 50;

thread_local HeardWarnings* innermost = nullptr;

// The same file is opened for a plan, for its hash and for its values.
bool is_shown_again(std::string_view module, std::string_view line) {
  static std::mutex mutex;
  static auto* shown = new std::set<std::string>;  // outlives static destructors, plugins' included
  const std::lock_guard lock(mutex);
  return !shown->insert(fmt::format("{}: {}", module, line)).second;
}

}  // namespace

HeardWarnings::HeardWarnings(Fate fate) : fate_(fate), outer_(innermost) {
  innermost = this;
}

HeardWarnings::~HeardWarnings() {
  innermost = outer_;
}

void HeardWarnings::check() const {
  if (!lines_.empty() && (strict() || fate_ == Fate::kRefused)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}{}", fmt::join(lines_, "; "),
         strict() ? " (--strict)" : "; refused, as a new model is drawn from it");
  }
}

bool& HeardWarnings::strict() {
  static bool refuses = false;
  return refuses;
}

bool HeardWarnings::take(std::string_view module, std::string_view line) {
  if (innermost == nullptr || innermost->fate_ == Fate::kByInner) {
    return false;
  }
  bool refused = strict();
  for (HeardWarnings* each = innermost; each != nullptr; each = each->outer_) {
    refused = refused || each->fate_ == Fate::kRefused;
    std::vector<std::string>& lines = each->lines_;
    if (lines.size() < kMostLines && std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.emplace_back(line);
    }
  }
  const bool told = is_shown_again(module, line);  // an error tells what is refused
  return refused || told;
}

}  // namespace quench
