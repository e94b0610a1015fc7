// A checkpoint of another tool's quantized weights, as the float weights that they stand for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "formats/packed/packed_linear.hpp"
#include "formats/packed/packed_parts.hpp"
#include "formats/packed/scheme.hpp"
#include "formats/packed/tensor_files.hpp"
#include "quench/kit/format.hpp"

namespace quench::formats {

// What a format knows of its linears.
struct PackedLayout {
  std::string format;                     // its id
  std::vector<std::string_view> endings;  // of a linear's tensors, beside the bias; the first is
                                          // always there
  // Checks element types and shapes, and reads the group of each column. Throws kit::Error:
  // NOT_FOUND for a missing part, DATA_LOSS for what contradicts itself or the config.
  std::function<std::unique_ptr<PackedLinear>(PackedParts parts)> open;
};

// Every stored linear `m` is one tensor `m.weight`, float32 [out, in]; all other tensors are as
// they are. A read keeps one run of rows in memory, at most 8 MiB of float32 or one row.
class PackedCheckpoint final : public kit::Checkpoint {
 public:
  // Throws kit::Error: DATA_LOSS where no linear is stored as the config says, where parts of one
  // stand alone, and what opening a linear throws.
  PackedCheckpoint(const kit::Place& place, PackedLayout layout, const Scheme& scheme);

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

 private:
  struct Origin {
    std::unique_ptr<PackedLinear> linear;  // or null: a tensor of the files
    uint64_t file = 0;
  };

  void add_linear(const std::string& module);
  void tell_order(const Scheme& scheme) const;
  void check_stray(const std::string& name) const;

  std::shared_ptr<const TensorFiles> files_;
  PackedLayout layout_;
  std::vector<Origin> origins_;
  uint64_t linear_count_ = 0;

  // The run of rows that was read last: callers read in order and in pieces.
  struct Run {
    uint64_t index = 0;
    int64_t first = 0;
    int64_t rows = 0;  // 0: none yet
    std::vector<float> values;
  };
  mutable std::mutex mutex_;
  mutable Run run_;
};

}  // namespace quench::formats
