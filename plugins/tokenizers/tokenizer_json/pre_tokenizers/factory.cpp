#include <vector>

#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  void split(Pieces& pieces) const override {
    for (const auto& part : parts_) {
      part->split(pieces);
    }
  }
  bool byte_level() const override { return !parts_.empty() && parts_.back()->byte_level(); }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> make_sequence(const Entry& entry, int depth) {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  for (const Entry& part : sequence_parts(entry.member("pretokenizers"))) {
    // Bytes stay bytes here until the model reads them, so nothing may look at them in between.
    if (!parts.empty() && parts.back()->byte_level()) {
      part.unsupported("a pre-tokenizer after ByteLevel is not supported");
    }
    parts.push_back(make_pre_tokenizer(part, depth + 1));
  }
  return std::make_unique<PreTokenizerSequence>(std::move(parts));
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Entry& entry, int depth) {
  check_depth(entry, depth);
  const std::string type = entry.type();
  if (type == "ByteLevel") {
    return make_byte_level(entry);
  }
  if (type == "Split") {
    return make_split(entry);
  }
  if (type == "Metaspace") {
    return make_metaspace(entry);
  }
  if (type == "Digits") {
    return make_digits(entry);
  }
  if (type == "Sequence") {
    return make_sequence(entry, depth);
  }
  entry.unknown_type(type, "ByteLevel, Digits, Metaspace, Sequence, Split");
}

}  // namespace quench::tokenizers
