// compressed-tensors: weights as llm-compressor stores them.
//
// Integers, in the layout "pack-quantized":
//
// | tensor              | type    | shape           | what it is                                  |
// |---------------------|---------|-----------------|---------------------------------------------|
// | M.weight_packed     | int32   | [out, words]    | codes along the input, 32 / bits a word     |
// | M.weight_scale      | float16 | [out, groups]   | steps of the grid                           |
// | M.weight_shape      | int64   | [2]             | out, in                                     |
// | M.weight_zero_point | int32   | [words, groups] | zero points along the output; asymmetric    |
// | M.weight_g_idx      | int32   | [in]            | group of each column; where order is stored |
//
//   quench quantize MODEL --quantizer gptq:bits=4,group_size=128 --format compressed-tensors -o
//   FOLDER
//
// The weight is scale[g] * (code - zero[g]) in float32; symmetric grids have 2^(bits-1) as zero.
// Zero points of early files, int8 [out, groups] counted from the middle, are read, too.
//
// Floats of 4 to 8 bits, in the layouts of formats/compressed-tensors/float_layout.hpp:
//
// | tensor                | type            | shape               | what it is                   |
// |-----------------------|-----------------|---------------------|------------------------------|
// | M.weight_packed       | uint8           | [out, in * bits/8]  | codes below 8 bits           |
// | M.weight              | F8_E4M3         | [out, in]           | codes of 8 bits              |
// | M.weight_scale        | uint8 (E8M0), F8_E4M3 or a float | [out, groups], [1] for the whole  |
// |                       |                 | weight, or by blocks in rows and columns           |
// | M.weight_global_scale | float32         | [1]                 | nvfp4: divides weight_scale  |
//
//   quench quantize MODEL --quantizer rtn:format=nvfp4 --format compressed-tensors -o FOLDER
//
// The weight is scale * element in float32; see there for the names and blocks.
#include <nlohmann/json.hpp>
#include <optional>

#include "formats/compressed-tensors/compressed_config.hpp"
#include "formats/compressed-tensors/compressed_linear.hpp"
#include "formats/compressed-tensors/float_linear.hpp"
#include "formats/compressed-tensors/float_writer.hpp"
#include "formats/packed/config_reader.hpp"
#include "formats/packed/group_fault.hpp"
#include "formats/packed/packed_checkpoint.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/packed/packed_writer.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;

constexpr const char* kId = "compressed-tensors";

// Integers, in the layout pack-quantized.
class IntegerWriter final : public PackedWriter {
 public:
  IntegerWriter() : PackedWriter(kId) {}

 private:
  std::string fault(const Scheme& scheme, int64_t out, int64_t in) const override {
    return out == 0 ? "" : group_fault(kId, scheme.group_size, in);
  }

  void put(const quench_coded_linear& linear, const Scheme& scheme, const kit::FormatSink& sink,
           std::span<float> weight, quench_stored_linear& stored) override {
    const HalfScales scales = round_scales(linear, stored);
    dequantize(linear, scales, weight);
    const auto out = static_cast<uint64_t>(linear.out);
    const auto in = static_cast<uint64_t>(linear.in);
    const auto groups = static_cast<uint64_t>(linear.groups);
    const uint64_t across = words_for(in, linear.bits, CodeOrder::kPadded);
    std::vector<uint32_t> words(out * across);
    for (uint64_t r = 0; r < out; ++r) {
      pack_codes(linear.codes + r * in, 1, in, linear.bits, CodeOrder::kPadded,
                 words.data() + r * across, 1);
    }
    const std::string module = std::string(linear.name) + ".";
    const int64_t shape[] = {linear.out, linear.in};
    sink.tensor(module + "weight_packed", kit::kInt32, {linear.out, static_cast<int64_t>(across)},
                words.data());
    sink.tensor(module + "weight_scale", kit::kFloat16, {linear.out, linear.groups},
                scales.bits.data());
    sink.tensor(module + "weight_shape", kit::kInt64, {2}, shape);
    sink.tensor(module + "weight_g_idx", kit::kInt32, {linear.in}, linear.g_idx);
    if (!scheme.symmetric) {
      const uint64_t down = words_for(out, linear.bits, CodeOrder::kPadded);
      const std::vector<uint8_t> zeros = by_group<uint8_t>(linear, linear.zeros);
      std::vector<uint32_t> packed(down * groups);
      for (uint64_t g = 0; g < groups; ++g) {
        pack_codes(zeros.data() + g * out, 1, out, linear.bits, CodeOrder::kPadded,
                   packed.data() + g, groups);
      }
      sink.tensor(module + "weight_zero_point", kit::kInt32,
                  {static_cast<int64_t>(down), linear.groups}, packed.data());
    }
  }

  void complete(const Scheme& scheme, const std::vector<Stored>& linears,
                const kit::FloatLinears& left, const kit::FormatSink& sink) override {
    // The groups of columns are there for all linears or for none, which the last one decides.
    for (const Stored& linear : linears) {
      if (!scheme.ordered) {
        sink.drop(linear.name + ".weight_g_idx");
      }
    }
    const bool grouped = scheme.group_size != -1;
    const json weights = {{"num_bits", scheme.bits},
                          {"type", "int"},
                          {"symmetric", scheme.symmetric},
                          {"strategy", grouped ? "group" : "channel"},
                          {"group_size", grouped ? json(scheme.group_size) : json()},
                          {"actorder", scheme.ordered ? json("group") : json()},
                          {"dynamic", false}};
    sink.config(written_config(kIntegerLayout, weights, left));
  }
};

// A folder has one layout: the first linear tells which.
class CompressedWriter final : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink& sink,
             std::span<float> weight, quench_stored_linear& stored) override {
    require_alone(linear.name, floats_.first());
    integers_.store(linear, sink, weight, stored);
    first_integer_ = first_integer_.empty() ? linear.name : first_integer_;
  }
  void store_codebook(const quench_codebook_linear& linear, const kit::FormatSink& sink,
                      std::span<float> weight, quench_stored_linear& stored) override {
    require_alone(linear.name, first_integer_);
    floats_.store(linear, sink, weight, stored);
  }
  void finish(const kit::FloatLinears& left, const kit::FormatSink& sink) override {
    if (floats_.first().empty()) {
      integers_.finish(left, sink);
    } else {
      floats_.finish(left, sink);
    }
  }

 private:
  static void require_alone(const char* name, const std::string& other) {
    if (!other.empty()) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ, integers and floats; {} holds one layout", other,
           name, kId);
    }
  }

  IntegerWriter integers_;
  FloatWriter floats_{kId};
  std::string first_integer_;
};

struct CompressedTensors {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    return found && found->method == kId ? 100 : 0;
  }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    if (!found) {
      kit::fail(QUENCH_NOT_FOUND, "%s: no quantization_config", place.path().c_str());
    }
    const CompressedConfig config =
        read_compressed_config(ConfigReader(found->object, found->where));
    tell_unknown_members(*found);
    return std::make_unique<PackedCheckpoint>(place, layout_of(config), config.scheme);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t out,
                          int64_t in) {
    return out == 0 ? "" : group_fault(kId, scheme_from(scheme).group_size, in);
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<CompressedWriter>();
  }

 private:
  static PackedLayout layout_of(const CompressedConfig& config) {
    if (config.floats) {
      return {kId, float_endings(*config.floats->layout),
              [scheme = *config.floats](PackedParts parts) {
                return open_float_linear(std::move(parts), scheme);
              }};
    }
    return {
        kId,
        {".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx"},
        [scheme = config.scheme](PackedParts parts) {
          return open_compressed_linear(std::move(parts), scheme);
        }};
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE("quench.compressed_tensors", "0.1.0",
              quench::kit::format<quench::formats::CompressedTensors>(
                  {.id = "compressed-tensors",
                   .version = "0.1.0",
                   .summary = "Weights of llm-compressor: packed integers, and floats of 4 to 8 "
                              "bits (NVFP4, MXFP4, MXFP6, MXFP8, FP8).",
                   .reference = "compressed-tensors, compressors/pack_quantized, nvfp4, mxfp4, "
                                "mxfp6, mxfp8, naive_quantized"}))
