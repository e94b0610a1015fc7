#include "models/decoder/known_keys.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

namespace quench::decoder {

namespace {

constexpr std::string_view kGeneration = "chooses among next tokens, after the logits";
constexpr std::string_view kSpecial = "the id of a special token; the tokenizer's file decides";
constexpr std::string_view kTraining = "counts while training alone";
constexpr std::string_view kLabels = "of a classification head, which a language model lacks";
constexpr std::string_view kSequences = "of models that translate sequences";
constexpr std::string_view kReturns = "what a call returns beside the logits";
constexpr std::string_view kLoader = "which class or type a loader takes; the files decide";
constexpr std::string_view kNotes = "a note of the tool that wrote the file";
constexpr std::string_view kSameValues = "how the same values are computed";
constexpr std::string_view kLength = "how long a text may be, which no forward reads";
constexpr std::string_view kOff = "a feature that is off";

constexpr KnownKey kWithoutEffect[] = {
    {"add_cross_attention", kSequences},
    {"architectures", kLoader},
    {"attention_dropout", kTraining},
    {"attention_probs_dropout_prob", kTraining},
    {"attn_implementation", kSameValues},
    {"attn_pdrop", kTraining},
    {"auto_map", kLoader},
    {"bad_words_ids", kGeneration},
    {"begin_suppress_tokens", kGeneration},
    {"bos_token_id", kSpecial},
    {"chunk_size_feed_forward", kSameValues},
    {"classifier_dropout", kLabels},
    {"cross_attention_hidden_size", kSequences},
    {"custom_pipelines", kLoader},
    {"decoder_start_token_id", kSequences},
    {"diversity_penalty", kGeneration},
    {"do_sample", kGeneration},
    {"dtype", kLoader},
    {"early_stopping", kGeneration},
    {"embd_pdrop", kTraining},
    {"encoder_no_repeat_ngram_size", kGeneration},
    {"eos_token_id", kSpecial},
    {"exponential_decay_length_penalty", kGeneration},
    {"finetuning_task", kNotes},
    {"forced_bos_token_id", kGeneration},
    {"forced_eos_token_id", kGeneration},
    {"gradient_checkpointing", kTraining},
    {"hidden_dropout", kTraining},
    {"hidden_dropout_prob", kTraining},
    {"id2label", kLabels},
    {"initializer_range", kTraining},
    {"is_decoder", kSequences},
    {"is_encoder_decoder", kSequences},
    {"is_llama_config", kNotes},
    {"label2id", kLabels},
    {"length_penalty", kGeneration},
    {"max_length", kGeneration},
    {"max_sequence_length", kLength},
    {"min_length", kGeneration},
    {"model_max_length", kLength},
    {"model_type", kLoader},
    {"neftune_noise_alpha", kTraining},
    {"no_repeat_ngram_size", kGeneration},
    {"num_beam_groups", kGeneration},
    {"num_beams", kGeneration},
    {"num_return_sequences", kGeneration},
    {"output_attentions", kReturns},
    {"output_hidden_states", kReturns},
    {"output_scores", kReturns},
    {"pad_token_id", kSpecial},
    {"prefix", kGeneration},
    // How many parts a product is computed in, by an old kernel.
    {"pretraining_tp", kSameValues},
    {"problem_type", kLabels},
    {"pruned_heads", kOff, true},
    {"remove_invalid_values", kGeneration},
    {"repetition_penalty", kGeneration},
    {"resid_pdrop", kTraining},
    {"return_dict", kReturns},
    {"return_dict_in_generate", kReturns},
    {"sep_token_id", kSpecial},
    {"suppress_tokens", kGeneration},
    {"task_specific_params", kNotes},
    {"temperature", kGeneration},
    {"tf_legacy_loss", kTraining},
    {"tie_encoder_decoder", kSequences},
    {"tie_last_hidden_states", kSequences},
    {"tokenizer_class", kLoader},
    {"top_k", kGeneration},
    {"top_p", kGeneration},
    {"torch_dtype", kLoader},
    {"torchscript", kLoader},
    {"transformers.js_config", kLoader},
    {"transformers_version", kNotes},
    {"typical_p", kGeneration},
    {"unk_token_id", kSpecial},
    {"unsloth_fixed", kNotes},
    {"unsloth_version", kNotes},
    {"use_bfloat16", kLoader},
    {"use_cache", kSameValues},
    {"use_mrope", kOff, true},
    {"weight_decay", kTraining},
};

// Parts of names, between underscores, dots, digits and capitals.
constexpr std::string_view kWords[] = {
    "act",    "alibi",    "adapter",   "audio",   "block",    "blocks",     "cap",    "capping",
    "causal", "chunk",    "clip",      "conv",    "decay",    "dense",      "depth",  "dim",
    "dims",   "dilation", "eps",       "epsilon", "factor",   "ffn",        "freq",   "gate",
    "gated",  "gelu",     "global",    "glu",     "group",    "groups",     "head",   "heads",
    "hidden", "hybrid",   "inner",     "key",     "kernel",   "kv",         "latent", "layer",
    "layers", "linear",   "local",     "logit",   "logits",   "lora",       "mamba",  "merge",
    "mla",    "mlp",      "moe",       "mrope",   "mtp",      "multiplier", "mup",    "nextn",
    "nope",   "offset",   "parallel",  "partial", "pos",      "power",      "qk",     "qkv",
    "query",  "rank",     "recurrent", "relu",    "residual", "rms",        "rope",   "rotate",
    "routed", "router",   "routing",   "shared",  "shift",    "sigmoid",    "silu",   "size",
    "skip",   "sliding",  "softmax",   "sparse",  "sparsity", "ssm",        "state",  "stride",
    "swa",    "swiglu",   "theta",     "tie",     "tied",     "time",       "topk",   "transform",
    "tying",  "types",    "vision",    "vocab",   "weight",   "weights",    "width",  "yarn"};

// Wherever they stand in a part.
constexpr std::string_view kStems[] = {
    "activation", "attention", "attn",     "bias",  "compress", "embed", "expert",  "interleav",
    "mask",       "norm",      "position", "quant", "rotary",   "scal",  "softcap", "window"};

// What every family has, so that a key which switches it off changes the forward.
constexpr std::string_view kAlwaysThere[] = {
    "activation",    "attention",  "attn",      "causal", "ffn",        "final_norm",
    "gate",          "layer_norm", "layernorm", "mlp",    "norm",       "residual",
    "rms_norm",      "rmsnorm",    "rope",      "rotary", "rotary_emb", "rotary_embeddings",
    "self_attention"};

std::vector<std::string> parts_of(std::string_view key) {
  std::vector<std::string> parts(1);
  bool was_small = false;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte) == 0 || (std::isupper(byte) != 0 && was_small)) {
      parts.emplace_back();
    }
    if (std::isalpha(byte) != 0) {
      parts.back() += static_cast<char>(std::tolower(byte));
    }
    was_small = std::islower(byte) != 0;
  }
  return parts;
}

template <typename List>
bool is_among(const List& list, std::string_view text) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

bool names_a_part(std::string_view key) {
  const std::vector<std::string> parts = parts_of(key);
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return is_among(kWords, part) ||
           std::any_of(std::begin(kStems), std::end(kStems),
                       [&](std::string_view stem) { return part.find(stem) != std::string::npos; });
  });
}

bool is_always_there(std::string_view key) {
  for (const std::string_view before : {"use_", "has_", "is_", "with_", "enable_", "apply_"}) {
    if (key.starts_with(before)) {
      return is_among(kAlwaysThere, key.substr(before.size()));
    }
  }
  return is_among(kAlwaysThere, key);
}

// Null, false, "none", or empty.
bool is_off(const kit::JsonValue& value) {
  switch (value.type()) {
    case QUENCH_JSON_NULL:
      return true;
    case QUENCH_JSON_BOOLEAN:
      return !*value.boolean();
    case QUENCH_JSON_STRING:
      return *value.string() == "none" || *value.string() == "None";
    case QUENCH_JSON_ARRAY:
    case QUENCH_JSON_OBJECT:
      return value.size() == 0;
    default:
      return false;
  }
}

std::optional<kit::JsonValue> value_of(const kit::Json& config, std::string_view key) {
  const std::optional<kit::JsonValue> root = config.find("");
  return root ? root->member(key) : std::nullopt;
}

}  // namespace

std::span<const KnownKey> keys_without_effect() {
  return kWithoutEffect;
}

bool is_without_effect(const kit::Json& config, std::string_view key) {
  const std::optional<kit::JsonValue> value = value_of(config, key);
  // A leading underscore marks the library's own notes: _name_or_path, _commit_hash.
  if (!value || value->type() == QUENCH_JSON_NULL || key.starts_with('_')) {
    return true;
  }
  const auto* const found = std::lower_bound(
      std::begin(kWithoutEffect), std::end(kWithoutEffect), key,
      [](const KnownKey& known, std::string_view name) { return known.name < name; });
  return found != std::end(kWithoutEffect) && found->name == key &&
         (!found->only_off || is_off(*value));
}

bool speaks_of_the_forward(const kit::Json& config, std::string_view key) {
  const std::optional<kit::JsonValue> value = value_of(config, key);
  if (!value) {
    return false;
  }
  // An object of settings describes a part: text_config, audio_config.
  const bool is_part = names_a_part(key) || (key.ends_with("_config") && value->is_object());
  // "none" is a choice where others of a kind are left: position_embedding_type.
  const bool chooses = key.ends_with("_type") && value->type() == QUENCH_JSON_STRING;
  return (is_part && (!is_off(*value) || chooses)) || is_always_there(key);
}

}  // namespace quench::decoder
