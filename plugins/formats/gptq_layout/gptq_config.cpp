#include "formats/gptq_layout/gptq_config.hpp"

#include <cstdlib>
#include <string_view>

#include "formats/packed/known_members.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

constexpr KnownMember kMembers[] = {
    {"act_group_aware", kHow},
    {"adapter", "a low-rank addition to the weights", true},
    {"backend", kSpeed},
    {"batch_size", kHow},
    {"bits", kRead},
    {"block_name_to_quantize", kTensors},
    {"cache_block_outputs", kHow},
    {"cache_examples_on_gpu", kHow},
    {"checkpoint_format", kRead},
    {"damp_auto_increment", kHow},
    {"damp_percent", kHow},
    {"dataset", kHow},
    {"desc_act", kRead},
    {"disable_exllama", kSpeed},
    {"dynamic", kRead},
    {"exllama_config", kSpeed},
    {"format", kRead},
    {"group_size", kRead},
    {"is_marlin_format", "another layout", true},
    {"lm_head", kTensors},
    {"max_input_length", kSpeed},
    {"meta", kRead},
    {"method", kRead},
    {"model_file_base_name", kNotes},
    {"model_name_or_path", kNotes},
    {"model_seqlen", kHow},
    {"module_name_preceding_first_block", kTensors},
    {"modules_in_block_to_quantize", kTensors},
    {"mse", kHow},
    {"pack_dtype", kRead},
    {"pad_token_id", kHow},
    {"parallel_packing", kHow},
    {"quant_method", kRead},
    {"quantizer", kNotes},
    {"rotation", "an online rotation of rows may belong to it", true},
    // The groups of columns are in g_idx.
    {"static_groups", kHow},
    {"sym", kRead},
    {"tokenizer", kHow},
    {"true_sequential", kHow},
    {"use_cuda_fp16", kSpeed},
    {"use_exllama", kSpeed},
    {"v2", kHow},
    {"v2_alpha", kHow},
};

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

void tell_unknown_gptq_members(const FoundConfig& found) {
  UnknownMembers unknown(found.where);
  unknown.look(found.object, "", kMembers);
  unknown.tell();
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
