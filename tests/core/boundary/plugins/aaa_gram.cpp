// aaa_gram: a quantizer that offers a Gram matrix and comes first in the order of ids. It tells on
// stderr whenever an instance is made.
#include <cstdio>
#include <memory>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

class Gram final : public kit::Quantizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit Gram(const Params&) { std::fputs("an aaa_gram was made\n", stderr); }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    kit::fail(QUENCH_UNSUPPORTED, "quantizes nothing");
  }
  static void add_functions(quench_quantizer_table& table) {
    table.gram_get = [](quench_quantizer*, quench_quantizer_state*, quench_tensor*, double*,
                        quench_error*) noexcept { return quench_status{QUENCH_UNSUPPORTED}; };
    table.gram_set = [](quench_quantizer*, quench_quantizer_state*, const quench_tensor*, double,
                        quench_error*) noexcept { return quench_status{QUENCH_UNSUPPORTED}; };
    table.output_error = [](quench_quantizer*, quench_quantizer_state*, const quench_tensor*,
                            const quench_tensor*, double*, double*,
                            quench_error*) noexcept { return quench_status{QUENCH_UNSUPPORTED}; };
  }
};

}  // namespace

QUENCH_MODULE(
    "aaa_gram", "0.1.0",
    kit::quantizer<Gram>({.id = "aaa_gram", .version = "0.1.0", .summary = "Wants to judge."}))
