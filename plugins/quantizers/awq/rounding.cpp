#include "quantizers/awq/rounding.hpp"

#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "quantizers/number_format/format_numbers.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/multiversion.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/number_formats/scale_chooser.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// v = w * s, clipped to [-limit, limit].
QUENCH_MULTIVERSION
void scale_values(const float* __restrict w, const double* __restrict s, int64_t count,
                  double limit, double* __restrict v) {
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(w[i]) * s[i];
    const double below = x < limit ? x : limit;
    v[i] = below > -limit ? below : -limit;
  }
}
QUENCH_MULTIVERSION
void scale_values(const double* __restrict w, const double* __restrict s, int64_t count,
                  double limit, double* __restrict v) {
  for (int64_t i = 0; i < count; ++i) {
    const double x = w[i] * s[i];
    const double below = x < limit ? x : limit;
    v[i] = below > -limit ? below : -limit;
  }
}

QUENCH_MULTIVERSION
void round_values(const double* __restrict v, int64_t count, Grid grid, double max_code,
                  double* __restrict codes) {
  for (int64_t i = 0; i < count; ++i) {
    codes[i] = code_of(v[i], grid.scale, grid.zero, max_code);
  }
}

template <typename T>
void subtract(const T* __restrict w, const double* __restrict s, const double* __restrict codes,
              int64_t count, Grid grid, float* __restrict errors) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = grid.scale * (codes[i] - grid.zero) / s[i];
    errors[i] = static_cast<float>(static_cast<double>(w[i]) - value);
  }
}
QUENCH_MULTIVERSION
void subtract_narrow(const float* w, const double* s, const double* codes, int64_t count, Grid grid,
                     float* errors) {
  subtract(w, s, codes, count, grid, errors);
}
QUENCH_MULTIVERSION
void subtract_wide(const double* w, const double* s, const double* codes, int64_t count, Grid grid,
                   float* errors) {
  subtract(w, s, codes, count, grid, errors);
}

// Rounds one group of one row at a time.
class GroupRounder {
 public:
  GroupRounder(const ScaledWeight& weight, std::span<const double> scale, double tensor_scale)
      : weight_(weight),
        narrow_(weight.weight.scalar_type() == at::kFloat ? weight.weight.const_data_ptr<float>()
                                                          : nullptr),
        wide_(narrow_ == nullptr ? weight.weight.const_data_ptr<double>() : nullptr),
        scale_(scale),
        values_(static_cast<size_t>(weight.groups.size)),
        codes_(values_.size()) {
    if (weight.format != nullptr) {
      elements_ = number_formats::elements_of(*weight.format);
      chooser_.emplace(*weight.format, scale_rule_of(weight.kind), tensor_scale);
    }
  }

  void load(int64_t row, int64_t group, double limit) {
    first_ = group * weight_.groups.size;
    count_ = std::min(weight_.groups.size, weight_.columns - first_);
    at_ = row * weight_.columns + first_;
    if (narrow_ != nullptr) {
      scale_values(narrow_ + at_, scale_.data() + first_, count_, limit, values_.data());
    } else {
      scale_values(wide_ + at_, scale_.data() + first_, count_, limit, values_.data());
    }
  }
  double largest() const {
    double most = 0;
    for (int64_t i = 0; i < count_; ++i) {
      most = std::max(most, std::fabs(values_[static_cast<size_t>(i)]));
    }
    return most;
  }
  void round() {
    if (weight_.format != nullptr) {
      round_to_format();
      return;
    }
    const auto [low, high] = std::minmax_element(values_.begin(), values_.begin() + count_);
    grid_ = grid_of_extremes(*low, *high, weight_.kind, weight_.rule);
    round_values(values_.data(), count_, grid_, weight_.kind.max_code(), codes_.data());
  }
  void errors(float* to) const {
    const double* s = scale_.data() + first_;
    if (weight_.format != nullptr) {
      for (int64_t i = 0; i < count_; ++i) {
        const double w = narrow_ != nullptr ? narrow_[at_ + i] : wide_[at_ + i];
        const auto code = static_cast<size_t>(codes_[static_cast<size_t>(i)]);
        to[i] = static_cast<float>(w - grid_.scale * elements_[code] / s[i]);
      }
      return;
    }
    if (narrow_ != nullptr) {
      subtract_narrow(narrow_ + at_, s, codes_.data(), count_, grid_, to);
    } else {
      subtract_wide(wide_ + at_, s, codes_.data(), count_, grid_, to);
    }
  }
  const Grid& grid() const { return grid_; }
  const std::vector<double>& codes() const { return codes_; }
  int64_t first() const { return first_; }
  int64_t count() const { return count_; }

 private:
  void round_to_format() {
    const number_formats::NumberFormat& format = *weight_.format;
    grid_ = {chooser_->scale_of(values_.data(), count_), 0};
    for (size_t i = 0; i < static_cast<size_t>(count_); ++i) {
      codes_[i] = format.code_of(values_[i], grid_.scale);
    }
  }

  const ScaledWeight& weight_;
  const float* narrow_;  // one of the two is null
  const double* wide_;
  std::span<const double> scale_;
  std::vector<double> values_;
  std::vector<double> codes_;
  std::array<double, 256> elements_{};                   // of a format's codes
  std::optional<number_formats::ScaleChooser> chooser_;  // of its scales
  Grid grid_{};
  int64_t first_ = 0;
  int64_t count_ = 0;
  int64_t at_ = 0;
};

double limit_of(const Limits& limits, const ScaledWeight& weight, int64_t row, int64_t group) {
  return limits.empty() ? kNoLimit : limits[static_cast<size_t>(row * weight.groups.count + group)];
}

// Calls body(rounder, row) for rows [first, first + count).
template <typename Body>
void for_each_row(const ScaledWeight& weight, std::span<const double> scale, int64_t first,
                  int64_t count, Body body) {
  const double tensor_scale = tensor_scale_of(weight, scale);
  kit::parallel_for(static_cast<uint64_t>(count), kRowGrain, [&](uint64_t begin, uint64_t end) {
    GroupRounder rounder(weight, scale, tensor_scale);
    for (uint64_t r = begin; r < end; ++r) {
      body(rounder, first + static_cast<int64_t>(r));
    }
  });
}

}  // namespace

bool rounds_on_host(const ScaledWeight& weight) {
  return matrix::on_host(weight.weight) ||
         (weight.format != nullptr &&
          !finds_scales_by_kernel(*weight.format, scale_rule_of(weight.kind)));
}

std::vector<double> column_magnitudes(const at::Tensor& weight) {
  const at::Tensor most = weight.abs().amax(0).cpu().to(at::kDouble);
  const double* values = most.const_data_ptr<double>();
  return {values, values + most.numel()};
}

// Products are rounded in order, so that the largest is that of the largest magnitude.
double tensor_scale_of(const ScaledWeight& weight, std::span<const double> scale) {
  if (weight.format == nullptr || !weight.format->has_tensor_scale()) {
    return 1;
  }
  double most = 0;
  for (size_t c = 0; c < scale.size(); ++c) {
    most = std::max(most, weight.column_most[c] * scale[c]);
  }
  return weight.format->tensor_scale_of(most);
}

void rounding_errors(const ScaledWeight& weight, std::span<const double> scale,
                     const Limits& limits, int64_t first, int64_t count, float* errors) {
  for_each_row(weight, scale, first, count, [&](GroupRounder& rounder, int64_t row) {
    for (int64_t g = 0; g < weight.groups.count; ++g) {
      rounder.load(row, g, limit_of(limits, weight, row, g));
      rounder.round();
      rounder.errors(errors + (row - first) * weight.columns + rounder.first());
    }
  });
}

void clipped_errors(const ScaledWeight& weight, std::span<const double> scale, int64_t group,
                    double part, float* errors) {
  for_each_row(weight, scale, 0, weight.rows, [&](GroupRounder& rounder, int64_t row) {
    rounder.load(row, group, kNoLimit);
    rounder.load(row, group, part * rounder.largest());
    rounder.round();
    rounder.errors(errors + row * rounder.count());
  });
}

Limits magnitudes(const ScaledWeight& weight, std::span<const double> scale) {
  Limits out(static_cast<size_t>(weight.rows * weight.groups.count));
  for_each_row(weight, scale, 0, weight.rows, [&](GroupRounder& rounder, int64_t row) {
    for (int64_t g = 0; g < weight.groups.count; ++g) {
      rounder.load(row, g, kNoLimit);
      out[static_cast<size_t>(row * weight.groups.count + g)] = rounder.largest();
    }
  });
  return out;
}

void code_rows(const ScaledWeight& weight, std::span<const double> scale, const Limits& limits,
               const Coded& coded) {
  for_each_row(weight, scale, 0, weight.rows, [&](GroupRounder& rounder, int64_t row) {
    for (int64_t g = 0; g < weight.groups.count; ++g) {
      rounder.load(row, g, limit_of(limits, weight, row, g));
      rounder.round();
      const auto at = static_cast<size_t>(row * weight.columns + rounder.first());
      for (int64_t i = 0; i < rounder.count(); ++i) {
        coded.codes[at + static_cast<size_t>(i)] =
            static_cast<uint8_t>(rounder.codes()[static_cast<size_t>(i)]);
      }
      coded.scales[static_cast<size_t>(row * weight.groups.count + g)] = rounder.grid().scale;
      coded.zeros[static_cast<size_t>(row * weight.groups.count + g)] = rounder.grid().zero;
    }
  });
}

}  // namespace quench::quantizers
