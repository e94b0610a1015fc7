// compressed-tensors: weights as llm-compressor stores them, format "pack-quantized".
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
#include <nlohmann/json.hpp>
#include <optional>

#include "formats/compressed-tensors/compressed_linear.hpp"
#include "formats/packed/config_reader.hpp"
#include "formats/packed/group_fault.hpp"
#include "formats/packed/known_members.hpp"
#include "formats/packed/packed_checkpoint.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/packed/packed_writer.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;

constexpr const char* kId = "compressed-tensors";

constexpr std::string_view kTypes = "the type of a tensor, which has it itself";
constexpr KnownMember kMembers[] = {
    {"config_groups", kRead},
    {"format", kRead},
    {"global_compression_ratio", kNotes},
    {"ignore", kTensors},
    {"kv_cache_scheme", kRead},
    {"quant_method", kRead},
    {"quantization_status", kNotes},
    {"sparsity_config", kRead},
    {"transform_config", kRead},
    {"version", kRead},
};
constexpr KnownMember kOfGroup[] = {
    {"format", kRead},     {"input_activations", kRead}, {"output_activations", kRead},
    {"targets", kTensors}, {"weights", kRead},
};
constexpr KnownMember kOfWeights[] = {
    {"actorder", kRead},
    {"block_structure", "groups in two dimensions", true},
    {"dynamic", "codes that are made while computing", true},
    {"group_size", kRead},
    {"num_bits", kRead},
    {"observer", kHow},
    {"observer_kwargs", kHow},
    {"scale_dtype", kTypes},
    {"strategy", kRead},
    {"symmetric", kRead},
    {"type", kRead},
    {"zp_dtype", kTypes},
};

void tell_unknown_members(const FoundConfig& found) {
  UnknownMembers unknown(found.where);
  unknown.look(found.object, "", kMembers);
  for (const auto& [name, group] : found.object.at("config_groups").items()) {
    const std::string prefix = "config_groups." + printable(name) + ".";
    unknown.look(group, prefix, kOfGroup);
    unknown.look(group.value("weights", json()), prefix + "weights.", kOfWeights);
  }
  unknown.tell();
}

void check_weights_alone(const ConfigReader& reader) {
  for (const char* key : {"input_activations", "output_activations"}) {
    if (reader.find(key) != nullptr) {
      fail(QUENCH_UNSUPPORTED, "{}: {} are quantized too, read are weights alone", reader.where(),
           key);
    }
  }
}

Scheme read_compressed_group(const ConfigReader& group) {
  check_weights_alone(group);
  if (const std::string layout = group.text("format", "pack-quantized");
      layout != "pack-quantized") {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, read is pack-quantized", group.where(),
         printable(layout));
  }
  static const json kNone;
  const json* object = group.find("weights");
  const ConfigReader weights(object != nullptr ? *object : kNone, group.where() + ": weights");
  Scheme out;
  out.bits = weights.integer("num_bits");
  if (weights.text("type", "int") != "int" || out.bits < 2 || out.bits > 8) {
    fail(QUENCH_UNSUPPORTED, "{}: num_bits = {}, type = {}, read are integers of 2 to 8 bits",
         weights.where(), out.bits, printable(weights.text("type", "int")));
  }
  const std::string strategy = weights.text("strategy", "channel");
  if (strategy != "group" && strategy != "channel") {
    fail(QUENCH_UNSUPPORTED, "{}: strategy = {}, read are group and channel", weights.where(),
         printable(strategy));
  }
  out.group_size = strategy == "group" ? weights.group_size() : -1;
  out.symmetric = weights.flag("symmetric", true);
  const json* order = weights.find("actorder");
  // The words that mean a stored order; "static" and "weight" leave the groups where they are.
  out.ordered = order != nullptr && (*order == "group" || *order == true);
  return out;
}

Scheme read_compressed(const ConfigReader& reader) {
  if (const std::string layout = reader.text("format", "pack-quantized");
      layout != "pack-quantized") {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, read is pack-quantized", reader.where(),
         printable(layout));
  }
  for (const char* key : {"sparsity_config", "transform_config", "kv_cache_scheme"}) {
    if (!reader.empty(key)) {
      fail(QUENCH_UNSUPPORTED, "{}: {} is set, which is not read", reader.where(), key);
    }
  }
  const json* groups = reader.find("config_groups");
  if (groups == nullptr || !groups->is_object() || groups->empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no config_groups", reader.where());
  }
  std::optional<Scheme> out;
  for (const auto& [name, group] : groups->items()) {
    const Scheme read =
        read_compressed_group(ConfigReader(group, reader.where() + ": " + printable(name)));
    if (out && (out->bits != read.bits || out->group_size != read.group_size ||
                out->symmetric != read.symmetric || out->ordered != read.ordered)) {
      fail(QUENCH_UNSUPPORTED, "{}: config_groups differ in their weights, read is one scheme",
           reader.where());
    }
    out = read;
  }
  const std::string version = reader.text("version", "");
  out->writer = "compressed-tensors" + (version.empty() ? "" : ":" + printable(version, 40));
  return *out;
}

class CompressedWriter final : public PackedWriter {
 public:
  CompressedWriter() : PackedWriter(kId) {}

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
    std::vector<std::string> ignored = left.heads;
    ignored.insert(ignored.end(), left.linears.begin(), left.linears.end());
    const json config = {{"quant_method", kId},
                         {"format", "pack-quantized"},
                         {"quantization_status", "compressed"},
                         {"config_groups",
                          {{"group_0",
                            {{"targets", {"Linear"}},
                             {"weights", weights},
                             {"input_activations", nullptr},
                             {"output_activations", nullptr}}}}},
                         {"ignore", ignored}};
    sink.config(json{{"quantization_config", config}}.dump());
  }
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
    const Scheme scheme = read_compressed(ConfigReader(found->object, found->where));
    tell_unknown_members(*found);
    return std::make_unique<PackedCheckpoint>(
        place,
        PackedLayout{kId,
                     {".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point",
                      ".weight_g_idx"},
                     [scheme](PackedParts parts) {
                       return open_compressed_linear(std::move(parts), scheme);
                     }},
        scheme);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t out,
                          int64_t in) {
    return out == 0 ? "" : group_fault(kId, scheme_from(scheme).group_size, in);
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<CompressedWriter>();
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE("quench.compressed_tensors", "0.1.0",
              quench::kit::format<quench::formats::CompressedTensors>(
                  {.id = "compressed-tensors",
                   .version = "0.1.0",
                   .summary = "Packed weights of llm-compressor, format pack-quantized.",
                   .reference = "compressed-tensors, compressors/pack_quantized"}))
