// An open tokenizer of a plugin. Every call throws quench::Error whose message starts with
// "tokenizer <id>: ".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "core/plugin/handles/text_batch.hpp"
#include "quench/abi/kind/tokenizer.h"

namespace quench {

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
