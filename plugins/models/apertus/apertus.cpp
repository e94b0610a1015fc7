// Apertus (Swiss AI 2025, arXiv 2509.14233): Llama with RMS norms on each head of q and k, fewer
// key than query heads, Llama 3.1's rotary scaling, and an xIELU in place of the gated MLP.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/apertus/xielu.hpp"
#include "models/decoder/llama_architecture.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"
#include "quench/kit/torch.hpp"

namespace quench::apertus {

namespace {

using decoder::LlamaModel;

constexpr std::array<std::string_view, 3> kOwnKeys = {"mlp_bias", "post_norm", "qk_norm"};

constexpr double kBeta = 0.5;  // the default when a file has none

std::string activation_of(int64_t block) {
  return decoder::llama_block(block) + "mlp.act_fn.";
}

decoder::Architecture architecture(const LlamaModel& model, quench_dtype dtype) {
  decoder::Architecture made = decoder::llama_architecture(model, dtype);
  // The reference initializes softplus(alpha_p) = 0.8 and beta + softplus(alpha_n) = 0.8.
  const std::array<std::pair<const char*, double>, 2> alphas = {
      {{"alpha_p", std::log(std::expm1(0.8))}, {"alpha_n", std::log(std::expm1(0.8 - kBeta))}}};
  for (int64_t i = 0; i < model.blocks; ++i) {
    // Placed beside the block's other weights, because parts of a parameter vector are consecutive.
    const auto last = std::find_if(
        made.weights.rbegin(), made.weights.rend(),
        [&](const auto& weight) { return weight.name.starts_with(decoder::llama_block(i)); });
    auto place = last.base();
    for (const auto& [name, initial] : alphas) {
      place = std::next(made.weights.insert(
          place,
          decoder::WeightSpec{activation_of(i) + name, {1}, QUENCH_ROLE_OTHER, {}, initial}));
    }
  }
  made.ignorable.insert(made.ignorable.end(), {".mlp.act_fn.beta", ".mlp.act_fn.eps"});
  return made;
}

// A constant that is stored among the weights; `otherwise` if the file has none or there is no
// file.
double constant(const quench_source* from, const std::string& name, double otherwise) {
  if (from == nullptr) {
    return otherwise;
  }
  const kit::Source source(*from);
  const auto index = source.find(name);
  if (!index) {
    return otherwise;
  }
  const quench_tensor_info info = source.info(*index);
  const bool one = info.dimensions == 0 || (info.dimensions == 1 && info.shape[0] == 1);
  const bool floating =
      info.dtype.code == QUENCH_DTYPE_FLOAT || info.dtype.code == QUENCH_DTYPE_BFLOAT;
  if (!one || !floating) {
    kit::fail(QUENCH_DATA_LOSS, "%s: wanted one floating-point number", name.c_str());
  }
  const at::Tensor value = at::empty({1}, at::TensorOptions(kit::scalar_type(info.dtype)));
  source.read(*index, 0, 1, value.data_ptr());
  const auto number = value.item<double>();
  if (!std::isfinite(number)) {
    kit::fail(QUENCH_DATA_LOSS, "%s = %f, wanted a finite number", name.c_str(), number);
  }
  return number;
}

class Apertus final : public decoder::LlamaFamily<Apertus> {
 public:
  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"apertus"};
    dialect.activation = "xielu";
    dialect.more = kOwnKeys;
    return dialect;
  }
  static LlamaModel read(const kit::Json& config) {
    LlamaModel model = decoder::read_llama_config(config, dialect());
    if (config.type("/rope_scaling") == QUENCH_JSON_ABSENT && !config.has("/rope_parameters")) {
      // Without the key, the library would use another checkpoint's scaling.
      kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_scaling is missing");
    }
    decoder::require_boolean(config, "mlp_bias", false);
    decoder::require_boolean(config, "post_norm", false);
    decoder::require_boolean(config, "qk_norm", true);
    model.head_norm = LlamaModel::HeadNorm::kEachHead;
    model.attention_norm = "attention_layernorm";
    model.mlp_norm = "feedforward_layernorm";
    model.gated = false;
    return model;
  }

  Apertus(const LlamaModel& model, const quench_model_open_args& args)
      : LlamaFamily(model, architecture(model, args.dtype), args) {
    for (int64_t i = 0; i < model.blocks; ++i) {
      const std::string at = activation_of(i);
      activations_.push_back({weight(at + "alpha_p"), weight(at + "alpha_n"),
                              constant(args.source, at + "beta", kBeta),
                              constant(args.source, at + "eps", -1e-6)});
    }
  }

 private:
  at::Tensor activate(uint32_t block, at::Tensor x) const override {
    return apply(activations_[block], x);
  }

  std::vector<Xielu> activations_;
};

}  // namespace

}  // namespace quench::apertus

QUENCH_MODULE("quench.apertus", "0.1.0",
              quench::kit::model<quench::apertus::Apertus>(
                  {.id = "apertus",
                   .version = "0.1.0",
                   .summary = "Apertus models, whose MLP has an xIELU activation and no gate.",
                   .reference = "Swiss AI Initiative 2025, arXiv 2509.14233",
                   .model_types = "apertus"}))
