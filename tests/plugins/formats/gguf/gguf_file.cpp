#include "tests/plugins/formats/gguf/gguf_file.hpp"

namespace quench::test {

GgufFile small_llama() {
  GgufFile file;
  file.add("general.architecture", "llama");
  file.add("llama.block_count", uint32_t{1});
  file.add("llama.context_length", uint32_t{64});
  file.add("llama.embedding_length", uint32_t{8});
  file.add("llama.feed_forward_length", uint32_t{12});
  file.add("llama.attention.head_count", uint32_t{2});
  file.add("llama.attention.head_count_kv", uint32_t{1});
  file.add("llama.attention.layer_norm_rms_epsilon", 1e-6F);
  return file;
}

}  // namespace quench::test
