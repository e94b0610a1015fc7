#include <algorithm>

#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"
#include "tokenizers/tokenizer_json/pattern.hpp"

namespace quench::tokenizers {

namespace {

// Replaces every match of a pattern by a fixed string.
class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  bool apply(std::string_view text, size_t limit, std::string& out,
             size_t& from_first) const override {
    bool found = false;
    size_t done = 0;
    size_t first = 0;  // bytes of `out` that come from the first character
    pattern_->for_each_match(text, [&](const Match& match) {
      if (!found) {
        out.clear();
        out.reserve(text.size());
        found = true;
      }
      check_rewritten(out.size() + match.begin - done + content_.size(), limit);
      first += std::min(from_first, match.begin) - std::min(from_first, done);
      first += match.end <= from_first ? content_.size() : 0;
      out.append(text, done, match.begin - done).append(content_);
      done = match.end;
    });
    if (found) {
      check_rewritten(out.size() + text.size() - done, limit);
      out.append(text, done);
      from_first = first + from_first - std::min(from_first, done);
    }
    return found;
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

}  // namespace

std::unique_ptr<Normalizer> make_replace(const Entry& entry) {
  return std::make_unique<Replace>(make_pattern(entry.member("pattern")),
                                   entry.member("content").string());
}

}  // namespace quench::tokenizers
