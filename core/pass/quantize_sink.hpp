// Receives a quantizer's results for one linear on the host's side.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "core/plugin/handles/sink_room.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench {

class QuantizeSink {
 public:
  // `weights`: elements of the linear.
  explicit QuantizeSink(uint64_t weights = 0);
  ~QuantizeSink();
  QuantizeSink(const QuantizeSink&) = delete;
  QuantizeSink& operator=(const QuantizeSink&) = delete;

  const quench_quantize_sink* get() const { return &sink_; }
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  bool has_op() const { return op_.has_value(); }
  // The op, if the quantizer made one; passes ownership to the caller.
  std::optional<quench_linear_op> take_op();
  std::optional<quench_cache_op> take_cache_op();
  // Throws Error(RESOURCE_EXHAUSTED) where the quantizer `label` gave more than the host takes.
  void require_room(const std::string& label) const;

 private:
  void take_tensor(const char* name, quench_dtype dtype, int32_t dimensions, const int64_t* shape,
                   quench_tensor* view);
  void take_number(const char* name, double value);
  void take_text(const char* name, const char* value);
  void take_linear_op(const quench_linear_op* op);
  void keep_cache_op(const quench_cache_op* op);

  SinkRoom tensor_room_;
  SinkRoom word_room_;
  std::vector<HostTensor> replaced_;  // under whose name came another; the call may write to them
  quench_quantize_sink sink_;
  std::optional<quench_linear_op> op_;
  std::optional<quench_cache_op> cache_op_;
};

}  // namespace quench
