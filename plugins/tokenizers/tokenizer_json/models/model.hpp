// A model turns one word into ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of a word that is not empty. Thread-safe.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  // Of an entry of the vocabulary as the file spells it.
  virtual std::optional<int32_t> id_of(std::string_view token) const = 0;
  // The entry with that id exists.
  virtual bool has_id(int32_t id) const = 0;
  // How many entries there are, and one more than the largest id.
  virtual size_t size() const = 0;
  virtual int32_t id_count() const = 0;
};

// By "type"; an unknown one is an error that names it. With `byte_level` the words come as bytes.
std::unique_ptr<Model> make_model(const Entry& entry, bool byte_level);

std::unique_ptr<Model> make_bpe(const Entry& entry, bool byte_level);

}  // namespace quench::tokenizers
