#include "core/checkpoint/packed/packed_parts.hpp"

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/packed/packed_linear.hpp"
#include "core/error.hpp"

namespace quench {

std::string PackedParts::where() const {
  return source_->description() + ": linear '" + printable(module_) + "'";
}

std::string PackedParts::listing() const {
  std::vector<std::string> there;
  for (uint64_t i = 0; i < source_->count(); ++i) {
    const std::string& name = source_->info(i).name;
    if (name.starts_with(module_ + ".") &&
        name.find('.', module_.size() + 1) == std::string::npos) {
      there.push_back(printable(name.substr(module_.size() + 1)));
    }
  }
  return fmt::format("{}", fmt::join(there, ", "));
}

std::optional<uint64_t> PackedParts::find(std::string_view ending) const {
  return source_->find(module_ + std::string(ending));
}

uint64_t PackedParts::require(std::string_view ending) const {
  if (const std::optional<uint64_t> index = find(ending)) {
    return *index;
  }
  fail(QUENCH_NOT_FOUND, "{}: has {}, and no {}", where(), listing(), ending.substr(1));
}

uint64_t PackedParts::matrix(std::string_view ending, quench_dtype dtype) const {
  const uint64_t index = require(ending);
  const TensorInfo& tensor = info(index);
  if (!same_dtype(tensor.dtype, dtype) || tensor.shape.size() != 2) {
    refuse(ending, dtype_name(dtype) + " of two dimensions");
  }
  for (const int64_t side : tensor.shape) {
    if (side < 1 || side > kMaxPackedSide) {
      refuse(ending, fmt::format("sides of 1 to {}", kMaxPackedSide));
    }
  }
  return index;
}

uint64_t PackedParts::shaped(std::string_view ending, quench_dtype dtype,
                             const std::vector<int64_t>& shape) const {
  const uint64_t index = require(ending);
  if (!same_dtype(info(index).dtype, dtype) || info(index).shape != shape) {
    refuse(ending, dtype_name(dtype) + " " + shape_text(shape));
  }
  return index;
}

uint64_t PackedParts::floating(std::string_view ending, const std::vector<int64_t>& shape) const {
  const uint64_t index = require(ending);
  if (!is_floating(info(index).dtype) || info(index).shape != shape) {
    refuse(ending, "a floating-point type, " + shape_text(shape));
  }
  return index;
}

void PackedParts::refuse(std::string_view ending, const std::string& wanted) const {
  const TensorInfo& tensor = info(require(ending));
  fail(QUENCH_DATA_LOSS, "{}: {} is {} {}, wanted {}", where(), ending.substr(1),
       dtype_name(tensor.dtype), shape_text(tensor.shape), wanted);
}

std::vector<uint32_t> PackedParts::words(uint64_t index, uint64_t rows, uint64_t stride,
                                         uint64_t first, uint64_t count) const {
  std::vector<uint32_t> out(rows * count);
  if (count == stride && first == 0) {
    source_->read(index, 0, rows * count, out.data());
    return out;
  }
  for (uint64_t r = 0; r < rows; ++r) {
    source_->read(index, r * stride + first, count, out.data() + r * count);
  }
  return out;
}

void PackedParts::floats(uint64_t index, uint64_t first, uint64_t count, float* to) const {
  const quench_dtype dtype = info(index).dtype;
  std::vector<char> bytes(count * dtype_size(dtype));
  std::vector<double> wide(count);
  source_->read(index, first, count, bytes.data());
  to_float64(dtype, bytes.data(), count, wide.data());
  std::transform(wide.begin(), wide.end(), to, [](double v) { return static_cast<float>(v); });
}

}  // namespace quench
