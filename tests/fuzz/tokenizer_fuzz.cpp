// The input, up to the first 0xFF byte, is a tokenizer.json; what follows is a text for it. Text
// that is not UTF-8 and files that are no tokenizers must end in an Error and in nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.hpp"
#include "core/text/tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\xFF');
  const std::string_view text = cut == std::string_view::npos ? "a b" : input.substr(cut + 1);
  try {
    const auto tokenizer = quench::text::Tokenizer::from_json(input.substr(0, cut), "fuzz");
    tokenizer.encode(text, true);
  } catch (const quench::Error&) {
  }
  return 0;
}
