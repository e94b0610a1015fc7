#include "formats/gptq_layout/gptq_linear.hpp"

#include "formats/gptq_layout/gptq_zeros.hpp"
#include "formats/packed/grouped_linear.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

// qweight [in·bits/32, out] along the input, qzeros [groups, out·bits/32] along the output,
// scales [groups, out], g_idx [in].
class GptqLinear final : public GroupedLinear {
 public:
  static std::unique_ptr<PackedLinear> open(PackedParts parts, const GptqConfig& config) {
    const uint64_t qweight = parts.matrix(".qweight", kInt32);
    const std::vector<int64_t> packed = parts.info(qweight).shape;
    int64_t bits = config.scheme.bits;
    const std::optional<uint64_t> g_idx = parts.find(".g_idx");
    if (config.varied && g_idx && parts.info(*g_idx).shape.size() == 1 &&
        parts.info(*g_idx).shape[0] > 0) {
      bits = packed[0] * 32 / parts.info(*g_idx).shape[0];
      if (bits != 2 && bits != 3 && bits != 4 && bits != 8) {
        fail(QUENCH_DATA_LOSS, "{}: {} words for {} columns are {} bits each, read are 2, 3, 4, 8",
             parts.where(), packed[0], parts.info(*g_idx).shape[0], bits);
      }
    }
    if (packed[0] * 32 % bits != 0 || packed[0] * 32 / bits > kMaxPackedSide) {
      parts.refuse(".qweight", fmt::format("rows that {} bits divide", bits));
    }
    const uint64_t scales = parts.require(".scales");
    const int64_t groups = parts.info(scales).shape.size() == 2 ? parts.info(scales).shape[0] : 0;
    auto out = std::unique_ptr<GptqLinear>(
        new GptqLinear(std::move(parts), packed[1], packed[0] * 32 / bits, groups));
    out->bits_ = bits;
    out->config_ = config;
    out->qweight_ = qweight;
    out->check_groups(g_idx.has_value());
    return out;
  }

  int64_t row_step() const override { return 32; }

 private:
  using GroupedLinear::GroupedLinear;

  void check_groups(bool indexed) {
    if (groups_ < 1 || groups_ > in_features()) {
      parts_.refuse(".scales", "[groups, out]");
    }
    scales_ = parts_.floating(".scales", {groups_, out_features()});
    zero_words_ = static_cast<int64_t>(
        words_for(static_cast<uint64_t>(out_features()), bits_, CodeOrder::kStream));
    qzeros_ = parts_.shaped(".qzeros", kInt32, {groups_, zero_words_});
    if (indexed) {
      if (!config_.varied) {
        expect_groups(config_.scheme.group_size, ".scales");
      }
      group_by_index(".g_idx");
    } else if (config_.scheme.ordered) {
      parts_.require(".g_idx");
    } else {
      group_by_size(config_.scheme.group_size, ".scales");
    }
  }

  void load(int64_t first, int64_t rows, PackedTile& tile) const override {
    const auto in = static_cast<uint64_t>(in_features());
    const auto out = static_cast<uint64_t>(out_features());
    const auto count = static_cast<uint64_t>(rows);
    const auto from = static_cast<uint64_t>(first);
    const uint64_t down = words_for(in, bits_, CodeOrder::kStream);
    const std::vector<uint32_t> words = parts_.words(qweight_, down, out, from, count);
    for (uint64_t r = 0; r < count; ++r) {
      unpack_codes(words.data() + r, count, in, bits_, CodeOrder::kStream,
                   tile.codes.data() + r * in, 1);
    }
    load_grids(from, count, tile);
  }

  void load_grids(uint64_t from, uint64_t count, PackedTile& tile) const {
    const auto groups = static_cast<uint64_t>(groups_);
    const uint64_t first_word = from * static_cast<uint64_t>(bits_) / 32;  // from % 32 == 0
    const uint64_t across = words_for(count, bits_, CodeOrder::kStream);
    std::vector<float> scales(count);
    std::vector<uint8_t> zeros(count);
    for (uint64_t g = 0; g < groups; ++g) {
      const std::vector<uint32_t> words = parts_.read<uint32_t>(
          qzeros_, g * static_cast<uint64_t>(zero_words_) + first_word, across);
      decode_gptq_zeros(words, config_, bits_, first_word, zeros, parts_.where());
      parts_.floats(scales_, g * static_cast<uint64_t>(out_features()) + from, count,
                    scales.data());
      for (uint64_t r = 0; r < count; ++r) {
        tile.scales[r * groups + g] = scales[r];
        tile.zeros[r * groups + g] = zeros[r];
      }
    }
  }

  int64_t bits_ = 0;
  int64_t zero_words_ = 0;
  GptqConfig config_;
  uint64_t qweight_ = 0;
  uint64_t qzeros_ = 0;
  uint64_t scales_ = 0;
};

}  // namespace

std::unique_ptr<PackedLinear> open_gptq_linear(PackedParts parts, const GptqConfig& config) {
  return GptqLinear::open(std::move(parts), config);
}

}  // namespace quench::formats
