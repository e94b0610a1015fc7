// bnb_int8: weights as bitsandbytes stores them in 8 bits.
//
// | tensor          | type    | shape     | what it is                   |
// |-----------------|---------|-----------|------------------------------|
// | M.weight        | int8    | [out, in] | codes of -127 to 127         |
// | M.SCB           | float32 | [out]     | 127 steps of the grid        |
// | M.weight_format | uint8   | []        | 0: codes lie row by row      |
//
//   quench quantize MODEL --quantizer int8 --format bnb_int8 -o FOLDER
//
// The weight is codes * SCB * (1/127) in float32, in this order.
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/bnb_int8/int8_linear.hpp"
#include "formats/packed/config_reader.hpp"
#include "formats/packed/known_members.hpp"
#include "formats/packed/packed_checkpoint.hpp"
#include "formats/packed/packed_writer.hpp"
#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;

constexpr std::string_view kFourBits = "of weights in 4 bits, which are refused";
constexpr KnownMember kMembers[] = {
    {"_load_in_4bit", kFourBits},
    {"_load_in_8bit", kRead},
    {"bnb_4bit_compute_dtype", kFourBits},
    {"bnb_4bit_quant_storage", kFourBits},
    {"bnb_4bit_quant_type", kFourBits},
    {"bnb_4bit_use_double_quant", kFourBits},
    {"llm_int8_enable_fp32_cpu_offload", "where weights lie"},
    {"llm_int8_has_fp16_weight", "how weights are kept while training"},
    {"llm_int8_skip_modules", kTensors},
    {"llm_int8_threshold", "how rows are multiplied; the weights are what is measured"},
    {"load_in_4bit", "another layout", true},
    {"load_in_8bit", kRead},
    {"quant_method", kRead},
};

Scheme read_bitsandbytes(const ConfigReader& reader) {
  Scheme out;
  if (!reader.flag("load_in_8bit", false)) {
    fail(QUENCH_UNSUPPORTED, "{}: load_in_8bit is not set; of bitsandbytes' forms int8 is read",
         reader.where());
  }
  out.bits = 8;
  out.writer = "bitsandbytes";
  return out;
}

std::string int8_fault(const Scheme& scheme) {
  if (scheme.group_size != -1) {
    return fmt::format("groups of {}; bnb_int8 has one scale for a row", scheme.group_size);
  }
  return scheme.symmetric ? "" : "an asymmetric grid; bnb_int8 has no zero points";
}

class Int8Writer final : public PackedWriter {
 public:
  Int8Writer() : PackedWriter("bnb_int8") {}

 private:
  std::string fault(const Scheme& scheme, int64_t, int64_t) const override {
    return int8_fault(scheme);
  }

  void put(const quench_coded_linear& linear, const Scheme&, const kit::FormatSink& sink,
           std::span<float> weight, quench_stored_linear& stored) override {
    const auto out = static_cast<size_t>(linear.out);
    const auto in = static_cast<size_t>(linear.in);
    std::vector<int8_t> codes(weight.size());
    std::vector<float> scales(out);
    constexpr double kSteps = 127;
    for (size_t r = 0; r < out; ++r) {
      scales[r] = static_cast<float>(linear.scales[r] * kSteps);
      if (!std::isfinite(scales[r])) {
        fail(QUENCH_NUMERICAL, "{}: scale {} of row {} is beyond float32", linear.name,
             linear.scales[r], r);
      }
      note_change(stored, linear.scales[r], static_cast<double>(scales[r]) / kSteps);
      for (size_t i = r * in; i < (r + 1) * in; ++i) {
        codes[i] = static_cast<int8_t>(linear.codes[i] - static_cast<int>(linear.zeros[r]));
        weight[i] = static_cast<float>(codes[i]) * scales[r] * kInt8Unit;
      }
    }
    const std::string module = std::string(linear.name) + ".";
    constexpr uint8_t kRows = 0;
    sink.tensor(module + "weight", kInt8, {linear.out, linear.in}, codes.data());
    sink.tensor(module + "SCB", kFloat32, {linear.out}, scales.data());
    sink.tensor(module + "weight_format", kUInt8, {}, &kRows);
  }

  void complete(const Scheme&, const std::vector<Stored>&, const kit::FloatLinears& left,
                const kit::FormatSink& sink) override {
    std::vector<std::string> modules = left.heads;
    modules.insert(modules.end(), left.linears.begin(), left.linears.end());
    sink.config(json{{"quantization_config",
                      {{"quant_method", "bitsandbytes"},
                       {"load_in_8bit", true},
                       {"load_in_4bit", false},
                       {"llm_int8_threshold", 6.0},
                       {"llm_int8_skip_modules", modules}}}}
                    .dump());
  }
};

struct BnbInt8 {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    return found && found->method == "bitsandbytes" ? 100 : 0;
  }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    if (!found) {
      kit::fail(QUENCH_NOT_FOUND, "%s: no quantization_config", place.path().c_str());
    }
    const Scheme scheme = read_bitsandbytes(ConfigReader(found->object, found->where));
    UnknownMembers unknown(found->where);
    unknown.look(found->object, "", kMembers);
    unknown.tell();
    return std::make_unique<PackedCheckpoint>(
        place,
        PackedLayout{"bnb_int8",
                     {".SCB", ".weight", ".weight_format"},
                     [](PackedParts parts) { return open_int8_linear(std::move(parts)); }},
        scheme);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t, int64_t) {
    return int8_fault(scheme_from(scheme));
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<Int8Writer>();
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE("quench.bnb_int8", "0.1.0",
              quench::kit::format<quench::formats::BnbInt8>(
                  {.id = "bnb_int8",
                   .version = "0.1.0",
                   .summary = "Weights of bitsandbytes in 8 bits.",
                   .reference = "bitsandbytes, bitsandbytes/nn/modules.py"}))
