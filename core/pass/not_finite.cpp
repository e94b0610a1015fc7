#include "core/pass/not_finite.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

struct Found {
  uint64_t index;  // in C order
  double value;
};

// The first element that is not finite; integers are always finite.
std::optional<Found> first_not_finite(const HostTensor& tensor) {
  if (!is_floating(tensor.dtype())) {
    return std::nullopt;
  }
  constexpr uint64_t kChunk = 1 << 16;
  const uint64_t size = dtype_size(tensor.dtype());
  std::vector<double> wide(kChunk);
  for (uint64_t first = 0; first < tensor.elements(); first += kChunk) {
    const uint64_t count = std::min(kChunk, tensor.elements() - first);
    to_float64(tensor.dtype(), tensor.bytes().data() + first * size, count, wide.data());
    const auto end = wide.begin() + static_cast<ptrdiff_t>(count);
    const auto bad = std::find_if(wide.begin(), end, [](double v) { return !std::isfinite(v); });
    if (bad != end) {
      return Found{first + static_cast<uint64_t>(bad - wide.begin()), *bad};
    }
  }
  return std::nullopt;
}

// "[3, 5]".
std::string place(uint64_t index, const std::vector<int64_t>& shape) {
  std::vector<uint64_t> at(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = index % static_cast<uint64_t>(shape[i]);
    index /= static_cast<uint64_t>(shape[i]);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

// "h is nan": the first carried tensor that is not finite, or "".
std::string broken_carry(ModelHandle& model, const std::vector<quench_tensor>& carried,
                         std::span<const quench_carry_info> names) {
  for (size_t i = 0; i < carried.size(); ++i) {
    if (const auto found = first_not_finite(on_host(model, carried[i]))) {
      return fmt::format("{} is {}", i < names.size() ? names[i].name : "h", found->value);
    }
  }
  return "";
}

}  // namespace

std::string where_weights_break(const ModelHandle& model) {
  const quench_dtype dtype = model.info().dtype;
  for (const quench_parameter_info& parameter : model.parameters()) {
    HostTensor value(same_dtype(dtype, kFloat64) ? kFloat64 : kFloat32,
                     {parameter.shape, parameter.shape + parameter.dimensions});
    model.weight_get(parameter.name, value.view());
    if (const auto found = first_not_finite(value)) {
      return fmt::format("weight {} is {} at {}", parameter.name, found->value,
                         place(found->index, value.shape()));
    }
  }
  return "all weights are finite";
}

std::string where_activations_break(ModelHandle& model, ActivationStream& stream, size_t batch) {
  stream.embed(batch);
  if (!broken_carry(model, stream.carried(batch), {}).empty()) {
    return "the embedding is not finite";
  }
  for (uint32_t block = 0; block < model.info().blocks; ++block) {
    const uint32_t stages = model.block(block).stage_count;
    for (uint32_t stage = 0; stage < stages; ++stage) {
      stream.stage(batch, block, stage);
      const auto names = stage + 1 < stages                ? model.carry(block, stage + 1)
                         : block + 1 < model.info().blocks ? model.carry(block + 1, 0)
                                                           : std::span<const quench_carry_info>();
      if (const std::string broken = broken_carry(model, stream.carried(batch), names);
          !broken.empty()) {
        return fmt::format("{} behind stage {} of block {}", broken, stage, block);
      }
    }
  }
  return "all activations are finite";
}

}  // namespace quench
