#include "core/weights/float_source.hpp"

#include <cstring>

#include "core/checkpoint/dtype.hpp"

namespace quench {

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
