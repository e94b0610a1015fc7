#include "models/decoder/nearness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/decoder/config.hpp"

namespace quench::decoder {

namespace {

// Architectures that users often bring: the nearest family, and how they differ even where the
// config does not say so.
struct Known {
  std::string_view model_type;
  std::string_view nearest;
  const char* differs;
};
constexpr std::array<Known, 9> kKnown = {{
    {"deepseek_v2", "dots1",
     "compressed keys and values, rotation of a part of each head, no norm of q and k, softmax "
     "routing"},
    {"deepseek_v3", "dots1",
     "compressed keys and values, rotation of a part of each head, no norm of each head of q and "
     "k, routing within groups"},
    {"falcon_mamba", "mamba", "norms without weights of the steps, of B and of C"},
    {"gpt2", "gpt_neox",
     "learned positions and no rotary embedding, transposed weights, GELU by tanh"},
    {"mamba2", "mamba",
     "heads with one decay each, one input projection for all, a norm before the output "
     "projection"},
    {"mistral", "llama", "attention within a window where sliding_window is a number, else none"},
    {"mixtral", "olmoe",
     "no norm of q and k, shares that always sum to one, other names, attention within a window "
     "where sliding_window is a number"},
    {"qwen3_moe", "olmoe",
     "norms on each head of q and k, an MLP width of the experts' own, dense blocks between"},
    {"transformer", "llama",
     "plainLM's own class: fused q, k, v and fused gate and up under names of its own, rotation of "
     "adjacent elements, and a config that does not say all of its forward"},
}};

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 6;  // two lists of this length fit in an error record
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more"
                               : text;
}

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

kit::Fit nearness(const kit::Json& config, const FamilyKeys& family) {
  const std::vector<std::string> strange = unknown_keys(config, "", family.understood);
  std::vector<std::string> missing;
  double known = 0;
  double absent = 0;
  for (const std::string_view key : family.understood) {
    const bool there = config.has("/" + std::string(key));
    known += there ? 1 : 0;
    if (!there && contains(family.required, key)) {
      missing.emplace_back(key);
    }
    absent += !there && contains(family.own, key) ? 1 : 0;
  }
  std::string differs;
  const auto say = [&](const std::string& what) {
    differs += (differs.empty() ? "" : "; ") + what;
  };
  const std::string type = config.string_or("/model_type", "");
  double score =
      98.0 * known / (known + absent + static_cast<double>(strange.size() + missing.size()) + 1e-9);
  for (const Known& entry : kKnown) {
    if (type == entry.model_type) {
      score = family.model_type == entry.nearest ? 99.0 : std::min(score, 50.0);
      say(entry.differs);
    }
  }
  if (!strange.empty()) {
    say("keys that it does not know: " + listed(strange));
  }
  if (!missing.empty()) {
    say("keys that it needs: " + listed(missing));
  }
  if (differs.empty()) {
    differs = "model_type, and anything the config does not say";
  }
  const int near = static_cast<int>(std::ceil(score));
  return near > 0 ? kit::Fit{-near, differs} : kit::Fit{0};
}

}  // namespace quench::decoder
