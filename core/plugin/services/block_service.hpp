// Implements the service quench.block/1 (quench/abi/extension/block.h).
#pragma once

#include <span>
#include <string>

#include "quench/abi/extension/block.h"

namespace quench {

// Runs calibration batches on from where they are. Throws Error.
class BlockReplay {
 public:
  virtual ~BlockReplay() = default;
  virtual quench_replay_place place() const = 0;
  // Valid until the next call.
  virtual std::span<const quench_tensor> replay(const quench_replay_args& args) = 0;
  virtual void weight(const std::string& parameter, const quench_tensor& destination) = 0;
  virtual double gradient(const quench_replay_gradient_args& args) = 0;  // the loss
  // Valid until the next call.
  virtual std::span<const quench_tensor> float_output(uint64_t batch) = 0;
};

// Offers `replay` to plugins as long as this object lives.
class OfferedReplay {
 public:
  explicit OfferedReplay(BlockReplay& replay);
  ~OfferedReplay();
  OfferedReplay(const OfferedReplay&) = delete;
  OfferedReplay& operator=(const OfferedReplay&) = delete;
};

// The service's table.
const quench_block_service* block_service();

}  // namespace quench
