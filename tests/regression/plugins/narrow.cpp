// narrow: a format that holds no linear of more than 16 input columns, and says how many bits it
// was asked about. told: one that wants the bits named, whatever the shape.
#include "quench/kit/format.hpp"

namespace kit = quench::kit;

namespace {

class Writer final : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink&, std::span<float>,
             quench_stored_linear&) override {
    kit::fail(QUENCH_UNSUPPORTED, "%s: asked too late", linear.name);
  }
  void finish(const kit::FloatLinears&, const kit::FormatSink&) override {}
};

struct Narrow {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  static int32_t probe(const kit::Place&, std::string&) { return 0; }
  static std::unique_ptr<kit::Checkpoint> open(const kit::Place&, const Params&) {
    kit::fail(QUENCH_UNSUPPORTED, "narrow is only written");
  }
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t, int64_t in) {
    return in <= 16 ? ""
                    : std::to_string(in) + " input columns (bits " + std::to_string(scheme.bits) +
                          "); narrow holds 16";
  }
  static std::unique_ptr<kit::FormatWriter> begin(const Params&) {
    return std::make_unique<Writer>();
  }
};

struct Told : Narrow {
  static std::string fits(const Params&, const quench_code_scheme& scheme, int64_t, int64_t) {
    return scheme.bits > 0 ? "" : "bits that no parameter names; told wants them";
  }
};

}  // namespace

QUENCH_MODULE("quench.test.narrow", "0.1.0",
              kit::format<Narrow>(
                  {.id = "narrow", .version = "0.1.0", .summary = "Holds linears of few columns."}),
              kit::format<Told>({.id = "told",
                                 .version = "0.1.0",
                                 .summary = "Holds codes of bits that are named."}))
