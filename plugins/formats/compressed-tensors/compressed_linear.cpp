#include "formats/compressed-tensors/compressed_linear.hpp"

#include <array>

#include "formats/packed/grouped_linear.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

// weight_packed [out, words] along the input, weight_scale [out, groups], weight_shape int64 [2],
// weight_zero_point [words of out, groups] where the grid is not symmetric, weight_g_idx [in].
// Before version 0.9 zero points were int8 [out, groups] beside codes counted from the middle, and
// symmetric grids had them, too.
class CompressedLinear final : public GroupedLinear {
 public:
  static std::unique_ptr<PackedLinear> open(PackedParts parts, const Scheme& config) {
    const uint64_t packed = parts.matrix(".weight_packed", kInt32);
    const auto [out, in] = shape_of(parts);
    const auto across =
        static_cast<int64_t>(words_for(static_cast<uint64_t>(in), config.bits, CodeOrder::kPadded));
    parts.shaped(".weight_packed", kInt32, {out, across});
    const uint64_t scale = parts.require(".weight_scale");
    const int64_t groups = parts.info(scale).shape.size() == 2 ? parts.info(scale).shape[1] : 0;
    if (groups < 1 || groups > in) {
      parts.refuse(".weight_scale", "[out, groups]");
    }
    auto made =
        std::unique_ptr<CompressedLinear>(new CompressedLinear(std::move(parts), out, in, groups));
    made->packed_ = packed;
    made->bits_ = config.bits;
    made->across_ = static_cast<uint64_t>(across);
    made->check_groups(config);
    return made;
  }

 private:
  using GroupedLinear::GroupedLinear;

  static std::array<int64_t, 2> shape_of(const PackedParts& parts) {
    const uint64_t index = parts.require(".weight_shape");
    std::array<int64_t, 2> shape{};
    if (parts.info(index).shape != std::vector<int64_t>{2}) {
      parts.refuse(".weight_shape", "two integers");
    }
    if (same_dtype(parts.info(index).dtype, kInt64)) {
      parts.source().read(index, 0, 2, shape.data());
    } else if (same_dtype(parts.info(index).dtype, kInt32)) {
      const std::vector<int32_t> narrow = parts.read<int32_t>(index, 0, 2);
      shape = {narrow[0], narrow[1]};
    } else {
      parts.refuse(".weight_shape", "two integers");
    }
    for (const int64_t side : shape) {
      if (side < 1 || side > kMaxPackedSide) {
        fail(QUENCH_DATA_LOSS, "{}: weight_shape is [{}, {}], wanted sides of 1 to {}",
             parts.where(), shape[0], shape[1], kMaxPackedSide);
      }
    }
    return shape;
  }

  void check_groups(const Scheme& config) {
    scale_ = parts_.floating(".weight_scale", {out_features(), groups_});
    if (parts_.find(".weight_g_idx")) {
      expect_groups(config.group_size, ".weight_scale");
      group_by_index(".weight_g_idx");
    } else if (config.ordered && groups_ > 1) {  // one group has one order
      parts_.require(".weight_g_idx");
    } else {
      group_by_size(config.group_size, ".weight_scale");
    }
    if (const auto found = parts_.find(".weight_zero_point");
        found && same_dtype(parts_.info(*found).dtype, kInt8)) {
      read_unpacked_zeros(config.symmetric);
    } else if (!config.symmetric) {
      const auto words = static_cast<int64_t>(
          words_for(static_cast<uint64_t>(out_features()), bits_, CodeOrder::kPadded));
      zeros_ = parts_.shaped(".weight_zero_point", kInt32, {words, groups_});
    } else if (found) {
      fail(QUENCH_DATA_LOSS, "{}: has weight_zero_point, and the config says symmetric",
           parts_.where());
    }
  }

  void read_unpacked_zeros(bool symmetric) {
    const uint64_t index = parts_.shaped(".weight_zero_point", kInt8, {out_features(), groups_});
    const auto middle = int64_t{1} << (bits_ - 1);
    for (const int8_t zero :
         parts_.read<int8_t>(index, 0, static_cast<uint64_t>(out_features() * groups_))) {
      if (zero < (symmetric ? 0 : -middle) || zero >= (symmetric ? 1 : middle)) {
        fail(QUENCH_DATA_LOSS, "{}: weight_zero_point holds {}, wanted {}", parts_.where(), zero,
             symmetric ? "0: the config says symmetric"
                       : fmt::format("{} to {}", -middle, middle - 1));
      }
      unpacked_zeros_.push_back(static_cast<float>(zero + middle));
    }
  }

  void load(int64_t first, int64_t rows, PackedTile& tile) const override {
    const auto in = static_cast<uint64_t>(in_features());
    const auto groups = static_cast<uint64_t>(groups_);
    const auto from = static_cast<uint64_t>(first);
    const auto count = static_cast<uint64_t>(rows);
    const std::vector<uint32_t> words =
        parts_.read<uint32_t>(packed_, from * across_, count * across_);
    for (uint64_t r = 0; r < count; ++r) {
      unpack_codes(words.data() + r * across_, 1, in, bits_, CodeOrder::kPadded,
                   tile.codes.data() + r * in, 1);
    }
    parts_.floats(scale_, from * groups, count * groups, tile.scales.data());
    if (!unpacked_zeros_.empty()) {
      std::copy_n(unpacked_zeros_.begin() + static_cast<std::ptrdiff_t>(from * groups),
                  count * groups, tile.zeros.begin());
      return;
    }
    if (!zeros_) {
      std::fill(tile.zeros.begin(), tile.zeros.end(),
                static_cast<float>(int64_t{1} << (bits_ - 1)));
      return;
    }
    const uint64_t per_word = 32 / static_cast<uint64_t>(bits_);
    const uint64_t first_word = from / per_word;
    const uint64_t down = (from + count + per_word - 1) / per_word - first_word;
    const std::vector<uint32_t> packed =
        parts_.read<uint32_t>(*zeros_, first_word * groups, down * groups);
    std::vector<uint8_t> zeros(down * per_word);
    for (uint64_t g = 0; g < groups; ++g) {
      unpack_codes(packed.data() + g, groups, zeros.size(), bits_, CodeOrder::kPadded, zeros.data(),
                   1);
      for (uint64_t r = 0; r < count; ++r) {
        tile.zeros[r * groups + g] = zeros[from % per_word + r];
      }
    }
  }

  uint64_t packed_ = 0;
  uint64_t scale_ = 0;
  std::optional<uint64_t> zeros_;
  std::vector<float> unpacked_zeros_;  // [out, groups], from the lowest code; empty: not stored so
  int64_t bits_ = 0;
  uint64_t across_ = 0;
};

}  // namespace

std::unique_ptr<PackedLinear> open_compressed_linear(PackedParts parts, const Scheme& config) {
  return CompressedLinear::open(std::move(parts), config);
}

}  // namespace quench::formats
