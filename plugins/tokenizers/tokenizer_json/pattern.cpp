#include "tokenizers/tokenizer_json/pattern.hpp"

#include "tokenizers/tokenizer_json/limits.hpp"

namespace quench::tokenizers {

namespace {

class Literal final : public Pattern {
 public:
  explicit Literal(std::string needle) : needle_(std::move(needle)) {}

  void for_each_match(std::string_view text,
                      const std::function<void(const Match&)>& take) const override {
    size_t at = text.find(needle_);
    while (at != std::string_view::npos) {
      take({at, at + needle_.size()});
      at = text.find(needle_, at + needle_.size());
    }
  }

 private:
  std::string needle_;
};

}  // namespace

std::unique_ptr<Pattern> make_pattern(const Entry& entry) {
  if (entry.value().member("Regex")) {
    return make_regex(entry.member("Regex"));
  }
  const Entry literal = entry.member("String");
  std::string needle = literal.string();
  if (needle.empty() || needle.size() > kPatternLimitBytes) {
    literal.reject("wanted 1 to {} bytes, got {}", kPatternLimitBytes, needle.size());
  }
  return std::make_unique<Literal>(std::move(needle));
}

}  // namespace quench::tokenizers
