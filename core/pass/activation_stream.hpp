// The tensors between stages, owned by the host: one set per micro-batch, moved forward stage by
// stage.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arithmetic/micro_batches.hpp"
#include "core/arithmetic/prefix_batches.hpp"
#include "core/plugin/model_handle.hpp"
#include "quench/abi/tensor.h"

namespace quench {

// Memory on the model's device, or the host's where the family leaves that to the host.
class DeviceMemory {
 public:
  DeviceMemory(ModelHandle& model, uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  ModelHandle& model_;
  uint64_t bytes_;
  void* data_ = nullptr;
};

// A C-contiguous tensor on the model's device. The memory is shared where a stage works in place.
class DeviceTensor {
 public:
  DeviceTensor(ModelHandle& model, quench_dtype dtype, const std::vector<int64_t>& shape);
  DeviceTensor(std::shared_ptr<DeviceMemory> memory, quench_device device, quench_dtype dtype,
               std::vector<int64_t> shape);
  // Valid as long as this object stays where it is.
  quench_tensor view() const;
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  quench_device device_;
  quench_dtype dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
};

// The rows places[0]*each .. +each-1, places[1]*each .., ... of `from` [N, width]; neighbours are
// copied together.
DeviceTensor rows_at(ModelHandle& model, const quench_tensor& from,
                     std::span<const uint64_t> places, uint64_t each);

class ActivationStream {
 public:
  struct Named {
    std::string name;
    DeviceTensor tensor;
  };
  using Carried = std::vector<Named>;

  // Row r is ids[starts[r] .. starts[r+1]). The ids are copied. With `texts`, what comes behind the
  // first texts[r] ids of a row are pads that read (extension/pads.h); UNSUPPORTED where the family
  // does not know them.
  ActivationStream(ModelHandle& model, std::span<const int32_t> ids,
                   std::span<const uint64_t> starts, std::span<const uint64_t> texts = {});
  // Micro-batches that were planned already, positions and segments included; `batches()` then says
  // their lengths and names no rows.
  ActivationStream(ModelHandle& model, const std::vector<PrefixBatch>& batches);

  const std::vector<MicroBatch>& batches() const { return batches_; }
  // Starts micro-batch `batch`: its residual stream is made from the ids.
  void embed(size_t batch);
  // Runs one stage of one block on a micro-batch that stands right before it.
  void stage(size_t batch, uint32_t block, uint32_t stage);
  // Embeds and runs all blocks of one micro-batch.
  void forward(size_t batch);
  // Likewise, for the tokens at `places` (of [rows, length] in C order, ascending) alone: what is
  // carried then has their rows and no others. The last block runs only on them from the first
  // stage on that looks at each token alone.
  void forward(size_t batch, std::span<const uint64_t> places);
  // Copies what every micro-batch carries; `rewind` puts it in place of what they carry by then,
  // and the copies are gone.
  void keep();
  void rewind();
  // What stages first .. last-1 make of a copy of what the micro-batch carries; or, with `kept`, of
  // what it carried when it was kept.
  Carried replay(size_t batch, uint32_t block, uint32_t first, uint32_t last, bool kept) const;
  // What the micro-batch carries now, in the order of carry(block, stage).
  std::vector<quench_tensor> carried(size_t batch) const;
  // Drops what the micro-batch carries.
  void release(size_t batch);
  // Tokens of a micro-batch: int32 [rows, length], host memory.
  quench_tensor tokens(size_t batch) const;

 private:
  struct State;
  // The views of a batch, as the ABI has them; not to be moved.
  struct BatchView {
    explicit BatchView(const State& state);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;
    quench_tensor tokens, positions, segments;
    quench_batch batch;
  };
  struct State {
    std::vector<int32_t> tokens;
    std::vector<int32_t> positions;  // like tokens, or empty: counted along each row
    std::vector<int32_t> segments;   // like tokens, or empty: every row is one text
    std::vector<int64_t> shape;      // [rows, length]
    std::vector<int64_t> strides;
    Carried carried;
  };

  Carried copy(const Carried& from) const;
  // Leaves the tokens at `places` of what is carried into `stage`, each a row of its own.
  void narrow(size_t batch, std::span<const uint64_t> places, uint32_t block, uint32_t stage);
  // Moves what is carried into `stage` through it.
  void run_stage(size_t batch, Carried& carried, uint32_t block, uint32_t stage) const;

  ModelHandle& model_;
  std::vector<MicroBatch> batches_;
  std::vector<State> states_;
  std::vector<Carried> kept_;  // [batch]
};

}  // namespace quench
