// golden_averaging: the mean of the last checkpoints of a branch.
//
// | parameter | type | default | range | meaning                            |
// |-----------|------|---------|-------|------------------------------------|
// | window    | int  | 3       | >= 1  | number of checkpoints in a mean     |
//
//   averaging:
//     - golden_averaging: {window: 3}
//
// Sums run in float64 in the order of the members; the host rounds the result once.
#include "quench/kit/averaging.hpp"

namespace kit = quench::kit;

namespace {

class GoldenAveraging final : public kit::Averaging {
 public:
  struct Params {
    int64_t window = 3;
    static void describe(kit::Fields<Params>& f) {
      f.add("window", &Params::window, "number of checkpoints in a mean").at_least(1);
    }
  };
  explicit GoldenAveraging(const Params& params) : window_(static_cast<uint64_t>(params.window)) {}

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    if (last + 1 < window_) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "%s: got %llu checkpoints up to here, wanted %llu",
                members[last].name, static_cast<unsigned long long>(last + 1),
                static_cast<unsigned long long>(window_));
    }
    std::vector<uint64_t> selected;
    for (uint64_t i = last + 1 - window_; i <= last; ++i) {
      selected.push_back(i);
    }
    return selected;
  }

  void begin(std::span<const quench_averaging_member> members) override { count_ = members.size(); }

  void accumulate(uint64_t member, std::span<const double> values) override {
    if (member == 0) {
      sum_.assign(values.size(), 0.0);
    }
    kit::expects(values.size() == sum_.size(), "accumulate: members of different lengths");
    for (size_t i = 0; i < values.size(); ++i) {
      sum_[i] += values[i];
    }
  }

  void finish(std::span<double> values) override {
    kit::expects(values.size() == sum_.size(), "finish: wanted the length of the chunk");
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = sum_[i] / static_cast<double>(count_);
    }
  }

 private:
  uint64_t window_;
  size_t count_ = 0;
  std::vector<double> sum_;  // for one chunk
};

}  // namespace

QUENCH_MODULE(
    "golden_averaging", "0.1.0",
    kit::averaging<GoldenAveraging>({.id = "golden_averaging",
                                     .version = "0.1.0",
                                     .summary = "The mean of the last checkpoints of a branch.",

                                     .example = "{window: 3}"}))
