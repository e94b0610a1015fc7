// An open tokenizer of a plugin. Every call throws quench::Error whose message starts with
// "tokenizer <id>: ".
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/tokenizer.h"

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

class TokenizerHandle {
 public:
  // `file`: the whole content; `name` stands for it in messages. `parameters`: complete, as
  // complete_parameters() returns them.
  TokenizerHandle(Catalog& catalog, const PluginDescription& description, std::string_view file,
                  const std::string& name, const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  // One more than the largest id.
  uint64_t vocabulary_size() const { return vocabulary_size_; }
  // The ids of every document; all are below vocabulary_size(). A document that cannot be encoded
  // is named by its number, from 0.
  EncodedBatch encode(const TextBatch& batch, bool add_special);

 private:
  std::string id_;
  PluginObject<&quench_tokenizer_table::close> encoder_;
  uint64_t vocabulary_size_ = 0;
};

}  // namespace quench
