// The tensors between stages, which the host owns: one set per micro-batch, moved forward stage by
// stage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/arithmetic/micro_batches.hpp"
#include "core/arithmetic/prefix_batches.hpp"
#include "core/inputs/weights/device_tensor.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/tensor.h"

namespace quench {

// The most bytes that a token carries from one stage to the next.
uint64_t widest_carry(const ModelHandle& model);

// Tokens of a micro-batch where the model is, and where it would be.
int64_t micro_batch_tokens(const ModelHandle& model);
int64_t micro_batch_tokens(const ModelHandle& model, bool on_gpu);

// Whether what `tokens` carry would leave too little of the model's device: it may take a third of
// what is free, for a float model may run beside, and a third is for the rest.
bool has_to_rest(ModelHandle& model, uint64_t tokens);

// If has_to_rest(), or after rest(), what a micro-batch carries waits in host memory until its
// turn: only the one that was started, moved or looked at last is on the device.
class ActivationStream {
 public:
  struct Named {
    std::string name;
    DeviceTensor tensor;
  };
  using Carried = std::vector<Named>;

  // Sequence r is ids[starts[r] .. starts[r+1]). Copies the ids. With `texts`, the ids after the
  // first texts[r] of a sequence are attending padding (QUENCH_SEGMENT_ATTENDING_PADDING);
  // UNSUPPORTED if the family does not support it.
  ActivationStream(ModelHandle& model, std::span<const int32_t> ids,
                   std::span<const uint64_t> starts, std::span<const uint64_t> texts = {});
  // Takes planned micro-batches, including positions and segments; `batches()` then has their
  // lengths and no sequence indices.
  ActivationStream(ModelHandle& model, const std::vector<PrefixBatch>& batches);

  const std::vector<MicroBatch>& batches() const { return batches_; }
  // Starts micro-batch `batch`: computes its residual stream from the ids.
  void embed(size_t batch);
  // Runs one stage of one block on a micro-batch that stands directly before it.
  void stage(size_t batch, uint32_t block, uint32_t stage);
  // Embeds and runs all blocks of one micro-batch.
  void forward(size_t batch);
  // Likewise, but only for the tokens at `places` (of [rows, length] in C order, ascending): the
  // carried tensors then have only these rows. The last block runs only on them from its first
  // token-wise stage on.
  void forward(size_t batch, std::span<const uint64_t> places);
  // Copies what every micro-batch carries; `rewind` restores the copies and drops
  // them.
  void keep();
  void rewind();
  // The result of stages first .. last-1 on a copy of what the micro-batch carries or, with `kept`,
  // of what it carried at keep().
  Carried replay(size_t batch, uint32_t block, uint32_t first, uint32_t last, bool kept);
  // Shows what the micro-batch carries now or, with `kept`, carried at keep(), into stage 0: its
  // ids and the residual stream, which must not be changed.
  void with_input(size_t batch, bool kept,
                  const std::function<void(const quench_batch&, const quench_tensor&)>& body);
  // The tensors that the micro-batch carries now, in the order of carry(block, stage).
  std::vector<quench_tensor> carried(size_t batch);
  // Drops what the micro-batch carries.
  void release(size_t batch);
  void rest();
  // Bytes of what micro-batches carry on the device now, without what keep() holds.
  uint64_t device_bytes() const;
  // Tokens of a micro-batch: int32 [rows, length], host memory.
  quench_tensor tokens(size_t batch) const;

 private:
  struct State;
  // Views of a batch in the ABI's form; must not be moved.
  struct BatchView {
    explicit BatchView(const State& state);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;
    quench_tensor tokens, positions, segments;
    quench_batch batch;
  };
  struct State {
    std::vector<int32_t> tokens;
    std::vector<int32_t> positions;  // like tokens, or empty: counted along each sequence
    std::vector<int32_t> segments;   // like tokens, or empty: every sequence is one text
    std::vector<int64_t> shape;      // [rows, length]
    std::vector<int64_t> strides;
    Carried carried;
  };

  Carried copy(const Carried& from) const;
  // Sends all others away if they rest, and makes what `batch` carries available.
  void visit(size_t batch);
  // Keeps only the tokens at `places` of what is carried into `stage`, each as its own row.
  void narrow(size_t batch, std::span<const uint64_t> places, uint32_t block, uint32_t stage);
  // Runs `stage` on what is carried into it.
  void run_stage(size_t batch, Carried& carried, uint32_t block, uint32_t stage) const;

  ModelHandle& model_;
  std::vector<MicroBatch> batches_;
  std::vector<State> states_;
  std::vector<Carried> kept_;  // [batch]
  bool rests_ = false;
  std::optional<size_t> present_;  // the one on the device if they rest
};

}  // namespace quench
