// The forward of a model with Llama's layout.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/decoder/decoder.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_model.hpp"
#include "models/decoder/rotary.hpp"
#include "models/decoder/sparse_mlp.hpp"

namespace quench::decoder {

class LlamaStyle : public Decoder {
 public:
  LlamaStyle(const LlamaModel& model, const quench_model_open_args& args);

 protected:
  // For a family that adds weights to those of llama_architecture.
  LlamaStyle(const LlamaModel& model, Architecture architecture,
             const quench_model_open_args& args);

  // The activation of x = up(x) [N, inner], for an MLP without a gate. Overwrites x unless an
  // AutogradScope exists.
  virtual at::Tensor activate(uint32_t block, at::Tensor x) const;

  // What a family may do otherwise: a stage, the last norm, the logits.
  void run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) override;
  at::Tensor final_norm(const at::Tensor& h) const override;
  at::Tensor after_head(at::Tensor product) const override;

 private:
  // Of one block; undefined are those that it does not have, or whose norm has no weight.
  struct Norms {
    at::Tensor before_attention;
    at::Tensor after_attention;
    at::Tensor before_mlp;
    at::Tensor after_mlp;
    at::Tensor query;
    at::Tensor key;
  };

  // x [N, width] -> [N, heads * head_width].
  at::Tensor attention(uint32_t block, const at::Tensor& x, const Batch& batch);
  // The norm of q or k [N, K * head_width]. Overwrites x unless an AutogradScope exists.
  at::Tensor normalize_heads(const at::Tensor& x, const at::Tensor& weight) const;
  void inside_mlp(const StageIo& io, uint32_t block) const;
  void inside_experts(const StageIo& io, uint32_t block) const;
  void add_experts(const StageIo& io, uint32_t block) const;
  // h = h + linear(x). Applies the norm after the branch, if there is one.
  void add_branch(const StageIo& io, const Linear& linear, const at::Tensor& norm) const;
  // Computes the next group's input from h, which is in out(0) by then.
  void before_branch(const StageIo& io, const at::Tensor& norm) const;
  // Writes to `into` if it is defined.
  at::Tensor normalize(const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& into = {}) const;

  bool norm_before() const { return model_.norm_place != LlamaModel::Place::kAfterBranch; }
  bool norm_after() const { return model_.norm_place != LlamaModel::Place::kBeforeBranch; }

  LlamaModel model_;
  Rotary rotary_;
  std::optional<Rotary> window_rotary_;  // of blocks with a window, if theirs differs
  at::Tensor final_norm_;                // undefined if the family's norms have no weights
  std::vector<Norms> norms_;
  std::vector<Router> routers_;  // without a weight in a dense block
};

// A family as the kit expects it. `Family` has two static functions: `LlamaDialect dialect()`, how
// its configs differ, and `LlamaModel read(const kit::Json&)`, which throws if it cannot open the
// model.
template <typename Family>
class LlamaFamily : public LlamaStyle {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static kit::Fit probe(const kit::Json& config) {
    const LlamaDialect dialect = Family::dialect();
    if (config.string_or("/model_type", "") != dialect.model_type) {
      return llama_nearness(config, dialect);
    }
    Family::read(config);
    return 100;
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    const kit::Json config(args.config_json, args.config_bytes);
    auto model = std::make_unique<Family>(Family::read(config), args);
    tell_unknown_keys(config, Family::dialect());
    return model;
  }

  using LlamaStyle::LlamaStyle;
};

}  // namespace quench::decoder
