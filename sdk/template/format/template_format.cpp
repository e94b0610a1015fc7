// template_format: codes a byte each, with scales and zero points, or with a table, in float32.
//
// | tensor    | type    | shape             | what it is                               |
// |-----------|---------|-------------------|------------------------------------------|
// | M.codes   | uint8   | [out, in]         | integer codes                            |
// | M.scales  | float32 | [out, groups]     | steps of the grid                        |
// | M.zeros   | float32 | [out, groups]     | codes that stand for 0                   |
// | M.g_idx   | int32   | [in]              | group of each input column               |
// | M.indices | uint8   | [out, in]         | instead of codes: entries of the table   |
// | M.table   | float32 | [tables, entries] | one table, or one for each row           |
// | M.factors | float32 | [blocks]          | of as many elements in C order as        |
// | M.block   | int32   | [1]               | says; the last block may have fewer      |
//
//   quench quantize MODEL --quantizer rtn:bits=4 --format template_format -o FOLDER
//   quench eval FOLDER ...
//
// Element [r, c] of the weight of linear M is scales[r, g] * (codes[r, c] - zeros[r, g]) with
// g = g_idx[c], in float32; of one with a table it is factors[i / block] * table[t, indices[r, c]],
// i counting the elements and t being r or 0. A folder is of this format where config.json says
// {"quantization_config": {"quant_method": "template_format"}}.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "quench/kit/format.hpp"

namespace kit = quench::kit;

namespace {

constexpr const char* kMethod = "template_format";
constexpr std::string_view kParts[] = {".codes",   ".scales", ".zeros",   ".g_idx",
                                       ".indices", ".table",  ".factors", ".block"};

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

// The same of a linear with a table, whose values are few.
struct Lookup {
  uint64_t indices = 0;
  uint64_t factors = 0;
  uint64_t in = 0;
  uint64_t block = 0;
  uint64_t entries = 0;
  std::vector<float> table;  // [tables, entries]
};

class Opened final : public kit::Checkpoint {
 public:
  explicit Opened(const kit::Place& place) : base_(place.tensors()) {
    for (uint64_t i = 0; i < base_.count(); ++i) {
      const quench_tensor_info info = base_.info(i);
      const std::string name = info.name;
      if (name.ends_with(kParts[0])) {
        add_linear(name.substr(0, name.size() - kParts[0].size()), i);
      } else if (name.ends_with(kParts[4])) {
        add_lookup(name.substr(0, name.size() - kParts[4].size()), i);
      } else if (!is_part(name)) {
        const uint64_t own = tensors().size();
        places_.push_back(i);
        add({name, info.dtype, {info.shape, info.shape + info.dimensions}, own});
      }
    }
    set_quantization(R"({"writer": "template_format"})");
  }

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    if (const auto lookup = lookups_.find(index); lookup != lookups_.end()) {
      look_up(lookup->second, first, elements, static_cast<float*>(destination));
      return;
    }
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
  void look_up(const Lookup& linear, uint64_t first, uint64_t elements, float* out) const {
    std::vector<uint8_t> indices(elements);
    base_.read(linear.indices, first, elements, indices.data());
    const uint64_t block = first / linear.block;
    std::vector<float> factors((first + elements - 1) / linear.block - block + 1);
    base_.read(linear.factors, block, factors.size(), factors.data());
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t row = linear.table.size() == linear.entries ? 0 : (first + i) / linear.in;
      if (indices[i] >= linear.entries) {
        kit::fail(QUENCH_DATA_LOSS, "index %u of a table of %llu", unsigned{indices[i]},
                  static_cast<unsigned long long>(linear.entries));
      }
      out[i] = factors[(first + i) / linear.block - block] *
               linear.table[row * linear.entries + indices[i]];
    }
  }

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

  void add_lookup(const std::string& module, uint64_t indices) {
    const quench_tensor_info info = base_.info(indices);
    const std::optional<uint64_t> table = base_.find(module + ".table");
    if (info.dimensions != 2 || !kit::same(info.dtype, kit::kUInt8) || !table ||
        base_.info(*table).dimensions != 2 || base_.info(*table).shape[1] < 1) {
      kit::fail(QUENCH_DATA_LOSS, "'%s': wanted uint8 [out, in] beside a table", info.name);
    }
    const int64_t out = info.shape[0];
    const int64_t tables = base_.info(*table).shape[0] == 1 ? 1 : out;
    const int64_t entries = base_.info(*table).shape[1];
    int32_t block = 0;
    base_.read(part(module, 7, kit::kInt32, {1}), 0, 1, &block);
    if (block < 1) {
      kit::fail(QUENCH_DATA_LOSS, "linear '%s': blocks of %d", module.c_str(), block);
    }
    Lookup linear;
    linear.indices = indices;
    linear.in = static_cast<uint64_t>(info.shape[1]);
    linear.block = static_cast<uint64_t>(block);
    linear.entries = static_cast<uint64_t>(entries);
    linear.factors = part(module, 6, kit::kFloat32, {(out * info.shape[1] + block - 1) / block});
    linear.table.resize(static_cast<size_t>(tables * entries));
    base_.read(part(module, 5, kit::kFloat32, {tables, entries}), 0, linear.table.size(),
               linear.table.data());
    const uint64_t own = tensors().size();
    places_.push_back(0);
    lookups_[add({module + ".weight", kit::kFloat32, {out, info.shape[1]}, own})] =
        std::move(linear);
  }

  kit::Source base_;
  std::vector<uint64_t> places_;        // by tensor, its index in the base
  std::map<uint64_t, Linear> linears_;  // by tensor
  std::map<uint64_t, Lookup> lookups_;  // by tensor
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
    note_rounding(scales, linear.scales, stored);
    const std::string module = linear.name;
    sink.tensor(module + ".codes", kit::kUInt8, {linear.out, linear.in}, linear.codes);
    sink.tensor(module + ".scales", kit::kFloat32, {linear.out, linear.groups}, scales.data());
    sink.tensor(module + ".zeros", kit::kFloat32, {linear.out, linear.groups}, zeros.data());
    sink.tensor(module + ".g_idx", kit::kInt32, {linear.in}, linear.g_idx);
  }

  void store_codebook(const quench_codebook_linear& linear, const kit::FormatSink& sink,
                      std::span<float> weight, quench_stored_linear& stored) override {
    const std::vector<float> table(linear.table, linear.table + linear.tables * linear.entries);
    const std::vector<float> factors(linear.scales, linear.scales + linear.blocks);
    for (size_t i = 0; i < weight.size(); ++i) {
      const size_t row = linear.tables == 1 ? 0 : i / static_cast<size_t>(linear.in);
      weight[i] = factors[i / static_cast<size_t>(linear.block)] *
                  table[row * static_cast<size_t>(linear.entries) + linear.indices[i]];
    }
    note_rounding(factors, linear.scales, stored);
    const auto block = static_cast<int32_t>(linear.block);
    const std::string module = linear.name;
    sink.tensor(module + ".indices", kit::kUInt8, {linear.out, linear.in}, linear.indices);
    sink.tensor(module + ".table", kit::kFloat32, {linear.tables, linear.entries}, table.data());
    sink.tensor(module + ".factors", kit::kFloat32, {linear.blocks}, factors.data());
    sink.tensor(module + ".block", kit::kInt32, {1}, &block);
  }

  void finish(const kit::FloatLinears&, const kit::FormatSink& sink) override {
    sink.config(R"({"quantization_config": {"quant_method": "template_format"}})");
    sink.quantization(R"({"writer": "template_format"})");
  }

 private:
  // What became of the scales in float32.
  static void note_rounding(const std::vector<float>& kept, const double* scales,
                            quench_stored_linear& stored) {
    stored.scales = kept.size();
    for (size_t i = 0; i < kept.size(); ++i) {
      const double change = static_cast<double>(kept[i]) - scales[i];
      if (change != 0) {
        ++stored.rounded_scales;
        stored.largest_change =
            std::max(stored.largest_change, std::abs(change) / std::abs(scales[i]));
      }
    }
  }
};

struct TemplateFormat {
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

QUENCH_MODULE(
    "template_format", "0.1.0",
    kit::format<TemplateFormat>({.id = "template_format",
                                 .version = "0.1.0",
                                 .summary = "Codes a byte each, scales and tables in float32."}))
