// Documents on their way through a tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

// Texts, one after the other.
class TextBatch {
 public:
  void add(std::string_view document) {
    text_ += document;
    offsets_.push_back(text_.size());
  }
  void clear() {
    text_.clear();
    offsets_.resize(1);
  }
  size_t documents() const { return offsets_.size() - 1; }
  size_t bytes() const { return text_.size(); }
  size_t bytes_of(size_t document) const { return offsets_[document + 1] - offsets_[document]; }
  const std::string& text() const { return text_; }
  // [documents + 1], from 0.
  const std::vector<uint64_t>& offsets() const { return offsets_; }

 private:
  std::string text_;
  std::vector<uint64_t> offsets_ = {0};
};

// Their ids, in the same order.
struct EncodedBatch {
  std::vector<int32_t> ids;
  std::vector<uint64_t> offsets = {0};  // [documents + 1]

  size_t documents() const { return offsets.size() - 1; }
  std::span<const int32_t> document(size_t index) const {
    return std::span(ids).subspan(offsets[index], offsets[index + 1] - offsets[index]);
  }
};

}  // namespace quench
