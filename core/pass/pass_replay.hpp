// Runs calibration batches on from their position in a pass, with other weights.
#pragma once

#include <vector>

#include "core/pass/activation_stream.hpp"
#include "core/plugin/services/block_service.hpp"

namespace quench {

// The batches of `stream` stand before stage `stage` of block `block`; with `kept`, what the stream
// has kept is their input of stage 0, and those of `float_stream`, if there is one, stand behind
// the block.
class PassReplay final : public BlockReplay {
 public:
  PassReplay(ModelHandle& model, ActivationStream& stream, ActivationStream* float_stream,
             uint32_t block, uint32_t stage, bool kept);
  quench_replay_place place() const override;
  std::span<const quench_tensor> replay(const quench_replay_args& args) override;
  void weight(const std::string& parameter, const quench_tensor& destination) override;
  double gradient(const quench_replay_gradient_args& args) override;
  std::span<const quench_tensor> float_output(uint64_t batch) override;

 private:
  ModelHandle& model_;
  ActivationStream& stream_;
  ActivationStream* float_stream_;
  uint32_t block_;
  uint32_t stage_;
  bool kept_;
  ActivationStream::Carried result_;
  std::vector<quench_tensor> views_;
  std::vector<quench_tensor> float_views_;
};

}  // namespace quench
