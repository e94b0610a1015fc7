#include "tokenizers/tokenizer_json/models/model.hpp"

namespace quench::tokenizers {

std::unique_ptr<Model> make_model(const Entry& entry, bool byte_level) {
  // Files of the first years do not say what they are; those with merges are this.
  const bool untyped = !entry.optional_member("type") && entry.optional_member("merges");
  const std::string type = untyped ? "BPE" : entry.type();
  if (type == "BPE") {
    return make_bpe(entry, byte_level);
  }
  entry.unknown_type(type, "BPE");
}

}  // namespace quench::tokenizers
