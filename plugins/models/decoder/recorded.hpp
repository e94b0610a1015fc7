// What a model tells a GPU again and again, recorded: a training step, and a stage of a block. Only
// where the environment variable QUENCH_CUDA_GRAPHS is 1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "models/decoder/loss.hpp"
#include "models/decoder/loss_sum.hpp"
#include "shared/cuda/recorded_work.hpp"

namespace quench::decoder {

// A GPU, and QUENCH_CUDA_GRAPHS=1. What a device refuses to record once is told in the log ("cannot
// be recorded") and done as ever from then on.
bool records(at::Device device);

// The forward and backward of a training step. Steps of one form differ in ids and targets alone.
class RecordedStep {
 public:
  struct Form {
    int64_t rows;
    int64_t length;
    bool autocast;
    double weight;         // of the loss
    const void* gradient;  // where it is added
    const void* weights;   // of the model
    bool operator==(const Form&) const = default;
  };
  // Tells the device the step and gives its losses, which stay until the next step.
  using Step = std::function<LossSum(const at::Tensor& ids, const ScoredTargets& targets)>;

  // Does `step` itself until two steps of `form` with as many targets have been done, then what it
  // told the device. Nothing of a refused recording is done.
  LossSum operator()(const Form& form, const at::Tensor& ids, const ScoredTargets& targets,
                     const Step& step);

 private:
  Form form_{};
  int done_ = 0;  // of this form
  bool refused_ = false;
  std::unique_ptr<cuda::RecordedWork> work_;
  at::Tensor ids_;  // what the recording reads
  std::unique_ptr<ScoredTargets> targets_;
  LossSum losses_;
};

// The stages of the block that computes. Calls of one stage differ in what enters and leaves it.
class RecordedStages {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Stage = std::function<void(const Tensors& in, const Tensors& out)>;

  // Does `stage` of a block on rows of this length, or what it told the device when it was done the
  // second time. Recordings of another block, or another number of tokens, are dropped.
  void operator()(uint32_t block, uint32_t stage, int64_t length, const Tensors& in,
                  const Tensors& out, const Stage& work);
  // A weight has changed, and with it what a stage computes from it before the stage.
  void forget();

 private:
  struct Call {
    bool done = false;
    std::unique_ptr<cuda::RecordedWork> work;
    Tensors in;
    Tensors out;
  };
  void record(Call& call, const Tensors& in, const Tensors& out, const Stage& work);

  uint32_t block_ = 0;
  int64_t length_ = 0;
  int64_t tokens_ = 0;
  bool refused_ = false;
  std::map<uint32_t, Call> calls_;  // by stage
  // The last recording that was dropped: its memory is the next one's, so that a block does not
  // wait for the driver's memory.
  std::unique_ptr<cuda::RecordedWork> lent_;
};

}  // namespace quench::decoder
