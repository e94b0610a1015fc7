#include "formats/gptq_layout/gptq_config.hpp"

#include <cstdlib>
#include <string_view>

#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

// The conversion was repaired after 6.0 and before 7.0.
ThreeBitZeros three_bit_zeros_of(const std::string& writer) {
  constexpr std::string_view kTool = "gptqmodel:";
  constexpr long kRepairedIn = 7;
  if (!writer.starts_with(kTool)) {
    return ThreeBitZeros::kAsDocumented;
  }
  const long major = std::strtol(writer.c_str() + kTool.size(), nullptr, 10);
  return major < kRepairedIn ? ThreeBitZeros::kConstantsReversed : ThreeBitZeros::kAsDocumented;
}

}  // namespace

std::string gptq_layout(const ConfigReader& reader) {
  return reader.text("checkpoint_format", reader.text("format", "gptq"));
}

GptqConfig read_gptq_config(const ConfigReader& reader) {
  GptqConfig out;
  const std::string layout = gptq_layout(reader);
  if (layout != "gptq" && layout != "gptq_v2") {
    fail(QUENCH_UNSUPPORTED, "{}: checkpoint_format = {}, read are gptq and gptq_v2",
         reader.where(), printable(layout));
  }
  out.less_one = layout == "gptq";
  reader.check_words();
  out.scheme.bits = reader.integer("bits");
  if (out.scheme.bits != 2 && out.scheme.bits != 3 && out.scheme.bits != 4 &&
      out.scheme.bits != 8) {
    fail(QUENCH_UNSUPPORTED, "{}: bits = {}, read are 2, 3, 4 and 8", reader.where(),
         out.scheme.bits);
  }
  out.scheme.group_size = reader.group_size();
  out.scheme.ordered = reader.flag("desc_act", false);
  out.scheme.symmetric = reader.flag("sym", true);
  out.varied = !reader.empty("dynamic");
  out.scheme.writer = reader.writer();
  out.three_bit_zeros = three_bit_zeros_of(out.scheme.writer);
  return out;
}

}  // namespace quench::formats
