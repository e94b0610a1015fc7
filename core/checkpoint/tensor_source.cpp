#include "core/checkpoint/tensor_source.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

static_assert(std::endian::native == std::endian::little, "checkpoints hold little-endian numbers");

std::optional<uint64_t> element_count(const std::vector<int64_t>& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
    return std::nullopt;
  }
  // An overflow beside a zero counts too, so that the order of dimensions does not matter.
  uint64_t product = 1;
  for (const int64_t size : shape) {
    if (size == 0) {
      continue;
    }
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(size), &product) ||
        product > INT64_MAX) {
      return std::nullopt;
    }
  }
  return std::find(shape.begin(), shape.end(), 0) != shape.end() ? 0 : product;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const TensorInfo& TensorSource::info(uint64_t index) const {
  if (index >= tensors_.size()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: got tensor index {}, there are {} tensors", description_,
         index, tensors_.size());
  }
  return tensors_[index];
}

std::optional<uint64_t> TensorSource::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

uint64_t TensorSource::index_of(std::string_view name) const {
  if (const std::optional<uint64_t> index = find(name)) {
    return *index;
  }
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors_) {
    names.push_back(tensor.name);
  }
  const std::string suggestion = nearest(name, names);
  fail(QUENCH_NOT_FOUND, "{}: no tensor '{}'{}", description_, printable(name),
       suggestion.empty() ? "" : ", nearest is '" + printable(suggestion) + "'");
}

void TensorSource::read(uint64_t index, uint64_t first, uint64_t elements,
                        void* destination) const {
  const TensorInfo& tensor = info(index);
  const uint64_t total = *element_count(tensor.shape);
  if (first > total || elements > total - first) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: tensor '{}': wanted {} elements from {}, it has {}",
         description_, printable(tensor.name), elements, first, total);
  }
  if (elements > 0) {
    read_elements(index, first, elements, destination);
  }
}

uint64_t TensorSource::add(TensorInfo info) {
  const std::string where = description_ + ": tensor '" + printable(info.name) + "'";
  if (info.name.find('\0') != std::string::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: name holds a NUL", where);
  }
  if (info.shape.size() > QUENCH_MAX_DIMENSIONS) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} dimensions, at most {} are read", where,
         info.shape.size(), QUENCH_MAX_DIMENSIONS);
  }
  const std::optional<uint64_t> elements = element_count(info.shape);
  if (!elements || *elements > INT64_MAX / dtype_size(info.dtype)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: shape {} is negative or has more than 2^63 bytes", where,
         shape_text(info.shape));
  }
  const uint64_t index = tensors_.size();
  if (!by_name_.emplace(info.name, index).second) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: name given twice", where);
  }
  if (info.shared_with > index) {
    fail(QUENCH_INTERNAL, "{}: shares storage with tensor {}, which comes later", where,
         info.shared_with);
  }
  tensors_.push_back(std::move(info));
  return index;
}

namespace {

float float_from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t rebased = exponent == 31 ? 255 : exponent + 112;  // 112 = 127 - 15
  return std::bit_cast<float>(sign | rebased << 23 | mantissa << 13);
}

}  // namespace

std::vector<float> read_float32(const TensorSource& source, uint64_t index) {
  const TensorInfo& tensor = source.info(index);
  const uint64_t elements = *element_count(tensor.shape);
  std::vector<float> out(elements);
  if (same_dtype(tensor.dtype, kFloat32)) {
    source.read(index, 0, elements, out.data());
  } else if (same_dtype(tensor.dtype, kFloat64)) {
    std::vector<double> wide(elements);
    source.read(index, 0, elements, wide.data());
    std::transform(wide.begin(), wide.end(), out.begin(),
                   [](double value) { return static_cast<float>(value); });
  } else if (same_dtype(tensor.dtype, kBFloat16) || same_dtype(tensor.dtype, kFloat16)) {
    std::vector<uint16_t> bits(elements);
    source.read(index, 0, elements, bits.data());
    const bool brain = same_dtype(tensor.dtype, kBFloat16);
    std::transform(bits.begin(), bits.end(), out.begin(), [&](uint16_t value) {
      return brain ? std::bit_cast<float>(static_cast<uint32_t>(value) << 16)
                   : float_from_half(value);
    });
  } else {
    fail(QUENCH_UNSUPPORTED, "{}: tensor '{}' is {}, wanted a floating-point type",
         source.description(), printable(tensor.name), dtype_name(tensor.dtype));
  }
  return out;
}

}  // namespace quench
