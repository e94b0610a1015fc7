#include "formats/gptq_layout/gptq_writer.hpp"

#include <nlohmann/json.hpp>

#include "formats/gptq_layout/gptq_zeros.hpp"
#include "formats/packed/group_fault.hpp"
#include "formats/packed/packed_codes.hpp"
#include "formats/shared/failure.hpp"
#include "quench/kit/host.hpp"

namespace quench::formats {

using nlohmann::json;

namespace {

std::string exact_pattern(const std::string& module) {
  std::string out = "-:^";
  for (const char c : module) {
    out += c == '.' ? "\\." : std::string(1, c);
  }
  return out + "$";
}

std::string shape_fault(const std::string& name, const Scheme& scheme, int64_t out, int64_t in) {
  if (scheme.group_size <= in) {  // else one group
    if (std::string why = group_fault(name, scheme.group_size, in); !why.empty()) {
      return why;
    }
  }
  if (scheme.bits == 0) {  // not known yet
    return "";
  }
  const int64_t unit = scheme.bits == 3 ? 32 : 32 / scheme.bits;
  if (in % unit != 0) {
    return fmt::format("{} input columns; {} of {} bits wants a multiple of {}", in, name,
                       scheme.bits, unit);
  }
  return out % unit == 0 ? ""
                         : fmt::format("{} output rows; {} of {} bits wants a multiple of {}", out,
                                       name, scheme.bits, unit);
}

}  // namespace

std::string gptq_fault(bool less_one, const Scheme& scheme, int64_t out, int64_t in) {
  const std::string name = less_one ? "gptq" : "gptq_v2";
  if (scheme.bits != 0 && scheme.bits != 2 && scheme.bits != 3 && scheme.bits != 4 &&
      scheme.bits != 8) {
    return fmt::format("{} bits; {} holds 2, 3, 4 and 8", scheme.bits, name);
  }
  if (less_one && !scheme.symmetric) {
    return "an asymmetric grid; gptq holds zero points less one, and 0 does not fit: gptq_v2 does";
  }
  return out == 0 ? "" : shape_fault(name, scheme, out, in);
}

void GptqWriter::put(const quench_coded_linear& linear, const Scheme&, const kit::FormatSink& sink,
                     std::span<float> weight, quench_stored_linear& stored) {
  const HalfScales scales = round_scales(linear, stored);
  dequantize(linear, scales, weight);
  const auto out = static_cast<uint64_t>(linear.out);
  const auto in = static_cast<uint64_t>(linear.in);
  const auto groups = static_cast<uint64_t>(linear.groups);
  const uint64_t down = words_for(in, linear.bits, CodeOrder::kStream);
  std::vector<uint32_t> words(down * out);
  for (uint64_t r = 0; r < out; ++r) {
    pack_codes(linear.codes + r * in, 1, in, linear.bits, CodeOrder::kStream, words.data() + r,
               out);
  }
  const uint64_t across = words_for(out, linear.bits, CodeOrder::kStream);
  const std::vector<uint8_t> zeros = by_group<uint8_t>(linear, linear.zeros);
  std::vector<uint32_t> packed(groups * across);
  for (uint64_t g = 0; g < groups; ++g) {
    encode_gptq_zeros(std::span(zeros).subspan(g * out, out), less_one_, linear.bits,
                      packed.data() + g * across);
  }
  const std::string module = std::string(linear.name) + ".";
  const auto rows = [](uint64_t count) { return static_cast<int64_t>(count); };
  sink.tensor(module + "qweight", kit::kInt32, {rows(down), linear.out}, words.data());
  sink.tensor(module + "qzeros", kit::kInt32, {linear.groups, rows(across)}, packed.data());
  sink.tensor(module + "scales", kit::kFloat16, {linear.groups, linear.out},
              by_group<uint16_t>(linear, scales.bits.data()).data());
  sink.tensor(module + "g_idx", kit::kInt32, {linear.in}, linear.g_idx);
}

void GptqWriter::complete(const Scheme& scheme, const std::vector<Stored>&,
                          const kit::FloatLinears& left, const kit::FormatSink& sink) {
  const char* layout = less_one_ ? "gptq" : "gptq_v2";
  json config = {{"quant_method", "gptq"},
                 {"method", "gptq"},
                 {"checkpoint_format", layout},
                 {"format", layout},
                 {"bits", scheme.bits},
                 {"group_size", scheme.group_size},
                 {"desc_act", scheme.ordered},
                 {"sym", scheme.symmetric},
                 {"lm_head", left.heads.empty()},
                 {"pack_dtype", "int32"},
                 {"true_sequential", true},
                 {"meta", {{"quantizer", {std::string("quench:") + kit::current_host->version}}}}};
  // Readers quantize the linears of blocks by themselves, the head only where lm_head says so.
  for (const std::string& module : left.linears) {
    config["dynamic"][exact_pattern(module)] = json::object();
  }
  sink.config(json{{"quantization_config", config}}.dump());
  sink.file("quantize_config.json", config.dump(2) + "\n");
}

}  // namespace quench::formats
