// counting: a quantizer that changes nothing and reports what it was shown, so that a test can
// count the host's work from outside the host.
//
// Per linear: `calls` of observe, `rows` that count in them for its input group and the `sum` of
// their elements, `groups` begun so far by this instance, `linears` quantized so far, and
// `instances` made so far in the process.
#include <memory>
#include <numeric>
#include <vector>

#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

class Counting final : public kit::Quantizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit Counting(const Params&) { ++instances_; }
  uint32_t needs() const override { return QUENCH_NEEDS_ROWS; }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& args) override {
    ++groups_;
    return std::make_unique<Group>(*this, args);
  }

 private:
  class Group final : public kit::QuantizerGroup {
   public:
    Group(Counting& all, const quench_group_args& args)
        : all_(all), block_(args.block), group_(args.group) {}

    void observe(const quench_observe_args& args) override {
      ++calls_;
      const std::vector<double> x = kit::to_doubles(*args.x, "x");
      const auto width = static_cast<size_t>(args.x->shape[1]);
      const auto count = [&](size_t row) {
        ++rows_;
        sum_ = std::accumulate(&x[row * width], &x[row * width] + width, sum_);
      };
      if (args.row_index != nullptr) {
        for (const int64_t row : kit::elements<int64_t>(*args.row_index, "row_index")) {
          count(static_cast<size_t>(row));
        }
        return;
      }
      for (size_t row = 0; row < static_cast<size_t>(args.x->shape[0]); ++row) {
        count(row);
      }
    }
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      ++all_.linears_;
      kit::from_doubles(kit::to_doubles(linear.weight, "weight"), linear.dequantized,
                        "dequantized");
      sink.number("bits_per_weight", 32);
      sink.number("block", block_);
      sink.number("group", group_);
      sink.number("calls", static_cast<double>(calls_));
      sink.number("rows", static_cast<double>(rows_));
      sink.number("sum", sum_);
      sink.number("groups", static_cast<double>(all_.groups_));
      sink.number("linears", static_cast<double>(all_.linears_));
      sink.number("instances", static_cast<double>(instances_));
    }

   private:
    Counting& all_;
    uint32_t block_;
    uint32_t group_;
    int64_t calls_ = 0;
    int64_t rows_ = 0;
    double sum_ = 0;
  };
  static inline int64_t instances_ = 0;
  int64_t groups_ = 0;
  int64_t linears_ = 0;
};

}  // namespace

QUENCH_MODULE("counting", "0.1.0",
              kit::quantizer<Counting>({.id = "counting",
                                        .version = "0.1.0",
                                        .summary = "Counts the rows that it is shown."}))
