// GPTQ files in the making.
#pragma once

#include "formats/packed/packed_writer.hpp"

namespace quench::formats {

// Why GPTQ files cannot hold this, or ""; `less_one`: version 1. `out` 0: no shape is given.
std::string gptq_fault(bool less_one, const Scheme& scheme, int64_t out, int64_t in);

class GptqWriter final : public PackedWriter {
 public:
  explicit GptqWriter(bool less_one)
      : PackedWriter(less_one ? "gptq" : "gptq_v2"), less_one_(less_one) {}

 private:
  std::string fault(const Scheme& scheme, int64_t out, int64_t in) const override {
    return gptq_fault(less_one_, scheme, out, in);
  }
  void put(const quench_coded_linear& linear, const Scheme& scheme, const kit::FormatSink& sink,
           std::span<float> weight, quench_stored_linear& stored) override;
  void complete(const Scheme& scheme, const std::vector<Stored>& linears,
                const kit::FloatLinears& left, const kit::FormatSink& sink) override;

  bool less_one_;
};

}  // namespace quench::formats
