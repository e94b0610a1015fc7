// What models do with words of which they can say that no merge crosses their borders: remember
// them, and cut texts into them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/shared/word_cache.hpp"

namespace quench::tokenizers {

// U+2581, which stands for a space.
inline constexpr std::string_view kSpaceMark = "\u2581";

// Whether the mark stands somewhere after another character.
bool has_inner_mark(std::string_view token);

// Calls `use` with the parts of `text`, cut before each mark that follows another character.
template <typename Use>
void cut_before_marks(std::string_view text, Use&& use) {
  size_t begin = 0;
  size_t mark = text.find(kSpaceMark);
  while (mark != std::string_view::npos) {
    const bool after_mark = mark >= begin + kSpaceMark.size() &&
                            text.substr(mark - kSpaceMark.size(), kSpaceMark.size()) == kSpaceMark;
    if (mark > begin && !after_mark) {
      use(text.substr(begin, mark - begin));
      begin = mark;
    }
    mark = text.find(kSpaceMark, mark + kSpaceMark.size());
  }
  use(text.substr(begin));
}

// The thread's cache as one model sees it. Thread-safe.
class CachedWords {
 public:
  // Throws Error(RESOURCE_EXHAUSTED) after 2^32 models.
  CachedWords();

  // Appends the ids of `word`: those that are remembered, else those that `compute` appends.
  template <typename Compute>
  void encode(std::string_view word, std::vector<int32_t>& ids, Compute&& compute) const {
    if (word.size() > WordCache::kLongestWordBytes) {
      compute(word, ids);
      return;
    }
    WordCache& cache = WordCache::of_thread();
    if (cache.find(owner_, word, ids)) {
      return;
    }
    const size_t before = ids.size();
    compute(word, ids);
    cache.store(owner_, word, ids.data() + before, ids.size() - before);
  }

 private:
  uint32_t owner_;
};

}  // namespace quench::tokenizers
