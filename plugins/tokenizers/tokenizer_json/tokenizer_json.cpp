// tokenizer_json: files of the library `tokenizers` (Hugging Face), as most checkpoints bring one.
//
//   checkpoints: {model: ..., tokenizer: path/to/tokenizer.json}
//
// A file describes a pipeline: added tokens, normalizer, pre-tokenizer, model, post-processor. The
// model is byte-pair encoding (Sennrich et al., 2016), on bytes (GPT-2, NeoX, Llama 3) or on
// characters with bytes to fall back on (Llama 2's file converted). Ids are those of the reference;
// a component that is not known is an error, and nothing is approximated.
#include "tokenizers/tokenizer_json/pipeline.hpp"

namespace quench::tokenizers {

namespace {

class TokenizerJson final : public JsonPipeline {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  // An object in JSON, whatever its name: one that a user names may have any.
  static int32_t probe(const kit::FileHead& file) {
    const size_t first = file.bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || file.bytes[first] != '{') {
      kit::fail(QUENCH_UNSUPPORTED, "it does not begin with a JSON object");
    }
    constexpr int32_t kBeforeOtherFormats = 2 * QUENCH_TOKENIZER_BY_NAME;
    return file.name == "tokenizer.json" ? kBeforeOtherFormats : 1;
  }

  TokenizerJson(const Params&, std::string_view file, const std::string& name)
      : JsonPipeline(file, name) {}
};

}  // namespace

}  // namespace quench::tokenizers

QUENCH_MODULE(
    "quench.tokenizer_json", "0.1.0",
    quench::kit::tokenizer<quench::tokenizers::TokenizerJson>(
        {.id = "tokenizer_json",
         .version = "0.1.0",
         .summary = "tokenizer.json: byte-pair encoding as the library tokenizers does it.",
         .reference = "Sennrich et al. (2016), section 3.2"}))
