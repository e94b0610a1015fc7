#include "quantizers/inputs/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

template <typename T>
Range widened(Range range, std::span<const T> values) {
  for (const T value : values) {
    const auto wide = static_cast<double>(value);
    range.min = wide < range.min ? wide : range.min;
    range.max = wide > range.max ? wide : range.max;
  }
  return range;
}

void expect_divides(int64_t part, int64_t whole, const char* what, const std::string& linear) {
  if (whole % part != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "%s: %s = %lld does not divide the %lld columns that it cuts", linear.c_str(), what,
              static_cast<long long>(part), static_cast<long long>(whole));
  }
}

// A flag for each column; empty if none stays in float. Of equal magnitudes the first are kept.
std::vector<uint8_t> columns_to_keep(std::span<const Range> columns,
                                     const ActivationSettings& settings) {
  if (!settings.keeps_columns()) {
    return {};
  }
  const auto magnitude = [&](size_t c) { return std::max(-columns[c].min, columns[c].max); };
  std::vector<uint8_t> kept(columns.size());
  if (settings.activation_threshold > 0) {
    for (size_t c = 0; c < kept.size(); ++c) {
      kept[c] = magnitude(c) >= settings.activation_threshold ? 1 : 0;
    }
    return kept;
  }
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return magnitude(a) > magnitude(b); });
  const auto count = std::min(order.size(), static_cast<size_t>(settings.activation_keep));
  for (size_t i = 0; i < count; ++i) {
    kept[order[i]] = 1;
  }
  return kept;
}

}  // namespace

InputRounding::InputRounding(const ActivationSettings& settings, int64_t columns,
                             const InputStatistics* statistics, std::span<const double> scale,
                             const std::string& linear)
    : settings_(settings),
      columns_(columns),
      share_(settings.activation_per == "group" ? settings.activation_group_size : columns),
      linear_(linear),
      format_(activation_format(settings)) {
  expect_divides(share_, columns, "activation_group_size", linear);
  expect_divides(format_->block(), share_, "the block of the format", linear);
  if (!settings.is_static() && !settings.keeps_columns()) {
    return;
  }
  if (statistics == nullptr || statistics->empty()) {
    fallback_ = "dynamic, all columns: no calibration row reached this group";
    return;
  }
  calibrate(*statistics, scale);
}

Range InputRounding::extremes(std::span<const Range> columns, int64_t first) const {
  Range range{0, 0};
  for (auto c = static_cast<size_t>(first); c < static_cast<size_t>(first + share_); ++c) {
    if (kept_.empty() || kept_[c] == 0) {
      range = {std::min(range.min, columns[c].min), std::max(range.max, columns[c].max)};
    }
  }
  return range;
}

void InputRounding::calibrate(const InputStatistics& statistics, std::span<const double> scale) {
  if (settings_.activation_range == "percentile") {
    calibrated_ = {
        statistics.percentile(settings_.activation_percentile, settings_.activation_sym)};
    return;
  }
  std::vector<Range> columns = statistics.columns();
  for (size_t c = 0; c < scale.size(); ++c) {
    columns[c] = {columns[c].min / scale[c], columns[c].max / scale[c]};
  }
  kept_ = columns_to_keep(columns, settings_);
  for (int64_t first = 0; settings_.is_static() && first < columns_; first += share_) {
    calibrated_.push_back(extremes(columns, first));
  }
}

int64_t InputRounding::kept_columns() const {
  return std::count(kept_.begin(), kept_.end(), uint8_t{1});
}

double InputRounding::bits() const {
  const double kept = static_cast<double>(kept_columns()) / static_cast<double>(columns_);
  const bool each_row = calibrated_.empty() && settings_.activation_per != "tensor";
  const double scales = each_row ? format_->range_bits() / static_cast<double>(share_) : 0;
  return (1 - kept) * format_->bits() + kept * 16 + scales;
}

template <typename T>
void InputRounding::check_finite(const T* values, int64_t rows) const {
  kit::parallel_for(static_cast<uint64_t>(rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      for (int64_t c = 0; c < columns_; ++c) {
        if (const T value = values[r * columns_ + c]; !std::isfinite(value)) {
          kit::fail(QUENCH_NUMERICAL, "%s: input: row %lld, column %lld is %g", linear_.c_str(),
                    static_cast<long long>(r), static_cast<long long>(c),
                    static_cast<double>(value));
        }
      }
    }
  });
}

template <typename T>
Range InputRounding::range_of_all(const T* values, int64_t rows) const {
  Range range{0, 0};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns_; ++c) {
      if (kept_.empty() || kept_[static_cast<size_t>(c)] == 0) {
        range = widened<T>(range, {values + r * columns_ + c, 1});
      }
    }
  }
  return range;
}

Range InputRounding::range_for(std::span<const double> values, int64_t first, Range of_all) const {
  if (!calibrated_.empty()) {
    return calibrated_.size() == 1 ? calibrated_.front()
                                   : calibrated_[static_cast<size_t>(first / share_)];
  }
  return settings_.activation_per == "tensor" ? of_all : widened<double>({0, 0}, values);
}

template <typename T>
void InputRounding::round_rows(T* values, int64_t rows) const {
  check_finite(values, rows);
  const bool of_batch = calibrated_.empty() && settings_.activation_per == "tensor";
  const Range of_all = of_batch ? range_of_all(values, rows) : Range{0, 0};
  kit::parallel_for(static_cast<uint64_t>(rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
    std::vector<double> own(static_cast<size_t>(columns_));
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      T* row = values + r * columns_;
      for (size_t c = 0; c < own.size(); ++c) {  // what stays in float widens no range
        own[c] = kept_.empty() || kept_[c] == 0 ? static_cast<double>(row[c]) : 0;
      }
      for (int64_t first = 0; first < columns_; first += share_) {
        const std::span<double> share(own.data() + first, static_cast<size_t>(share_));
        format_->round(share, range_for(share, first, of_all));
      }
      for (size_t c = 0; c < own.size(); ++c) {
        if (!std::isfinite(own[c])) {
          kit::fail(QUENCH_NUMERICAL, "%s: input: the range of row %lld overflows", linear_.c_str(),
                    static_cast<long long>(r));
        }
        row[c] = kept_.empty() || kept_[c] == 0 ? static_cast<T>(own[c]) : row[c];
      }
    }
  });
}

void InputRounding::round(const at::Tensor& rows) const {
  if (rows.scalar_type() == at::kDouble) {
    round_rows(rows.data_ptr<double>(), rows.size(0));
  } else {
    round_rows(rows.data_ptr<float>(), rows.size(0));
  }
}

}  // namespace quench::quantizers
