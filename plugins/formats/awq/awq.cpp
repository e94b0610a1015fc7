// awq: weights as AutoAWQ stores them, layout "gemm".
//
// | tensor    | type    | shape             | what it is                                         |
// |-----------|---------|-------------------|----------------------------------------------------|
// | M.qweight | int32   | [in, out / 8]     | codes of 4 bits, eight outputs a word in the order |
// |           |         |                   | 0, 2, 4, 6, 1, 3, 5, 7                             |
// | M.qzeros  | int32   | [groups, out / 8] | zero points, likewise                              |
// | M.scales  | float16 | [groups, out]     | steps of the grid                                  |
//
//   quench quantize MODEL --quantizer awq:bits=4,group_size=128 --format awq -o FOLDER
//
// The weight is scales[g] * (codes - zeros[g]) in float32; groups are neighbouring columns.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "formats/awq/awq_linear.hpp"
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

constexpr KnownMember kMembers[] = {
    {"backend", kSpeed},
    {"bits", kRead},
    {"checkpoint_format", kRead},
    // AWQ has groups of neighbours.
    {"desc_act", "no order of columns is stored", true},
    {"do_fuse", kSpeed},
    {"dynamic", "settings of single modules", true},
    {"exllama_config", kSpeed},
    {"format", kRead},
    {"fuse_max_seq_len", kSpeed},
    {"group_size", kRead},
    {"lm_head", kTensors},
    {"meta", kRead},
    {"method", kRead},
    {"modules_to_fuse", kSpeed},
    {"modules_to_not_convert", kTensors},
    {"pack_dtype", kRead},
    {"q_group_size", kRead},
    {"quant_method", kRead},
    {"quantizer", kNotes},
    {"sym", kHow},
    {"version", kRead},
    {"w_bit", kRead},
    {"zero_point", kRead},
};

Scheme read_awq(const ConfigReader& reader) {
  Scheme out;
  const std::string layout = reader.text("version", reader.text("checkpoint_format", "gemm"));
  std::string lower = layout;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower != "gemm") {
    fail(QUENCH_UNSUPPORTED, "{}: version = {}, read is gemm", reader.where(), printable(layout));
  }
  reader.check_words();
  out.bits = reader.integer("bits", reader.integer("w_bit", 4));
  if (out.bits != 4) {
    fail(QUENCH_UNSUPPORTED, "{}: bits = {}, the layout has 4", reader.where(), out.bits);
  }
  out.group_size = reader.find("group_size") != nullptr ? reader.group_size()
                                                        : reader.group_size("q_group_size", 128);
  out.symmetric = !reader.flag("zero_point", true);
  out.writer = reader.writer();
  return out;
}

std::string awq_fault(const Scheme& scheme, int64_t out, int64_t in) {
  if (scheme.bits != 4 && scheme.bits != 0) {  // 0: not known yet
    return fmt::format("{} bits; awq holds 4", scheme.bits);
  }
  if (scheme.ordered) {
    return "groups in the order of quantization; awq has groups of neighbours";
  }
  if (out == 0) {
    return "";
  }
  const std::string why = group_fault("awq", scheme.group_size, in);
  return !why.empty() || out % 8 == 0
             ? why
             : fmt::format("{} output rows; awq of 4 bits wants a multiple of 8", out);
}

class AwqWriter final : public PackedWriter {
 public:
  AwqWriter() : PackedWriter("awq") {}

 private:
  std::string fault(const Scheme& scheme, int64_t out, int64_t in) const override {
    return awq_fault(scheme, out, in);
  }

  void put(const quench_coded_linear& linear, const Scheme&, const kit::FormatSink& sink,
           std::span<float> weight, quench_stored_linear& stored) override {
    const HalfScales scales = round_scales(linear, stored);
    dequantize(linear, scales, weight);
    const auto out = static_cast<uint64_t>(linear.out);
    const auto in = static_cast<uint64_t>(linear.in);
    const auto groups = static_cast<uint64_t>(linear.groups);
    std::vector<uint32_t> words(in * out / 8);
    for (uint64_t c = 0; c < in; ++c) {
      pack_codes(linear.codes + c, in, out, 4, CodeOrder::kAwq, words.data() + c * (out / 8), 1);
    }
    const std::vector<uint8_t> zeros = by_group<uint8_t>(linear, linear.zeros);
    std::vector<uint32_t> packed(groups * out / 8);
    for (uint64_t g = 0; g < groups; ++g) {
      pack_codes(zeros.data() + g * out, 1, out, 4, CodeOrder::kAwq, packed.data() + g * (out / 8),
                 1);
    }
    const std::string module = std::string(linear.name) + ".";
    sink.tensor(module + "qweight", kit::kInt32, {linear.in, linear.out / 8}, words.data());
    sink.tensor(module + "qzeros", kit::kInt32, {linear.groups, linear.out / 8}, packed.data());
    sink.tensor(module + "scales", kit::kFloat16, {linear.groups, linear.out},
                by_group<uint16_t>(linear, scales.bits.data()).data());
  }

  void complete(const Scheme& scheme, const std::vector<Stored>&, const kit::FloatLinears& left,
                const kit::FormatSink& sink) override {
    std::vector<std::string> modules = left.heads;
    modules.insert(modules.end(), left.linears.begin(), left.linears.end());
    sink.config(json{{"quantization_config",
                      {{"quant_method", "awq"},
                       {"bits", 4},
                       {"group_size", scheme.group_size},
                       {"zero_point", true},
                       {"version", "gemm"},
                       {"modules_to_not_convert", modules}}}}
                    .dump());
  }
};

struct Awq {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    return found && found->method == "awq" ? 100 : 0;
  }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    if (!found) {
      kit::fail(QUENCH_NOT_FOUND, "%s: no quantization_config", place.path().c_str());
    }
    const Scheme scheme = read_awq(ConfigReader(found->object, found->where));
    UnknownMembers unknown(found->where);
    unknown.look(found->object, "", kMembers);
    unknown.tell();
    return std::make_unique<PackedCheckpoint>(
        place,
        PackedLayout{"awq",
                     {".qweight", ".qzeros", ".scales"},
                     [size = scheme.group_size](PackedParts parts) {
                       return open_awq_linear(std::move(parts), size);
                     }},
        scheme);
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t out,
                          int64_t in) {
    return awq_fault(scheme_from(scheme), out, in);
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<AwqWriter>();
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE(
    "quench.awq_format", "0.1.0",
    quench::kit::format<quench::formats::Awq>({.id = "awq",
                                               .version = "0.1.0",
                                               .summary = "Packed weights of AutoAWQ, layout gemm.",
                                               .reference = "AutoAWQ, awq/modules/linear/gemm.py"}))
