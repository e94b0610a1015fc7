#include "quantizers/inputs/integers.hpp"

namespace quench::quantizers {

namespace {

class Integers final : public ActivationFormat {
 public:
  explicit Integers(GridKind kind) : ActivationFormat(ValueRule(IntegerRule{kind})), kind_(kind) {}

  double bits() const override { return static_cast<double>(kind_.bits); }
  double range_bits() const override { return 16.0 + (kind_.sym ? 0.0 : bits()); }

 private:
  GridKind kind_;
};

}  // namespace

std::unique_ptr<ActivationFormat> integers(int64_t bits, bool sym) {
  return std::make_unique<Integers>(GridKind{bits, sym});
}

}  // namespace quench::quantizers
