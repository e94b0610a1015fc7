#define PCRE2_CODE_UNIT_WIDTH 8
#include "metrics/tasks/pattern.hpp"

#include <pcre2.h>

#include <algorithm>

#include "metrics/tasks/python_text.hpp"
#include "quench/kit/error.hpp"

namespace quench::tasks {

namespace {

// Steps of all searches in one text together: a search starts after every match, so a limit per
// search would allow this limit times the text's length. PCRE2 reports only that a search exceeded
// its limit, not how many steps it took. So a search first gets few steps, then ten times as many
// until they suffice. All limits except the first count.
constexpr uint32_t kUncountedSteps = 256;
constexpr uint64_t kStepsOfAnyText = 1u << 22;  // takes a fraction of a second
constexpr uint64_t kStepsPerByte = 256;
constexpr uint32_t kDepthLimit = 1u << 16;

std::string message_of(int code) {
  PCRE2_UCHAR text[200];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Compiled {
  std::string expression;
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
};

Pattern::Pattern(const std::string& expression) : compiled_(std::make_unique<Compiled>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled_->expression = expression;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()),
                                  expression.size(), PCRE2_UTF, &error, &at, nullptr);
  if (compiled_->code == nullptr) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "regular expression `%s`, at %zu: %s", expression.c_str(),
              static_cast<size_t>(at), message_of(error).c_str());
  }
  compiled_->data = pcre2_match_data_create_from_pattern(compiled_->code, nullptr);
  compiled_->context = pcre2_match_context_create(nullptr);
  pcre2_set_depth_limit(compiled_->context, kDepthLimit);
}

Pattern::~Pattern() {
  pcre2_match_context_free(compiled_->context);
  pcre2_match_data_free(compiled_->data);
  pcre2_code_free(compiled_->code);
}

int Pattern::search(std::string_view text, size_t at, uint64_t& steps_left) const {
  // Checks once that the text is UTF-8, not again after every match.
  const uint32_t options = at == 0 ? 0 : PCRE2_NO_UTF_CHECK;
  for (uint64_t given = kUncountedSteps;; given *= 10) {
    if (given > kUncountedSteps) {
      given = std::min({given, steps_left, uint64_t{UINT32_MAX}});
      steps_left -= given;
    }
    pcre2_set_match_limit(compiled_->context, static_cast<uint32_t>(given));
    const int found = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), at, options, compiled_->data, compiled_->context);
    if (found != PCRE2_ERROR_MATCHLIMIT || steps_left == 0) {
      return found;
    }
  }
}

template <typename Visit>
void Pattern::for_each_match(std::string_view text, Visit&& visit) const {
  size_t at = 0;
  uint64_t steps_left = kStepsOfAnyText + kStepsPerByte * text.size();
  while (at <= text.size()) {
    const int found = search(text, at, steps_left);
    if (found == PCRE2_ERROR_NOMATCH) {
      break;
    }
    if (found < 0) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "regular expression `%s`: %s",
                compiled_->expression.c_str(), message_of(found).c_str());
    }
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(compiled_->data);
    const Span match{span[0], span[1]};
    visit(match);
    at = match.end;
    if (match.first == match.end) {  // an empty match: continue after the next character
      ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
        ++at;
      }
    }
  }
}

std::vector<std::string> Pattern::find_all(std::string_view text) const {
  std::vector<std::string> out;
  for_each_match(text, [&](const Span& span) {
    out.emplace_back(text.substr(span.first, span.end - span.first));
  });
  return out;
}

std::string Pattern::substitute(std::string_view text, std::string_view by) const {
  std::string out;
  size_t at = 0;
  for_each_match(text, [&](const Span& span) {
    out += text.substr(at, span.first - at);
    out += by;
    check_length(out.size());
    at = span.end;
  });
  return out += text.substr(at);
}

}  // namespace quench::tasks
