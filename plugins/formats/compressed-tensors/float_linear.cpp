#include "formats/compressed-tensors/float_linear.hpp"

#include <algorithm>
#include <cmath>

#include "formats/packed/packed_codes.hpp"
#include "formats/packed/scheme.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

using number_formats::ScaleType;

int64_t parts_of(int64_t side, int64_t size) {
  return (side + size - 1) / size;
}

// Codes in weight, F8_E4M3 [out, in], or in weight_packed, U8 [out, in * bits / 8]; weight_scale
// [rows of blocks, blocks of a row], or one number; weight_global_scale F32 [1] of scales of two
// levels.
class FloatLinear final : public PackedLinear {
 public:
  static std::unique_ptr<PackedLinear> open(PackedParts parts, const FloatScheme& scheme) {
    const FloatLayout& layout = *scheme.layout;
    const bool packed = layout.is_packed();
    const std::string_view ending = packed ? ".weight_packed" : ".weight";
    const uint64_t codes = parts.matrix(ending, packed ? kUInt8 : kFloat8E4M3);
    const std::vector<int64_t> shape = parts.info(codes).shape;
    const int64_t out = shape[0];
    const int64_t row_bits = shape[1] * 8;
    const int64_t in = row_bits / layout.bits();
    const int64_t columns = scheme.columns == -1 ? in : scheme.columns;
    const bool divides = scheme.rows > 1 || in % columns == 0;  // blocks of rows may be cut off
    if (row_bits % layout.bits() != 0 || !divides) {
      parts.refuse(ending, fmt::format("whole groups of {} columns", columns));
    }
    if (in > kMaxPackedSide) {
      parts.refuse(ending, fmt::format("at most {} columns", kMaxPackedSide));
    }
    auto made = std::unique_ptr<FloatLinear>(new FloatLinear(std::move(parts), out, in, layout));
    made->codes_ = codes;
    made->rows_ = scheme.rows == -1 ? out : scheme.rows;
    made->columns_ = columns;
    made->across_ = parts_of(in, columns);
    made->find_scales(scheme);
    return made;
  }

  void dequantize(int64_t first, int64_t rows, float* to) const override {
    const int64_t in = in_features();
    const std::vector<uint8_t> codes = codes_of(first, rows);
    const int64_t from = first / rows_;
    const std::vector<float> scales = scales_of(from, (first + rows - 1) / rows_ + 1 - from);
    for (int64_t r = 0; r < rows; ++r) {
      const float* of_row = scales.data() + ((first + r) / rows_ - from) * across_;
      const uint8_t* row = codes.data() + r * in;
      float* to_row = to + r * in;
      for (int64_t g = 0; g < across_; ++g) {
        for (int64_t c = g * columns_; c < std::min(in, (g + 1) * columns_); ++c) {
          to_row[c] = numbers_[row[c]] * of_row[g];
        }
      }
      require_finite(to_row, first + r);
    }
  }

 private:
  FloatLinear(PackedParts parts, int64_t out, int64_t in, const FloatLayout& layout)
      : PackedLinear(out, in),
        parts_(std::move(parts)),
        layout_(layout),
        numbers_(numbers_of(layout.element)) {}

  // A code, a scale or a product may stand for no number.
  void require_finite(const float* row, int64_t index) const {
    const float* end = row + in_features();
    const float* bad = std::find_if(row, end, [](float value) { return !std::isfinite(value); });
    if (bad != end) {
      fail(QUENCH_DATA_LOSS, "{}: weight [{}, {}] is not finite", parts_.where(), index, bad - row);
    }
  }

  void find_scales(const FloatScheme& scheme) {
    const std::vector<int64_t> shape = {parts_of(out_features(), rows_), across_};
    switch (layout_.scale) {
      case ScaleType::kE8M0:
        scale_ = parts_.shaped(".weight_scale", kUInt8, shape);
        break;
      case ScaleType::kTwoLevel:
        scale_ = parts_.shaped(".weight_scale", kFloat8E4M3, shape);
        read_global_scale();
        break;
      case ScaleType::kFloat32:
        scale_ = scheme.is_whole() ? one_scale() : parts_.floating(".weight_scale", shape);
    }
    if (parts_.find(".weight_zero_point")) {
      fail(QUENCH_DATA_LOSS, "{}: has weight_zero_point, and the config says symmetric",
           parts_.where());
    }
  }

  // Writers give the scale of a whole weight the shape [], [1] or [1, 1].
  uint64_t one_scale() const {
    const uint64_t index = parts_.require(".weight_scale");
    const TensorInfo& tensor = parts_.info(index);
    if (!is_floating(tensor.dtype) || *element_count(tensor.shape) != 1) {
      parts_.refuse(".weight_scale", "one number of a floating-point type");
    }
    return index;
  }

  void read_global_scale() {
    constexpr std::string_view kEnding = ".weight_global_scale";
    const uint64_t index = parts_.require(kEnding);
    const TensorInfo& tensor = parts_.info(index);
    if (!same_dtype(tensor.dtype, kFloat32) || *element_count(tensor.shape) != 1) {
      parts_.refuse(kEnding, "one F32");
    }
    global_ = parts_.read<float>(index, 0, 1)[0];
    if (!std::isfinite(global_) || !(global_ > 0)) {
      fail(QUENCH_DATA_LOSS, "{}: weight_global_scale is {}, wanted a number above 0",
           parts_.where(), global_);
    }
  }

  std::vector<uint8_t> codes_of(int64_t first, int64_t rows) const {
    const auto in = static_cast<uint64_t>(in_features());
    const auto from = static_cast<uint64_t>(first);
    const auto count = static_cast<uint64_t>(rows);
    if (!layout_.is_packed()) {
      return parts_.read<uint8_t>(codes_, from * in, count * in);
    }
    const auto bits = static_cast<uint64_t>(layout_.bits());
    const uint64_t bytes = in * bits / 8;  // whole words: a block has a multiple of 32 bits
    std::vector<uint32_t> words(count * bytes / sizeof(uint32_t));
    parts_.source().read(codes_, from * bytes, count * bytes, words.data());
    std::vector<uint8_t> codes(count * in);
    unpack_codes(words.data(), 1, codes.size(), layout_.bits(), CodeOrder::kStream, codes.data(),
                 1);
    return codes;
  }

  std::vector<float> scales_of(int64_t first, int64_t rows) const {
    const auto from = static_cast<uint64_t>(first * across_);
    const auto count = static_cast<uint64_t>(rows * across_);
    std::vector<float> out(count);
    if (layout_.scale == ScaleType::kFloat32) {
      parts_.floats(scale_, from, count, out.data());
      return out;
    }
    const std::vector<uint8_t> codes = parts_.read<uint8_t>(scale_, from, count);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = layout_.scale == ScaleType::kE8M0
                   ? static_cast<float>(number_formats::decode_e8m0(codes[i]))
                   : two_level_scale(codes[i], global_);
    }
    return out;
  }

  PackedParts parts_;
  const FloatLayout& layout_;
  std::array<float, 256> numbers_;
  uint64_t codes_ = 0;
  uint64_t scale_ = 0;
  float global_ = 1;
  int64_t rows_ = 0;  // that share a scale
  int64_t columns_ = 0;
  int64_t across_ = 0;  // scales beside each other
};

}  // namespace

std::vector<std::string_view> float_endings(const FloatLayout& layout) {
  if (layout.is_packed()) {
    return {".weight_packed", ".weight_scale", ".weight_global_scale", ".weight_zero_point"};
  }
  return {".weight_scale", ".weight", ".weight_zero_point"};
}

std::unique_ptr<PackedLinear> open_float_linear(PackedParts parts, const FloatScheme& scheme) {
  return FloatLinear::open(std::move(parts), scheme);
}

}  // namespace quench::formats
