// The text part of Gemma 3's models of text and images (model_type gemma3), whose config has it as
// text_config, mostly without what is usual, and whose files have its weights under longer names.
#pragma once

#include <string>

#include "models/decoder/decoder.hpp"
#include "models/decoder/renamed_source.hpp"
#include "quench/kit/json.hpp"

namespace quench::gemma3_text {

bool has_text_part(const kit::Json& config);

// The config that a model of text alone would have. Throws UNSUPPORTED for keys beside it that are
// not understood.
kit::Json text_part(const kit::Json& config);

// Warns of keys beside the text part that nothing is known of.
void tell_unknown_keys(const kit::Json& config);

// Where a file has the weight of a text model: "model.x" as "language_model.model.x", or as
// "model.language_model.x", which later versions of transformers have in memory.
class TextNames {
 public:
  // By the names of a source; as most files have them without one.
  explicit TextNames(const kit::Source* source);
  // Names all of it so; the names of a text model stay as aliases.
  void rename(decoder::Architecture& made) const;
  // Shows the text part alone, and says in the log what it leaves out.
  void show(decoder::RenamedSource& source) const;

 private:
  std::string longer(const std::string& name) const;
  bool is_inner_ = false;
};

}  // namespace quench::gemma3_text
