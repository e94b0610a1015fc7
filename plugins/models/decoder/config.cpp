#include "models/decoder/config.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace quench::decoder {

namespace {

// Keys that no decoder's forward depends on: text generation, training, classification heads, and
// the Transformers library's own bookkeeping. Dropout and initialization matter only in training.
constexpr std::array<std::string_view, 69> kHarmless = {
    "add_cross_attention",
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "is_llama_config",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "neftune_noise_alpha",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "resid_pdrop",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tie_last_hidden_states",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
};

bool harmless(const kit::Json& config, std::string_view key) {
  if (key == "pruned_heads") {  // complete configs always have this key
    return config.size("/pruned_heads") == 0;
  }
  // A leading underscore marks the library's own notes: _name_or_path, _commit_hash.
  return key.starts_with('_') ||
         std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end();
}

// A key from a file, shortened and cleaned for a message and a JSON pointer.
std::string printable(const std::string& key) {
  std::string text = key.substr(0, 60);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c == '\x7F'; }, '?');
  return text;
}

std::string pointer(const std::string& at, const std::string& key) {
  std::string path = at + "/";
  for (const char c : key) {
    path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return path;
}

}  // namespace

int64_t required_size(const kit::Json& config, const std::string& key, int64_t minimum,
                      int64_t maximum) {
  if (!config.has("/" + key)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s is missing", key.c_str());
  }
  const int64_t value = config.integer("/" + key);
  if (value < minimum || value > maximum) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %lld, wanted %lld..%lld", key.c_str(),
              static_cast<long long>(value), static_cast<long long>(minimum),
              static_cast<long long>(maximum));
  }
  return value;
}

double initializer_range(const kit::Json& config) {
  const double range = config.number_or("/initializer_range", 0.02);
  if (!(range >= 0.0 && range <= 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: initializer_range = %g, wanted 0..1", range);
  }
  return range;
}

std::optional<double> agreed_number(const kit::Json& config, std::span<const char* const> places) {
  std::optional<double> agreed;
  const char* first = nullptr;
  for (const char* place : places) {
    if (!config.has(place)) {
      continue;
    }
    const double value = config.number(place);
    if (agreed && *agreed != value) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g contradicts %s = %g", place + 1, value,
                first + 1, *agreed);
    }
    if (!agreed) {
      agreed = value;
      first = place;
    }
  }
  return agreed;
}

std::vector<std::string> unknown_keys(const kit::Json& config, const std::string& at,
                                      std::span<const std::string_view> understood) {
  std::vector<std::string> unknown;
  for (const std::string& key : config.keys(at)) {
    const bool known = std::find(understood.begin(), understood.end(), key) != understood.end() ||
                       (at.empty() && harmless(config, key)) || !config.has(pointer(at, key));
    if (!known) {
      unknown.push_back(printable(key));
    }
  }
  return unknown;
}

void refuse_unknown_keys(const kit::Json& config, const std::string& at,
                         std::span<const std::string_view> understood) {
  std::string unknown;
  for (const std::string& key : unknown_keys(config, at, understood)) {
    if (unknown.size() < 300) {
      unknown += (unknown.empty() ? "" : ", ") + key;
    }
  }
  if (!unknown.empty()) {
    kit::fail(QUENCH_UNSUPPORTED,
              "config: %s%s%s: not understood, and might change what the model computes",
              at.empty() ? "" : at.c_str() + 1, at.empty() ? "" : ": ", unknown.c_str());
  }
}

}  // namespace quench::decoder
