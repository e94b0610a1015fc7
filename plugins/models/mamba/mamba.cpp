// Mamba (Gu and Dao 2023, arXiv 2312.00752): a selective state space in place of attention and MLP.
// A block is one branch: a gated recurrence over channels, whose steps, inputs and outputs depend
// on the token. Nothing depends on positions, so no row is too long.
//
// Shapes: N tokens, C channels of S states, R numbers from which dt_proj makes the steps.
#include <string>
#include <vector>

#include "models/decoder/decoder.hpp"
#include "models/decoder/rms_norm.hpp"
#include "models/mamba/config.hpp"
#include "models/mamba/convolution.hpp"
#include "models/mamba/predecessors.hpp"
#include "models/mamba/selective_scan.hpp"

namespace quench::mamba {

namespace {

using decoder::Batch;
using decoder::StageIo;

class Mamba final : public decoder::Decoder {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static kit::Fit probe(const kit::Json& json) {
    if (json.string_or("/model_type", "") != "mamba") {
      return nearness(json);
    }
    read_config(json);  // throws if it cannot be opened
    return 100;
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    const kit::Json json(args.config_json, args.config_bytes);
    auto model = std::make_unique<Mamba>(read_config(json), args);
    tell_unknown_keys(json);
    return model;
  }

  Mamba(const Config& config, const quench_model_open_args& args)
      : Decoder(architecture(config, args.dtype), args),
        config_(config),
        final_norm_(weight("backbone.norm_f.weight")) {
    for (int64_t i = 0; i < config.blocks; ++i) {
      const std::string block = "backbone.layers." + std::to_string(i) + ".";
      const std::string mixer = block + "mixer.";
      norms_.push_back(weight(block + "norm.weight"));
      convolutions_.push_back({weight(mixer + "conv1d.weight"), config.convolution_bias
                                                                    ? weight(mixer + "conv1d.bias")
                                                                    : at::Tensor()});
      spaces_.push_back({weight(mixer + "A_log"), weight(mixer + "D")});
    }
  }

 private:
  // The input groups of a block, in the order of architecture.cpp.
  enum Group : uint32_t { kIn, kX, kStep, kOut };

  void run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) override {
    if (stage == 4) {
      return io.put_sum(0, linear(block, kOut)(io.in(1)), io.in(0));
    }
    io.put(0, io.in(0));
    switch (stage) {
      case 0:
        return io.put(1, normalize(io.in(0), norms_[block]));
      case 1:
        return split(io, block, batch);
      case 2:
        return select(io, block);
      default:
        return recur(io, block, batch);
    }
  }

  // u and z.
  void split(const StageIo& io, uint32_t block, const Batch& batch) const {
    const at::Tensor both = linear(block, kIn)(io.in(1));
    io.put(1, convolve(convolutions_[block], both.narrow(1, 0, config_.channels),
                       predecessors(batch), io.scratch(1)));
    io.put(2, both.narrow(1, config_.channels, config_.channels));
  }

  // d, and B and C.
  void select(const StageIo& io, uint32_t block) const {
    const at::Tensor all = linear(block, kX)(io.in(1));
    io.put(1, io.in(1));
    io.put(2, io.in(2));
    io.put(3, all.narrow(1, 0, config_.rank));
    io.put(4, all.narrow(1, config_.rank, 2 * config_.states));
  }

  void recur(const StageIo& io, uint32_t block, const Batch& batch) const {
    const at::Tensor step = linear(block, kStep)(io.in(3).contiguous());
    io.put(1, selective_scan(spaces_[block], {io.in(1), step, io.in(4), io.in(2)},
                             predecessors(batch), io.scratch(1)));
  }

  SharedPredecessors predecessors(const Batch& batch) const {
    return c10::make_intrusive<Predecessors>(batch, device());
  }

  at::Tensor final_norm(const at::Tensor& h) const override { return normalize(h, final_norm_); }

  at::Tensor normalize(const at::Tensor& h, const at::Tensor& scale) const {
    return decoder::rms_norm(h, scale, config_.norm_eps, decoder::NormRounding::kBeforeWeight);
  }

  Config config_;
  at::Tensor final_norm_;
  std::vector<at::Tensor> norms_;
  std::vector<Convolution> convolutions_;
  std::vector<StateSpace> spaces_;
};

}  // namespace

}  // namespace quench::mamba

QUENCH_MODULE("quench.mamba", "0.1.0",
              quench::kit::model<quench::mamba::Mamba>(
                  {.id = "mamba",
                   .version = "0.1.0",
                   .summary = "Mamba models, a selective state space in every block.",
                   .reference = "Gu and Dao 2023, arXiv 2312.00752",
                   .model_types = "mamba"}))
