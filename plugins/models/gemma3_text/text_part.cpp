#include "models/gemma3_text/text_part.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <string_view>

#include "models/decoder/config.hpp"
#include "models/decoder/llama_config.hpp"
#include "quench/kit/host.hpp"

namespace quench::gemma3_text {

namespace {

// What transformers' Gemma3TextConfig has where text_config says nothing.
constexpr std::string_view kUsual = R"({
  "head_dim": 256, "hidden_size": 2304, "intermediate_size": 9216,
  "max_position_embeddings": 131072, "model_type": "gemma3_text", "num_attention_heads": 8,
  "num_hidden_layers": 26, "num_key_value_heads": 4, "rms_norm_eps": 1e-6, "sliding_window": 4096,
  "vocab_size": 262208})";

constexpr std::array<std::string_view, 7> kBeside = {
    "boi_token_index", "eoi_token_index",     "image_token_index", "mm_tokens_per_image",
    "text_config",     "tie_word_embeddings", "vision_config"};

constexpr std::string_view kModel = "model.";
constexpr std::string_view kOuter = "language_model.";
constexpr std::string_view kInner = "model.language_model.";

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    if (static_cast<unsigned char>(c) < ' ') {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", c);
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string text_of(const kit::JsonValue& value) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ",") + part; };
  switch (value.type()) {
    case QUENCH_JSON_OBJECT:
      value.each_member([&](std::string_view key, const kit::JsonValue& member) {
        add(json_string(key) + ":" + text_of(member));
      });
      return "{" + out + "}";
    case QUENCH_JSON_ARRAY:
      for (uint64_t i = 0; i < value.size(); ++i) {
        add(text_of(*value.element(i)));
      }
      return "[" + out + "]";
    case QUENCH_JSON_STRING:
      return json_string(*value.string());
    case QUENCH_JSON_BOOLEAN:
      return *value.boolean() ? "true" : "false";
    case QUENCH_JSON_NULL:
      return "null";
    default: {
      std::array<char, 40> digits{};
      const auto end = value.integer()
                           ? std::to_chars(digits.begin(), digits.end(), *value.integer()).ptr
                           : std::to_chars(digits.begin(), digits.end(), *value.number()).ptr;
      return {digits.begin(), end};
    }
  }
}

}  // namespace

bool has_text_part(const kit::Json& config) {
  return config.string_or("/model_type", "") == "gemma3" &&
         config.type("/text_config") == QUENCH_JSON_OBJECT;
}

kit::Json text_part(const kit::Json& config) {
  decoder::refuse_unknown_keys(config, "", kBeside);
  decoder::require_boolean(config, "tie_word_embeddings", true);
  const kit::Json usual(kUsual.data(), kUsual.size());
  const kit::JsonValue own = *config.find("/text_config");
  std::string text = text_of(own);
  text.pop_back();
  for (const std::string& key : usual.keys("")) {
    if (!own.member(key)) {
      text +=
          (text.size() > 1 ? "," : "") + json_string(key) + ":" + text_of(*usual.find("/" + key));
    }
  }
  text += "}";
  return {text.data(), text.size()};
}

void tell_unknown_keys(const kit::Json& config) {
  decoder::tell_unknown_keys(config, kBeside);
}

TextNames::TextNames(const kit::Source* source) {
  for (uint64_t i = 0; source != nullptr && i < source->count(); ++i) {
    is_inner_ = is_inner_ || std::string_view(source->info(i).name).starts_with(kInner);
  }
}

std::string TextNames::longer(const std::string& name) const {
  if (!is_inner_) {
    return std::string(kOuter) + name;
  }
  return name.starts_with(kModel) ? std::string(kInner) + name.substr(kModel.size()) : name;
}

void TextNames::rename(decoder::Architecture& made) const {
  for (decoder::WeightSpec& weight : made.weights) {
    for (size_t i = 0, own = weight.aliases.size(); i < own; ++i) {
      const std::string also = longer(weight.aliases[i]);
      if (also != weight.aliases[i]) {
        weight.aliases.push_back(also);
      }
    }
    weight.aliases.push_back(weight.name);
    weight.name = longer(weight.name);
  }
  for (decoder::BlockSpec& block : made.blocks) {
    for (decoder::GroupSpec& group : block.groups) {
      for (decoder::LinearSpec& linear : group.linears) {
        linear.name = longer(linear.name);
      }
      for (decoder::SiteSpec& site : group.sites) {
        site.parameter = longer(site.parameter);
      }
    }
  }
}

void TextNames::show(decoder::RenamedSource& source) const {
  std::map<std::string, uint64_t> left_out;  // tensors by what they belong to
  for (uint64_t i = 0; i < source.base().count(); ++i) {
    const std::string name = source.base().info(i).name;
    if (name.starts_with(kOuter) || name.starts_with(kInner) || name.starts_with("lm_head.")) {
      source.add(name, i);
    } else {
      const size_t first = name.starts_with(kModel) ? kModel.size() : 0;
      ++left_out[name.substr(0, name.find('.', first))];
    }
  }
  std::string text;
  for (const auto& [part, count] : left_out) {
    text += (text.empty() ? "" : ", ") + part + " (" + std::to_string(count) + ")";
  }
  if (!text.empty()) {
    kit::log(QUENCH_LOG_INFO, "the text part alone is read; left out: tensors of " + text);
  }
}

}  // namespace quench::gemma3_text
