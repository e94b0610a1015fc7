// Receives a quantizer's results for one linear on the host's side.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/checkpoint/host_tensor.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench {

class QuantizeSink {
 public:
  QuantizeSink();
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

 private:
  quench_quantize_sink sink_;
  std::optional<quench_linear_op> op_;
};

}  // namespace quench
