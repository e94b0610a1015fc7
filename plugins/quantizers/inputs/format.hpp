// A format of numbers to which inputs are rounded. A new one is a class like those of integers.cpp
// and a line in the table of format.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "quantizers/inputs/settings.hpp"
#include "quantizers/inputs/value_rule.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

class ActivationFormat {
 public:
  explicit ActivationFormat(const ValueRule& rule) : rule_(rule) {}
  ActivationFormat(const ActivationFormat&) = delete;
  ActivationFormat& operator=(const ActivationFormat&) = delete;
  virtual ~ActivationFormat() = default;

  // Replaces values by the nearest ones of the format: consecutive columns of one row, which with
  // others share a scale. `range` is that of all which share it, or a calibrated one; values
  // outside are clipped. A range without values (0, 0) gives zeros.
  virtual void round(std::span<double> values, Range range) const;
  // What that does to a value.
  const ValueRule& rule() const { return rule_; }
  // Throws INVALID_ARGUMENT with the plugin's `id` for settings that this format does not read.
  virtual void check(const char* id, const ActivationSettings& settings) const;
  // Columns that share a scale within the format, which must divide those that share a range.
  virtual int64_t block() const { return 1; }
  // Bits of a value, with its part of the scales of blocks.
  virtual double bits() const = 0;
  // Bits of what a range becomes: a scale, and a zero point if there is one.
  virtual double range_bits() const = 0;

 protected:
  template <typename Rule>
  static void round_by(const Rule& rule, std::span<double> values, Range range) {
    round_values(
        rule, static_cast<int64_t>(values.size()), range,
        [&](int64_t i) { return values[static_cast<size_t>(i)]; },
        [&](int64_t i, double rounded) { values[static_cast<size_t>(i)] = rounded; });
  }

 private:
  ValueRule rule_;
};

// Of settings that round.
std::unique_ptr<ActivationFormat> activation_format(const ActivationSettings& settings);

}  // namespace quench::quantizers
