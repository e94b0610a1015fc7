#include "formats/bnb_int8/int8_linear.hpp"

#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

// weight int8 [out, in] and SCB float32 [out]: weight · SCB · (1/127), in this order, in float32.
class Int8Linear final : public PackedLinear {
 public:
  static std::unique_ptr<PackedLinear> open(PackedParts parts) {
    const uint64_t codes = parts.matrix(".weight", kInt8);
    const std::vector<int64_t> shape = parts.info(codes).shape;
    const uint64_t scale = parts.shaped(".SCB", kFloat32, {shape[0]});
    if (const std::optional<uint64_t> form = parts.find(".weight_format")) {
      if (!same_dtype(parts.info(*form).dtype, kUInt8) ||
          *element_count(parts.info(*form).shape) != 1) {
        parts.refuse(".weight_format", "one U8");
      }
      if (const uint8_t layout = parts.read<uint8_t>(*form, 0, 1)[0]; layout != 0) {
        fail(QUENCH_UNSUPPORTED, "{}: weight_format = {}, read is 0 (rows)", parts.where(), layout);
      }
    }
    return std::unique_ptr<PackedLinear>(
        new Int8Linear(std::move(parts), shape[0], shape[1], codes, scale));
  }

  void dequantize(int64_t first, int64_t rows, float* to) const override {
    const auto in = static_cast<uint64_t>(in_features());
    const auto from = static_cast<uint64_t>(first);
    const auto count = static_cast<uint64_t>(rows);
    const std::vector<int8_t> codes = parts_.read<int8_t>(codes_, from * in, count * in);
    const std::vector<float> scales = parts_.read<float>(scale_, from, count);
    for (uint64_t i = 0; i < codes.size(); ++i) {
      to[i] = static_cast<float>(codes[i]) * scales[i / in] * kInt8Unit;
    }
  }

 private:
  Int8Linear(PackedParts parts, int64_t out, int64_t in, uint64_t codes, uint64_t scale)
      : PackedLinear(out, in), parts_(std::move(parts)), codes_(codes), scale_(scale) {}

  PackedParts parts_;
  uint64_t codes_;
  uint64_t scale_;
};

}  // namespace

std::unique_ptr<PackedLinear> open_int8_linear(PackedParts parts) {
  return Int8Linear::open(std::move(parts));
}

}  // namespace quench::formats
