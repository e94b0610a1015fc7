// GPT-NeoX (Black et al. 2022, arXiv 2204.06745), the family of Pythia. Its pre-norm blocks feed
// the block's input to both attention and MLP (or run them in sequence, if use_parallel_residual is
// false). It has partial rotary embeddings, a fused query-key-value linear and an exact GELU.
//
// Shapes: N tokens = B rows of T tokens, H heads of D elements.
#include <string>
#include <vector>

#include "models/decoder/activation.hpp"
#include "models/decoder/attention.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/layer_norm.hpp"
#include "models/decoder/rotary.hpp"
#include "models/gpt_neox/config.hpp"

namespace quench::gpt_neox {

namespace {

using decoder::Batch;
using decoder::StageIo;

struct LayerNorm {
  at::Tensor weight;
  at::Tensor bias;
};

class GptNeox final : public decoder::Decoder {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static kit::Fit probe(const kit::Json& json) {
    if (json.string_or("/model_type", "") != "gpt_neox") {
      return nearness(json);
    }
    read_config(json);  // throws if it cannot be opened
    return 100;
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    const kit::Json json(args.config_json, args.config_bytes);
    auto model = std::make_unique<GptNeox>(read_config(json), args);
    tell_unknown_keys(json);
    return model;
  }

  GptNeox(const Config& config, const quench_model_open_args& args)
      : Decoder(architecture(config, args.dtype), args),
        config_(config),
        rotary_(decoder::inverse_frequencies(config.rotary_dims, config.rotary_theta), 1.0, dtype(),
                device()),
        final_norm_(norm("gpt_neox.final_layer_norm")) {
    for (int64_t i = 0; i < config.blocks; ++i) {
      const std::string block = "gpt_neox.layers." + std::to_string(i) + ".";
      attention_norms_.push_back(norm(block + "input_layernorm"));
      mlp_norms_.push_back(norm(block + "post_attention_layernorm"));
    }
  }

 private:
  // The input groups of a block, in the order of architecture.cpp.
  enum Group : uint32_t { kQkv, kDense, kUp, kDown };

  void run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) override {
    switch (stage) {
      case 0:
        io.put(0, io.in(0));
        return io.put(1, normalize(io.in(0), attention_norms_[block]));
      case 1:
        io.put(0, io.in(0));
        return io.put(1, attention(block, linear(block, kQkv)(io.in(1)), batch));
      case 2:
        return after_attention(io, block);
      case 3:
        return up(io, block);
      default:
        return down(io, block);
    }
  }

  // query_key_value [N, H*3*D], each head's row as [q|k|v] -> attention output [N, H*D].
  at::Tensor attention(uint32_t block, const at::Tensor& fused, const Batch& batch) {
    const int64_t head = config_.head_width();
    const at::Tensor heads = fused.view({batch.rows(), batch.length(), config_.heads, 3 * head});
    const auto [q, k, v] = decoder::rotated_parts(heads, rotary_.angles(batch));
    return attend(block, q, k, v, batch);
  }

  void after_attention(const StageIo& io, uint32_t block) const {
    if (config_.parallel) {
      io.put(2, io.apply(2, linear(block, kDense), io.in(1)));
      io.put(0, io.in(0));
    } else {
      io.put_sum(0, linear(block, kDense)(io.in(1)), io.in(0));
    }
    io.put(1, normalize(io.out(0), mlp_norms_[block]));
  }

  void up(const StageIo& io, uint32_t block) const {
    io.put(1, decoder::gelu(io.apply(1, linear(block, kUp), io.in(1))));
    io.put(0, io.in(0));
    if (config_.parallel) {
      io.put(2, io.in(2));
    }
  }

  void down(const StageIo& io, uint32_t block) const {
    at::Tensor mlp = linear(block, kDown)(io.in(1));
    if (config_.parallel && decoder::recording()) {
      mlp = decoder::sum_of(mlp, io.in(2));
    } else if (config_.parallel) {
      decoder::add_rows(mlp, io.in(2), mlp);
    }
    io.put_sum(0, mlp, io.in(0));
  }

  at::Tensor final_norm(const at::Tensor& h) const override { return normalize(h, final_norm_); }

  at::Tensor normalize(const at::Tensor& h, const LayerNorm& with) const {
    return decoder::layer_norm(h, with.weight, with.bias, config_.norm_eps);
  }

  LayerNorm norm(const std::string& name) const {
    return {weight(name + ".weight"), weight(name + ".bias")};
  }

  Config config_;
  decoder::Rotary rotary_;
  LayerNorm final_norm_;
  std::vector<LayerNorm> attention_norms_;
  std::vector<LayerNorm> mlp_norms_;
};

}  // namespace

}  // namespace quench::gpt_neox

QUENCH_MODULE("quench.gpt_neox", "0.1.0",
              quench::kit::model<quench::gpt_neox::GptNeox>(
                  {.id = "gpt_neox",
                   .version = "0.1.0",
                   .summary = "GPT-NeoX models, such as Pythia.",
                   .reference = "Black et al. 2022, arXiv 2204.06745",
                   .model_types = "gpt_neox"}))
