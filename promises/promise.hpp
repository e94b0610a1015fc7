// What any plugin of a kind promises, each promise written once: tests/contract holds the plugins
// of this tree to all of them, `quench plugins check` any other.
#pragma once

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace quench::promises {

class Candidate;

// A promise that is not kept: what, got, wanted, on one line.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A promise that this plugin does not make, or that cannot be tried here: why.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Values>
[[noreturn]] void broken(fmt::format_string<Values...> text, Values&&... values) {
  throw Broken(fmt::format(text, std::forward<Values>(values)...));
}
template <typename... Values>
void expect(bool kept, fmt::format_string<Values...> text, Values&&... values) {
  if (!kept) {
    broken(text, std::forward<Values>(values)...);
  }
}
[[noreturn]] inline void skip(const char* why) {
  throw Skipped(why);
}

struct Promise {
  const char* text;  // "rows of zeros stay zero"
  void (*keep)(Candidate& candidate);
  // Nothing else can be tried of a plugin that breaks it.
  bool first = false;
};

// Of a kind of plugins, the first ones first; none for a kind that has no promises here.
std::span<const Promise> promises_of(std::string_view kind);

enum class Outcome { kKept, kBroken, kSkipped };

struct Verdict {
  Outcome outcome = Outcome::kKept;
  std::string why;  // where it is not kept
};

Verdict try_promise(const Promise& promise, Candidate& candidate);

}  // namespace quench::promises
