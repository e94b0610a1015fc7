#include "formats/awq/awq_linear.hpp"

#include "formats/packed/grouped_linear.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/packed/scheme.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

// qweight [in, out/8] and qzeros [groups, out/8] along the output, scales [groups, out].
class AwqLinear final : public GroupedLinear {
 public:
  static std::unique_ptr<PackedLinear> open(PackedParts parts, int64_t group_size) {
    const uint64_t qweight = parts.matrix(".qweight", kInt32);
    const int64_t in = parts.info(qweight).shape[0];
    const int64_t out = parts.info(qweight).shape[1] * 8;
    if (out > kMaxPackedSide) {
      parts.refuse(".qweight", fmt::format("at most {} words in a row", kMaxPackedSide / 8));
    }
    const int64_t size = group_size == -1 ? in : group_size;
    const int64_t groups = (in + size - 1) / size;
    const uint64_t scales = parts.floating(".scales", {groups, out});
    const uint64_t qzeros = parts.shaped(".qzeros", kInt32, {groups, out / 8});
    auto made = std::unique_ptr<AwqLinear>(new AwqLinear(std::move(parts), out, in, groups));
    made->qweight_ = qweight;
    made->scales_ = scales;
    made->qzeros_ = qzeros;
    made->group_by_size(size, ".scales");
    return made;
  }

  int64_t row_step() const override { return 8; }

 private:
  using GroupedLinear::GroupedLinear;

  void load(int64_t first, int64_t rows, PackedTile& tile) const override {
    const auto in = static_cast<uint64_t>(in_features());
    const auto groups = static_cast<uint64_t>(groups_);
    const auto count = static_cast<uint64_t>(rows);
    const auto stride = static_cast<uint64_t>(out_features() / 8);
    const auto from = static_cast<uint64_t>(first / 8);
    const uint64_t across = count / 8;  // rows is a multiple of 8, as are all rows
    const std::vector<uint32_t> words = parts_.words(qweight_, in, stride, from, across);
    for (uint64_t c = 0; c < in; ++c) {
      unpack_codes(words.data() + c * across, 1, count, 4, CodeOrder::kAwq, tile.codes.data() + c,
                   in);
    }
    const std::vector<uint32_t> packed = parts_.words(qzeros_, groups, stride, from, across);
    std::vector<uint8_t> zeros(count);
    std::vector<float> scales(count);
    for (uint64_t g = 0; g < groups; ++g) {
      unpack_codes(packed.data() + g * across, 1, count, 4, CodeOrder::kAwq, zeros.data(), 1);
      parts_.floats(scales_, g * stride * 8 + static_cast<uint64_t>(first), count, scales.data());
      for (uint64_t r = 0; r < count; ++r) {
        tile.scales[r * groups + g] = scales[r];
        tile.zeros[r * groups + g] = zeros[r];
      }
    }
  }

  uint64_t qweight_ = 0;
  uint64_t scales_ = 0;
  uint64_t qzeros_ = 0;
};

}  // namespace

std::unique_ptr<PackedLinear> open_awq_linear(PackedParts parts, int64_t group_size) {
  return AwqLinear::open(std::move(parts), group_size);
}

}  // namespace quench::formats
