// level_tables: of linear M the tensors M.levels, float16 [out, entries], and M.pairs, uint8
// [out, in / 2]: two places in a row of levels to a byte, the first in the low bits.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quench/kit/format.hpp"

namespace kit = quench::kit;

namespace {

constexpr const char* kMethod = "level_tables";
constexpr std::string_view kLevels = ".levels";
constexpr std::string_view kPairs = ".pairs";

struct Params {
  static void describe(kit::Fields<Params>&) {}
};

class Opened final : public kit::Checkpoint {
 public:
  explicit Opened(const kit::Place& place) : base_(place.tensors()) {
    for (uint64_t i = 0; i < base_.count(); ++i) {
      const quench_tensor_info info = base_.info(i);
      const std::string name = info.name;
      if (name.ends_with(kLevels)) {
        add_linear(name.substr(0, name.size() - kLevels.size()), info, i);
      } else if (!name.ends_with(kPairs)) {
        const uint64_t own = tensors().size();
        linears_.push_back({.plain = i});
        add({name, info.dtype, {info.shape, info.shape + info.dimensions}, own});
      }
    }
    set_quantization(R"({"writer": "level_tables"})");
  }

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const Linear& linear = linears_[index];
    if (linear.levels.empty()) {
      return base_.read(linear.plain, first, elements, destination);
    }
    std::vector<uint8_t> pairs((first + elements - 1) / 2 - first / 2 + 1);
    base_.read(linear.pairs, first / 2, pairs.size(), pairs.data());
    auto* out = static_cast<float*>(destination);
    for (uint64_t i = first; i < first + elements; ++i) {
      const uint8_t pair = pairs[i / 2 - first / 2];
      const uint64_t level = i % 2 == 0 ? pair & 15 : pair >> 4;
      if (level >= linear.entries) {
        kit::fail(QUENCH_DATA_LOSS, "%s: level %llu of %llu", tensors()[index].name.c_str(),
                  static_cast<unsigned long long>(level),
                  static_cast<unsigned long long>(linear.entries));
      }
      out[i - first] = kit::from_half(linear.levels[i / linear.in * linear.entries + level]);
    }
  }

 private:
  struct Linear {
    uint64_t plain = 0;  // of a tensor that is as it was
    uint64_t pairs = 0;
    uint64_t in = 0;
    uint64_t entries = 0;
    std::vector<uint16_t> levels = {};  // [out, entries], float16
  };

  void add_linear(const std::string& module, const quench_tensor_info& levels, uint64_t at) {
    const std::optional<uint64_t> pairs = base_.find(module + std::string(kPairs));
    if (!pairs || levels.dimensions != 2 || !kit::same(levels.dtype, kit::kFloat16) ||
        base_.info(*pairs).dimensions != 2 || base_.info(*pairs).shape[0] != levels.shape[0] ||
        !kit::same(base_.info(*pairs).dtype, kit::kUInt8)) {
      kit::fail(QUENCH_DATA_LOSS,
                "%s: wanted float16 [out, entries] beside %s of uint8 [out, in/2]", levels.name,
                std::string(kPairs).c_str());
    }
    const int64_t in = base_.info(*pairs).shape[1] * 2;
    Linear linear{.pairs = *pairs,
                  .in = static_cast<uint64_t>(in),
                  .entries = static_cast<uint64_t>(levels.shape[1])};
    linear.levels.resize(static_cast<size_t>(levels.shape[0] * levels.shape[1]));
    base_.read(at, 0, linear.levels.size(), linear.levels.data());
    const uint64_t own = tensors().size();
    add({module + ".weight", kit::kFloat32, {levels.shape[0], in}, own});
    linears_.push_back(std::move(linear));
  }

  kit::Source base_;
  std::vector<Linear> linears_;  // by tensor
};

class Writer final : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink&, std::span<float>,
             quench_stored_linear&) override {
    kit::fail(QUENCH_UNSUPPORTED, "%s: integer codes; level_tables holds values", linear.name);
  }

  void store_codebook(const quench_codebook_linear& linear, const kit::FormatSink& sink,
                      std::span<float> weight, quench_stored_linear& stored) override {
    if (linear.tables != linear.out || linear.block != linear.in || linear.entries > 16 ||
        linear.in % 2 != 0) {
      kit::fail(QUENCH_UNSUPPORTED,
                "%s: level_tables holds up to 16 values for each row of an even length",
                linear.name);
    }
    std::vector<uint16_t> levels(static_cast<size_t>(linear.tables * linear.entries));
    stored.scales = levels.size();
    for (size_t i = 0; i < levels.size(); ++i) {
      const double level = linear.table[i] * linear.scales[i / static_cast<size_t>(linear.entries)];
      levels[i] = kit::to_half(level);
      const double change = std::fabs(kit::from_half(levels[i]) - level);
      if (!std::isfinite(change)) {
        kit::fail(QUENCH_NUMERICAL, "%s: float16 does not hold the value %g", linear.name, level);
      }
      if (change > 0) {
        ++stored.rounded_scales;
        stored.largest_change = std::max(stored.largest_change, change / std::fabs(level));
      }
    }
    std::vector<uint8_t> pairs(weight.size() / 2);
    for (size_t i = 0; i < weight.size(); ++i) {
      const size_t row = i / static_cast<size_t>(linear.in);
      const uint8_t level = linear.indices[i];
      pairs[i / 2] |= static_cast<uint8_t>(i % 2 == 0 ? level : level << 4);
      weight[i] = kit::from_half(levels[row * static_cast<size_t>(linear.entries) + level]);
    }
    const std::string module = linear.name;
    sink.tensor(module + std::string(kLevels), kit::kFloat16, {linear.out, linear.entries},
                levels.data());
    sink.tensor(module + std::string(kPairs), kit::kUInt8, {linear.out, linear.in / 2},
                pairs.data());
  }

  void finish(const kit::FloatLinears&, const kit::FormatSink& sink) override {
    sink.config(R"({"quantization_config": {"quant_method": "level_tables"}})");
    sink.quantization(R"({"writer": "level_tables"})");
  }
};

struct LevelTables {
  using Params = ::Params;

  static int32_t probe(const kit::Place& place, std::string&) {
    if (place.config().empty()) {
      return 0;
    }
    const kit::Json config(place.config().data(), place.config().size());
    return config.string_or("/quantization_config/quant_method", "") == kMethod ? 100 : 0;
  }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    return std::make_unique<Opened>(place);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t, int64_t in) {
    if (scheme.bits != 0) {
      return "integer codes; level_tables holds values";
    }
    return in % 2 == 0 ? "" : std::to_string(in) + " columns; level_tables holds even numbers";
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<Writer>();
  }
};

}  // namespace

QUENCH_MODULE("level_tables", "0.1.0",
              kit::format<LevelTables>({.id = "level_tables",
                                        .version = "0.1.0",
                                        .summary = "A table of float16 for each row."}))
