#include <vector>

#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"

namespace quench::tokenizers {

namespace {

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> parts)
      : parts_(std::move(parts)) {}

  bool apply(std::string_view text, size_t limit, std::string& out,
             size_t& from_first) const override {
    std::string current;
    bool changed = false;
    for (const auto& part : parts_) {
      std::string next;
      if (part->apply(changed ? std::string_view(current) : text, limit, next, from_first)) {
        current = std::move(next);
        changed = true;
      }
    }
    if (changed) {
      out = std::move(current);
    }
    return changed;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Entry& entry, int depth) {
  check_depth(entry, depth);
  const std::string type = entry.type();
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    return make_unicode_form(type);
  }
  if (type == "Prepend") {
    return make_prepend(entry);
  }
  if (type == "Replace") {
    return make_replace(entry);
  }
  if (type == "Sequence") {
    std::vector<std::unique_ptr<Normalizer>> parts;
    for (const Entry& part : sequence_parts(entry.member("normalizers"))) {
      parts.push_back(make_normalizer(part, depth + 1));
    }
    return std::make_unique<NormalizerSequence>(std::move(parts));
  }
  entry.unknown_type(type, "NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence");
}

}  // namespace quench::tokenizers
