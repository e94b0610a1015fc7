#include "formats/gguf/architecture.hpp"

#include <algorithm>
#include <charconv>

namespace quench::gguf {

namespace {

constexpr std::array<NamePair, 3> kLlamaTensors = {
    {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}};
constexpr std::array<NamePair, 2> kOlmoTensors = {
    {{"token_embd", "model.embed_tokens"}, {"output", "lm_head"}}};
constexpr std::array<NamePair, 9> kLlamaBlock = {{{"attn_norm", "input_layernorm"},
                                                  {"attn_q", "self_attn.q_proj"},
                                                  {"attn_k", "self_attn.k_proj"},
                                                  {"attn_v", "self_attn.v_proj"},
                                                  {"attn_output", "self_attn.o_proj"},
                                                  {"ffn_norm", "post_attention_layernorm"},
                                                  {"ffn_gate", "mlp.gate_proj"},
                                                  {"ffn_up", "mlp.up_proj"},
                                                  {"ffn_down", "mlp.down_proj"}}};
constexpr std::array<NamePair, 7> kOlmoBlock = {{{"attn_q", "self_attn.q_proj"},
                                                 {"attn_k", "self_attn.k_proj"},
                                                 {"attn_v", "self_attn.v_proj"},
                                                 {"attn_output", "self_attn.o_proj"},
                                                 {"ffn_gate", "mlp.gate_proj"},
                                                 {"ffn_up", "mlp.up_proj"},
                                                 {"ffn_down", "mlp.down_proj"}}};
constexpr std::array<NamePair, 11> kOlmo2Block = {
    {{"attn_q", "self_attn.q_proj"},
     {"attn_k", "self_attn.k_proj"},
     {"attn_v", "self_attn.v_proj"},
     {"attn_output", "self_attn.o_proj"},
     {"attn_q_norm", "self_attn.q_norm"},
     {"attn_k_norm", "self_attn.k_norm"},
     {"post_attention_norm", "post_attention_layernorm"},
     {"ffn_gate", "mlp.gate_proj"},
     {"ffn_up", "mlp.up_proj"},
     {"ffn_down", "mlp.down_proj"},
     {"post_ffw_norm", "post_feedforward_layernorm"}}};
constexpr std::array<NamePair, 10> kApertusBlock = {{{"attn_norm", "attention_layernorm"},
                                                     {"attn_q", "self_attn.q_proj"},
                                                     {"attn_k", "self_attn.k_proj"},
                                                     {"attn_v", "self_attn.v_proj"},
                                                     {"attn_output", "self_attn.o_proj"},
                                                     {"attn_q_norm", "self_attn.q_norm"},
                                                     {"attn_k_norm", "self_attn.k_norm"},
                                                     {"ffn_norm", "feedforward_layernorm"},
                                                     {"ffn_up", "mlp.up_proj"},
                                                     {"ffn_down", "mlp.down_proj"}}};
constexpr std::array<std::string_view, 1> kOlmoKeys = {"attention.clamp_kqv"};

constexpr std::array<Architecture, 5> kArchitectures = {{
    {"llama", "llama", "LlamaForCausalLM", "silu", true, kLlamaTensors, kLlamaBlock, {}},
    {"olmo", "olmo", "OlmoForCausalLM", "silu", true, kOlmoTensors, kOlmoBlock, kOlmoKeys},
    {"olmo2", "olmo2", "Olmo2ForCausalLM", "silu", false, kLlamaTensors, kOlmo2Block, {}},
    {"smollm3", "smollm3", "SmolLM3ForCausalLM", "silu", true, kLlamaTensors, kLlamaBlock, {}},
    {"apertus", "apertus", "ApertusForCausalLM", "xielu", false, kLlamaTensors, kApertusBlock, {}},
}};

// The model's name of `part`, or "".
std::string_view look_up(std::span<const NamePair> names, std::string_view part) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [part](const NamePair& pair) { return pair.first == part; });
  return found == names.end() ? std::string_view() : found->second;
}

// Takes "N." from the front of `text`, where N is a number below `blocks` without leading zeros.
bool take_block(std::string_view& text, uint64_t blocks, std::string_view& number) {
  uint64_t block = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), block);
  number = text.substr(0, static_cast<size_t>(end - text.data()));
  text.remove_prefix(number.size());
  const bool plain = number.size() == 1 || !number.starts_with('0');
  if (fault != std::errc() || !plain || block >= blocks || !text.starts_with('.')) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

}  // namespace

const Architecture* find_architecture(std::string_view id) {
  const auto* found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(),
                   [id](const Architecture& architecture) { return architecture.id == id; });
  return found == kArchitectures.end() ? nullptr : found;
}

std::string names_of_architectures() {
  std::string names;
  for (const Architecture& architecture : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(architecture.id);
  }
  return names;
}

ModelName model_name(const Architecture& architecture, std::string_view stored, uint64_t blocks) {
  constexpr std::string_view kBlock = "blk.";
  const size_t dot = stored.rfind('.');
  const std::string_view suffix = dot == std::string_view::npos ? "" : stored.substr(dot);
  if (suffix != ".weight" && suffix != ".bias") {
    return {};
  }
  std::string_view part = stored.substr(0, dot);
  std::string name;
  std::string_view found;
  if (part.starts_with(kBlock)) {
    part.remove_prefix(kBlock.size());
    std::string_view number;
    if (!take_block(part, blocks, number)) {
      return {};
    }
    found = look_up(architecture.block_tensors, part);
    name = "model.layers." + std::string(number) + ".";
  } else {
    found = look_up(architecture.tensors, part);
  }
  if (found.empty()) {
    return {};
  }
  return {name + std::string(found) + std::string(suffix), part};
}

}  // namespace quench::gguf
