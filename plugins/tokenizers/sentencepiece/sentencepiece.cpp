// sentencepiece: files of SentencePiece (tokenizer.model), as Llama 2 and its kin bring one.
//
//   checkpoints: {model: ..., tokenizer: path/to/tokenizer.model}
//
// Unigram models (Kudo, 2018) and byte-pair encoding, with the file's own normalization, pieces
// that a user defined, and bytes to fall back on. Ids are those of SentencePiece's encoder; word
// and character models are refused.
#include "tokenizers/sentencepiece/pipeline.hpp"

namespace quench::tokenizers {

namespace {

class SentencePieceTokenizer final : public SentencePiecePipeline {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  // A message of protocol buffers (ModelProto) that begins with field 1, a piece, as all do.
  static int32_t probe(const kit::FileHead& file) {
    constexpr char kPiece = 1 << 3 | 2;
    if (file.bytes.empty() || file.bytes.front() != kPiece) {
      kit::fail(QUENCH_UNSUPPORTED, "it does not begin with a piece of a ModelProto");
    }
    return file.name == "tokenizer.model"  ? QUENCH_TOKENIZER_BY_NAME
           : file.name.ends_with(".model") ? 2
                                           : 1;
  }

  SentencePieceTokenizer(const Params&, std::string_view file, const std::string& name)
      : SentencePiecePipeline(file, name) {}
};

}  // namespace

}  // namespace quench::tokenizers

QUENCH_MODULE("quench.sentencepiece", "0.1.0",
              quench::kit::tokenizer<quench::tokenizers::SentencePieceTokenizer>(
                  {.id = "sentencepiece",
                   .version = "0.1.0",
                   .summary = "tokenizer.model: unigram and BPE models as SentencePiece does them.",
                   .reference = "Kudo and Richardson (2018)"}))
