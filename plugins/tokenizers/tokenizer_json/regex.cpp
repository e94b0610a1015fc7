// Regular expressions on PCRE2's just-in-time compiler, with limits on every search.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/pattern.hpp"

namespace quench::tokenizers {

namespace {

// Backtracking steps. A search begins again after every match, so that a limit on each would be one
// on the text times its length; what all searches of a text may take together is bounded instead.
// PCRE2 does not say how many steps a search took, only that it took more than it was given: a
// search gets few, and on from there ten times as many until they are enough; what it was given
// counts. Few steps are not counted, as every search in real text takes some.
constexpr uint32_t kUncountedSteps = 256;
constexpr uint64_t kStepsOfAnyText = 20'000'000;  // some tenths of a second
constexpr uint64_t kStepsPerByte = 256;
constexpr size_t kStackStartBytes = size_t{32} << 10;
constexpr size_t kStackLimitBytes = size_t{4} << 20;

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Release<pcre2_code_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Release<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>>;
using Stack = std::unique_ptr<pcre2_jit_stack, Release<pcre2_jit_stack_free>>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// What a thread needs to search; one for all patterns, since only the whole match is asked for.
struct Searcher {
  Searcher()
      : data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kStackStartBytes, kStackLimitBytes, nullptr)) {
    if (data == nullptr || context == nullptr || stack == nullptr) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "no memory to search with a regular expression");
    }
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  MatchData data;
  MatchContext context;
  Stack stack;
};

class Regex final : public Pattern {
 public:
  Regex(Code code, std::string place) : code_(std::move(code)), place_(std::move(place)) {}

  void for_each_match(std::string_view text,
                      const std::function<void(const Match&)>& take) const override {
    thread_local Searcher searcher;
    uint64_t steps_left = kStepsOfAnyText + kStepsPerByte * text.size();
    size_t at = 0;
    size_t last_end = std::string_view::npos;
    while (at <= text.size()) {
      const int found = search(text, at, searcher, steps_left);
      if (found == PCRE2_ERROR_NOMATCH) {
        return;
      }
      if (found < 0) {
        fail(QUENCH_RESOURCE_EXHAUSTED, "{}: gave up on the text at byte {}: {}", place_, at,
             message_of(found));
      }
      const size_t* bounds = pcre2_get_ovector_pointer(searcher.data.get());
      const Match match{bounds[0], bounds[1]};
      if (match.begin == match.end && match.end == last_end) {
        at += at < text.size() ? sequence_length(text[at]) : 1;
        continue;
      }
      // \K is refused by the translation, so a match never begins before the search.
      take(match);
      at = last_end = match.end;
    }
  }

 private:
  int search(std::string_view text, size_t at, Searcher& searcher, uint64_t& steps_left) const {
    for (uint64_t given = kUncountedSteps;; given *= 10) {
      if (given > kUncountedSteps) {
        given = std::min({given, steps_left, uint64_t{UINT32_MAX}});
        steps_left -= given;
      }
      pcre2_set_match_limit(searcher.context.get(), static_cast<uint32_t>(given));
      const int found =
          pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                      PCRE2_NO_UTF_CHECK, searcher.data.get(), searcher.context.get());
      if (found != PCRE2_ERROR_MATCHLIMIT || steps_left == 0) {
        return found;
      }
    }
  }

  Code code_;
  std::string place_;
};

}  // namespace

std::unique_ptr<Pattern> make_regex(const Entry& entry) {
  const std::string pattern = translate_regex(entry);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "no memory to compile a regular expression");
  }
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  size_t offset = 0;
  // Ruby's ^ and $ match at every line.
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                          &offset, context.get()));
  if (code == nullptr) {
    entry.reject("regular expression \"{}\": {}", printable(pattern), message_of(error));
  }
  if (const int compiled = pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE); compiled != 0) {
    entry.reject("regular expression \"{}\": {}", printable(pattern), message_of(compiled));
  }
  return std::make_unique<Regex>(std::move(code), entry.location());
}

}  // namespace quench::tokenizers
