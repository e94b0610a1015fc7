#include "tokenizers/shared/text_bounds.hpp"

#include "tokenizers/shared/message.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

void check_text(std::string_view text) {
  if (text.size() > kTextLimitBytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "text: {} bytes, wanted at most {}", text.size(),
         kTextLimitBytes);
  }
  if (const size_t invalid = first_invalid_utf8(text); invalid != std::string_view::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "text: byte {} (0x{:02x}) is not valid UTF-8", invalid,
         static_cast<unsigned char>(text[invalid]));
  }
}

void check_rewritten(size_t bytes, size_t limit) {
  if (bytes > limit) {
    fail(QUENCH_RESOURCE_EXHAUSTED,
         "text: at least {} bytes once it is rewritten, wanted at most {}", bytes, limit);
  }
}

}  // namespace quench::tokenizers
