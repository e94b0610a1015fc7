#include "core/pass/stored_size.hpp"

#include <algorithm>
#include <map>

#include "core/checkpoint/dtype.hpp"

namespace quench {

namespace {

// Bytes of one value of the checkpoint: the size that most of its values have.
uint64_t bytes_per_value(const TensorSource& source) {
  std::map<uint64_t, uint64_t> values;  // by their size
  for (uint64_t i = 0; i < source.count(); ++i) {
    const TensorInfo& tensor = source.info(i);
    if (tensor.shared_with == i) {
      values[dtype_size(tensor.dtype)] += element_count(tensor.shape).value_or(0);
    }
  }
  const auto most = std::max_element(values.begin(), values.end(),
                                     [](auto a, auto b) { return a.second < b.second; });
  return most == values.end() ? 0 : most->first;
}

}  // namespace

double stored_bytes(const OpenWeights& open, const QuantizedShare& quantized) {
  uint64_t parameters = 0;
  for (const quench_parameter_info& parameter : open.model.parameters()) {
    parameters +=
        element_count({parameter.shape, parameter.shape + parameter.dimensions}).value_or(0);
  }
  return static_cast<double>((parameters - std::min(parameters, quantized.weights)) *
                             bytes_per_value(*open.folder.source)) +
         quantized.bits * static_cast<double>(quantized.weights) / 8;
}

}  // namespace quench
