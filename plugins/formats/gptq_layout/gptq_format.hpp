// GPTQ files as a format; version 1 has zero points less one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "formats/gptq_layout/gptq_config.hpp"
#include "formats/gptq_layout/gptq_linear.hpp"
#include "formats/gptq_layout/gptq_writer.hpp"
#include "formats/packed/packed_checkpoint.hpp"

namespace quench::formats {

template <bool kLessOne>
struct Gptq {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  static constexpr const char* kId = kLessOne ? "gptq" : "gptq_v2";

  static int32_t probe(const kit::Place& place, std::string& why) {
    const std::optional<FoundConfig> found = find_quantization(place);
    if (!found || found->method != "gptq") {
      return 0;
    }
    const ConfigReader reader(found->object, found->where);
    const std::string layout = gptq_layout(reader);
    if (layout != "gptq" && layout != "gptq_v2" && kLessOne) {
      why = "checkpoint_format = " + layout + ", read are gptq and gptq_v2";
    }
    return layout == kId ? 100 : 0;
  }

  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    const std::optional<FoundConfig> found = find_quantization(place);
    if (!found) {
      kit::fail(QUENCH_NOT_FOUND, "%s: no quantization_config", place.path().c_str());
    }
    const GptqConfig config = read_gptq_config(ConfigReader(found->object, found->where));
    tell_unknown_gptq_members(*found);
    return std::make_unique<PackedCheckpoint>(
        place,
        PackedLayout{
            kId,
            {".qweight", ".qzeros", ".scales", ".g_idx"},
            [config](PackedParts parts) { return open_gptq_linear(std::move(parts), config); }},
        config.scheme);
  }

  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t out,
                          int64_t in) {
    return gptq_fault(kLessOne, scheme_from(scheme), out, in);
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<GptqWriter>(kLessOne);
  }
};

}  // namespace quench::formats
