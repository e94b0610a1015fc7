// aaa_gram: a quantizer that offers a Gram matrix and comes first in the order of ids. It tells on
// stderr whenever an instance is made.
#include <cstdio>
#include <cstring>
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
  const void* extension(const char* id) const override {
    static const quench_quantizer_gram table = {sizeof table, nullptr, nullptr, nullptr};
    return std::strcmp(id, QUENCH_QUANTIZER_GRAM) == 0 ? &table : nullptr;
  }
};

}  // namespace

QUENCH_MODULE(
    "aaa_gram", "0.1.0",
    kit::quantizer<Gram>({.id = "aaa_gram", .version = "0.1.0", .summary = "Wants to judge."}))
