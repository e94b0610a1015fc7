// golden_format: codes a byte each, with scales and zero points in float32.
//
// | tensor   | type    | shape         | what it is                  |
// |----------|---------|---------------|-----------------------------|
// | M.codes  | uint8   | [out, in]     | integer codes               |
// | M.scales | float32 | [out, groups] | steps of the grid           |
// | M.zeros  | float32 | [out, groups] | codes that stand for 0      |
// | M.g_idx  | int32   | [in]          | group of each input column  |
//
//   quench quantize MODEL --quantizer rtn:bits=4 --format golden_format -o FOLDER
//   quench eval FOLDER ...
//
// Element [r, c] of the weight of linear M is scales[r, g] * (codes[r, c] - zeros[r, g]) with
// g = g_idx[c], in float32. A folder is of this format where config.json says
// {"quantization_config": {"quant_method": "golden_format"}}.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "quench/kit/format.hpp"

namespace kit = quench::kit;

namespace {

constexpr const char* kMethod = "golden_format";
constexpr std::string_view kParts[] = {".codes", ".scales", ".zeros", ".g_idx"};

struct Params {
  static void describe(kit::Fields<Params>&) {}
};

// Where the parts of a linear lie among the tensors of the place.
struct Linear {
  uint64_t codes = 0;
  uint64_t scales = 0;
  uint64_t zeros = 0;
  uint64_t groups = 0;
  uint64_t in = 0;
  std::vector<int32_t> g_idx;  // [in]
};

class Opened final : public kit::Checkpoint {
 public:
  explicit Opened(const kit::Place& place) : base_(place.tensors()) {
    for (uint64_t i = 0; i < base_.count(); ++i) {
      const quench_tensor_info info = base_.info(i);
      const std::string name = info.name;
      if (name.ends_with(kParts[0])) {
        add_linear(name.substr(0, name.size() - kParts[0].size()), i);
      } else if (!is_part(name)) {
        const uint64_t own = tensors().size();
        places_.push_back(i);
        add({name, info.dtype, {info.shape, info.shape + info.dimensions}, own});
      }
    }
    set_quantization(R"({"writer": "golden_format"})");
  }

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const auto found = linears_.find(index);
    if (found == linears_.end()) {
      base_.read(places_[index], first, elements, destination);
      return;
    }
    const Linear& linear = found->second;
    std::vector<uint8_t> codes(elements);
    base_.read(linear.codes, first, elements, codes.data());
    std::vector<float> scales(linear.groups);
    std::vector<float> zeros(linear.groups);
    auto* out = static_cast<float*>(destination);
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t column = (first + i) % linear.in;
      if (i == 0 || column == 0) {
        const uint64_t row = (first + i) / linear.in;
        base_.read(linear.scales, row * linear.groups, linear.groups, scales.data());
        base_.read(linear.zeros, row * linear.groups, linear.groups, zeros.data());
      }
      const auto group = static_cast<size_t>(linear.g_idx[column]);
      out[i] = scales[group] * (static_cast<float>(codes[i]) - zeros[group]);
    }
  }

 private:
  static bool is_part(const std::string& name) {
    for (const std::string_view part : kParts) {
      if (name.ends_with(part)) {
        return true;
      }
    }
    return false;
  }

  // A part with its shape, or DATA_LOSS.
  uint64_t part(const std::string& module, size_t which, quench_dtype dtype,
                const std::vector<int64_t>& shape) const {
    const std::string name = module + std::string(kParts[which]);
    const std::optional<uint64_t> index = base_.find(name);
    if (!index) {
      kit::fail(QUENCH_DATA_LOSS, "linear '%s': '%s' is missing", module.c_str(), name.c_str());
    }
    const quench_tensor_info info = base_.info(*index);
    const std::vector<int64_t> got(info.shape, info.shape + info.dimensions);
    if (!kit::same(info.dtype, dtype) || got != shape) {
      kit::fail(QUENCH_DATA_LOSS, "'%s' is %s %s, wanted %s %s", name.c_str(),
                kit::name_of(info.dtype).c_str(), kit::shape_text(got).c_str(),
                kit::name_of(dtype).c_str(), kit::shape_text(shape).c_str());
    }
    return *index;
  }

  void add_linear(const std::string& module, uint64_t codes) {
    const quench_tensor_info info = base_.info(codes);
    if (info.dimensions != 2 || !kit::same(info.dtype, kit::kUInt8)) {
      kit::fail(QUENCH_DATA_LOSS, "'%s': wanted uint8 [out, in]", info.name);
    }
    const int64_t out = info.shape[0];
    const int64_t in = info.shape[1];
    const std::optional<uint64_t> scales = base_.find(module + ".scales");
    const int64_t groups =
        scales && base_.info(*scales).dimensions == 2 ? base_.info(*scales).shape[1] : 1;
    Linear linear;
    linear.codes = codes;
    linear.scales = part(module, 1, kit::kFloat32, {out, groups});
    linear.zeros = part(module, 2, kit::kFloat32, {out, groups});
    linear.groups = static_cast<uint64_t>(groups);
    linear.in = static_cast<uint64_t>(in);
    linear.g_idx.resize(linear.in);
    base_.read(part(module, 3, kit::kInt32, {in}), 0, linear.in, linear.g_idx.data());
    for (const int32_t group : linear.g_idx) {
      if (group < 0 || group >= groups) {
        kit::fail(QUENCH_DATA_LOSS, "linear '%s': g_idx has group %d of %lld", module.c_str(),
                  group, static_cast<long long>(groups));
      }
    }
    const uint64_t own = tensors().size();
    places_.push_back(0);
    linears_[add({module + ".weight", kit::kFloat32, {out, in}, own})] = std::move(linear);
  }

  kit::Source base_;
  std::vector<uint64_t> places_;        // by tensor, its index in the base
  std::map<uint64_t, Linear> linears_;  // by tensor
};

class Writer final : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink& sink,
             std::span<float> weight, quench_stored_linear& stored) override {
    const auto count = static_cast<size_t>(linear.out * linear.groups);
    const std::vector<float> scales(linear.scales, linear.scales + count);
    const std::vector<float> zeros(linear.zeros, linear.zeros + count);
    for (size_t i = 0; i < weight.size(); ++i) {
      const size_t row = i / static_cast<size_t>(linear.in);
      const auto group = static_cast<size_t>(linear.g_idx[i % static_cast<size_t>(linear.in)]);
      const size_t at = row * static_cast<size_t>(linear.groups) + group;
      weight[i] = scales[at] * (static_cast<float>(linear.codes[i]) - zeros[at]);
    }
    stored.scales = count;
    for (size_t i = 0; i < count; ++i) {
      const double change = static_cast<double>(scales[i]) - linear.scales[i];
      if (change != 0) {
        ++stored.rounded_scales;
        stored.largest_change =
            std::max(stored.largest_change, std::abs(change) / std::abs(linear.scales[i]));
      }
    }
    const std::string module = linear.name;
    sink.tensor(module + ".codes", kit::kUInt8, {linear.out, linear.in}, linear.codes);
    sink.tensor(module + ".scales", kit::kFloat32, {linear.out, linear.groups}, scales.data());
    sink.tensor(module + ".zeros", kit::kFloat32, {linear.out, linear.groups}, zeros.data());
    sink.tensor(module + ".g_idx", kit::kInt32, {linear.in}, linear.g_idx);
  }

  void finish(const kit::FloatLinears&, const kit::FormatSink& sink) override {
    sink.config(R"({"quantization_config": {"quant_method": "golden_format"}})");
    sink.quantization(R"({"writer": "golden_format"})");
  }
};

struct GoldenFormat {
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
  static std::string fits(const Params&, const quench_code_scheme&, int64_t, int64_t) {
    return "";  // every grid of 2 to 8 bits, of every shape
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<Writer>();
  }
};

}  // namespace

QUENCH_MODULE("golden_format", "0.1.0",
              kit::format<GoldenFormat>({.id = "golden_format",
                                         .version = "0.1.0",
                                         .summary = "Codes a byte each, scales in float32."}))
