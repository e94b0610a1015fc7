#include "core/inputs/weights/float_source.hpp"

#include <algorithm>
#include <cstring>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"

namespace quench {

namespace {

// Exactly, from a narrower type.
HostTensor widened(const HostTensor& from, quench_dtype dtype) {
  constexpr uint64_t kAtOnce = uint64_t{1} << 16;
  HostTensor out(dtype, from.shape());
  std::vector<double> values(std::min(kAtOnce, from.elements()));
  for (uint64_t first = 0; first < from.elements(); first += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, from.elements() - first);
    to_float64(from.dtype(), from.bytes().data() + first * dtype_size(from.dtype()), count,
               values.data());
    from_float64(values.data(), count, dtype, out.bytes().data() + first * dtype_size(dtype));
  }
  return out;
}

}  // namespace

FloatSource::FloatSource(const ModelHandle& model, const FloatWeights& kept)
    : TensorSource("the weights before quantization") {
  const quench_dtype dtype = same_dtype(model.info().dtype, kFloat64) ? kFloat64 : kFloat32;
  for (const quench_parameter_info& parameter : model.parameters()) {
    const std::vector<int64_t> shape(parameter.shape, parameter.shape + parameter.dimensions);
    const HostTensor* value = kept.find(parameter.name);
    if (value == nullptr) {
      HostTensor& copy = copied_.emplace(parameter.name, HostTensor(dtype, shape)).first->second;
      model.weight_get(parameter.name, copy.view());
      value = &copy;
    } else if (!same_dtype(value->dtype(),
                           dtype)) {  // a model in 16 bits keeps those on its device
      value = &copied_.emplace(parameter.name, widened(*value, dtype)).first->second;
    }
    add({parameter.name, value->dtype(), shape, count()});
    values_.push_back(value);
  }
}

void FloatSource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                void* destination) const {
  const HostTensor& value = *values_[index];
  const uint64_t size = dtype_size(value.dtype());
  std::memcpy(destination, value.bytes().data() + first * size, elements * size);
}

}  // namespace quench
