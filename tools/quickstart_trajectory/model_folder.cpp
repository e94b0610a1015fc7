#include "tools/quickstart_trajectory/model_folder.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace quickstart {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

ordered_json config(const Shape& shape) {
  return {{"architectures", {"GPTNeoXForCausalLM"}},
          {"model_type", "gpt_neox"},
          {"hidden_size", shape.width},
          {"intermediate_size", 4 * shape.width},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"vocab_size", shape.vocabulary},
          {"max_position_embeddings", shape.positions},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", shape.norm_epsilon},
          {"rotary_pct", shape.rotary_fraction},
          {"rotary_emb_base", 10000},
          {"use_parallel_residual", true},
          {"attention_bias", true},
          {"tie_word_embeddings", false},
          {"torch_dtype", "float32"}};
}

// safetensors: length of the header as 8 bytes, the header in JSON, padded to 8 bytes, the data.
std::string safetensors(const Transformer& model) {
  ordered_json header;
  std::string data;
  for (const Parameter& parameter : model.parameters()) {
    const auto bytes = static_cast<size_t>(parameter.value.numel()) * sizeof(float);
    const std::vector<int64_t> shape = parameter.value.sizes().vec();
    header[parameter.name] = {
        {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes}}};
    data.append(static_cast<const char*>(parameter.value.data_ptr()), bytes);
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (size_t i = 0; i < 8; ++i) {
    length += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  }
  return length + text + data;
}

std::string utf8(unsigned code_point) {
  if (code_point < 0x80) {
    return {static_cast<char>(code_point)};
  }
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

// Token id = byte. Byte-level BPE writes a byte as a printable character: itself where it is one,
// else the next unused one from U+0100 on (Radford et al. 2019).
ordered_json tokenizer() {
  ordered_json vocabulary;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    vocabulary[utf8(printable ? byte : next++)] = byte;
  }
  const ordered_json byte_level = {{"type", "ByteLevel"},
                                   {"add_prefix_space", false},
                                   {"trim_offsets", true},
                                   {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", ordered_json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocabulary},
            {"merges", ordered_json::array()}}}};
}

}  // namespace

void write_model(const fs::path& folder, const Transformer& model) {
  fs::create_directories(folder);
  write_file(folder / "config.json", config(model.shape()).dump(2) + "\n");
  write_file(folder / "model.safetensors", safetensors(model));
  write_file(folder / "tokenizer.json", tokenizer().dump(2) + "\n");
}

}  // namespace quickstart
