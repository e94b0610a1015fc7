#include "tokenizers/shared/cached_words.hpp"

#include <atomic>

#include "tokenizers/shared/message.hpp"

namespace quench::tokenizers {

namespace {

// Never given twice, so the caches of threads cannot mistake one model for another.
uint32_t next_owner() {
  static std::atomic<uint32_t> last{0};
  const uint32_t owner = ++last;
  if (owner == 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "too many tokenizers were opened in this process");
  }
  return owner;
}

}  // namespace

bool has_inner_mark(std::string_view token) {
  size_t i = 0;
  while (token.substr(i, kSpaceMark.size()) == kSpaceMark) {
    i += kSpaceMark.size();
  }
  return token.find(kSpaceMark, i) != std::string_view::npos;
}

CachedWords::CachedWords() : owner_(next_owner()) {}

}  // namespace quench::tokenizers
