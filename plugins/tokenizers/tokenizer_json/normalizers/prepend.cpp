#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"

namespace quench::tokenizers {

namespace {

// Puts a string before every stretch of text that is not empty.
class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  bool apply(std::string_view text, size_t limit, std::string& out,
             size_t& from_first) const override {
    if (text.empty() || prefix_.empty()) {
      return false;
    }
    check_rewritten(prefix_.size() + text.size(), limit);
    out.reserve(prefix_.size() + text.size());
    out.assign(prefix_).append(text);
    from_first += from_first > 0 ? prefix_.size() : 0;
    return true;
  }

 private:
  std::string prefix_;
};

}  // namespace

std::unique_ptr<Normalizer> make_prepend(const Entry& entry) {
  return std::make_unique<Prepend>(entry.member("prepend").string());
}

}  // namespace quench::tokenizers
