// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh 2023): rounding with error compensation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class Gptq final : public kit::Quantizer {
 public:
  struct Params {
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    bool desc_act = false;
    bool static_groups = false;
    double damp = 0.01;
    double damp_increment = 0.01;
    int64_t block = 128;
    std::string scale_from = "current";
    std::string precision = "float32";
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Gptq(const Params& params);
  uint32_t needs() const override { return QUENCH_NEEDS_ROWS | QUENCH_NEEDS_SEQUENTIAL; }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  const void* extension(const char* id) const override;

 private:
  Params params_;
};

}  // namespace quench::quantizers
