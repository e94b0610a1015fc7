// The input, up to the first 0xFF byte, is a tokenizer.json; what follows is a text for it. Text
// that is not UTF-8 and files that are no tokenizers must end in an Error and in nothing else, and
// ids must be of the vocabulary.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/plugin/services/host_services.hpp"
#include "tokenizers/tokenizer_json/pipeline.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quench::kit::current_host = quench::HostServices::instance().host_for("fuzz");
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\xFF');
  const std::string_view text = cut == std::string_view::npos ? "a b" : input.substr(cut + 1);
  try {
    const quench::tokenizers::JsonPipeline tokenizer(input.substr(0, cut), "fuzz");
    for (const int32_t id : tokenizer.encode(text, true)) {
      if (id < 0 || static_cast<size_t>(id) >= tokenizer.vocabulary_size()) {
        std::abort();
      }
    }
  } catch (const quench::kit::Error&) {
  }
  return 0;
}
