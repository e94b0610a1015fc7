// The input is a tokenizer.model, and a text for it behind the first 16 bytes of 0xFF, if there
// are. Files that are no models must end in an Error and in nothing else, and ids must be of
// pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokenizers/sentencepiece/pipeline.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string border(16, '\xFF');
  const size_t cut = input.find(border);
  const std::string_view text = cut == std::string_view::npos ? " ab <s>\u2581 \u00e9e\u0301 "
                                                              : input.substr(cut + border.size());
  try {
    const quench::tokenizers::SentencePiecePipeline tokenizer(input.substr(0, cut), "fuzz");
    for (const int32_t id : tokenizer.encode(text, true)) {
      if (id < 0 || static_cast<size_t>(id) >= tokenizer.vocabulary_size()) {
        std::abort();
      }
    }
  } catch (const quench::kit::Error&) {
  }
  return 0;
}
