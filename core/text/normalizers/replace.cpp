#include "core/text/limits.hpp"
#include "core/text/normalizers/normalizer.hpp"
#include "core/text/pattern.hpp"

namespace quench::text {

namespace {

// Replaces every match of a pattern by a fixed string.
class Replace final : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  bool apply(std::string_view text, size_t limit, std::string& out) const override {
    std::vector<Match> matches;
    pattern_->find_all(text, matches);
    if (matches.empty()) {
      return false;
    }
    check_rewritten(size_after(text.size(), matches), limit);
    out.clear();
    out.reserve(text.size());
    size_t done = 0;
    for (const Match& match : matches) {
      out.append(text, done, match.begin - done).append(content_);
      done = match.end;
    }
    out.append(text, done);
    return true;
  }

 private:
  size_t size_after(size_t size, const std::vector<Match>& matches) const {
    for (const Match& match : matches) {
      size -= match.end - match.begin;
    }
    return size + matches.size() * content_.size();
  }

  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

}  // namespace

std::unique_ptr<Normalizer> make_replace(const Entry& entry) {
  return std::make_unique<Replace>(make_pattern(entry.member("pattern")),
                                   entry.member("content").string());
}

}  // namespace quench::text
