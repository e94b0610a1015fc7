#include "quantizers/inputs/statistics.hpp"

#include <bit>
#include <cmath>
#include <numeric>

#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kColumnGrain = 64;
constexpr int kShift = 13;  // 32 - 13 = 19 bits: sign, exponent and ten of the mantissa
constexpr size_t kBins = size_t{1} << (32 - kShift);
constexpr size_t kZero = kBins / 2;  // the bin of the smallest values that are not negative

// Ascends with the value.
size_t bin_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return ordered >> kShift;
}

// The value of the bin that is the farthest from zero.
double end_of(size_t bin) {
  const auto first = static_cast<uint32_t>(bin) << kShift;
  if (bin >= kZero) {
    return std::bit_cast<float>((first | ((1U << kShift) - 1)) & 0x7FFFFFFFU);
  }
  return std::bit_cast<float>(~first);
}

bool wants_ranges(const ActivationSettings& settings) {
  return settings.activation_range == "max" || settings.keeps_columns();
}
bool wants_counts(const ActivationSettings& settings) {
  return settings.activation_range == "percentile";
}

// Values in host memory, C order, float32 or float64.
at::Tensor on_host(const at::Tensor& rows) {
  const at::ScalarType type = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return rows.to(at::kCPU).to(type).contiguous();
}

}  // namespace

InputStatistics::InputStatistics(int64_t columns, const ActivationSettings& settings)
    : columns_(columns),
      ranges_(wants_ranges(settings) ? static_cast<size_t>(columns) : 0, Range{0, 0}),
      bins_(wants_counts(settings) ? kBins : 0) {}

template <typename T>
void InputStatistics::add_extremes(const T* rows, int64_t count) {
  kit::parallel_for(static_cast<uint64_t>(columns_), kColumnGrain,
                    [&](uint64_t begin, uint64_t end) {
                      for (int64_t r = 0; r < count; ++r) {
                        const T* row = rows + r * columns_;
                        for (uint64_t c = begin; c < end; ++c) {
                          const auto value = static_cast<double>(row[c]);
                          ranges_[c].min = value < ranges_[c].min ? value : ranges_[c].min;
                          ranges_[c].max = value > ranges_[c].max ? value : ranges_[c].max;
                        }
                      }
                    });
}

template <typename T>
void InputStatistics::add_counts(const T* rows, int64_t count) {
  for (int64_t i = 0; i < count * columns_; ++i) {
    ++bins_[bin_of(static_cast<float>(rows[i]))];
  }
}

void InputStatistics::observe(const at::Tensor& rows) {
  sample_.add(rows);
  if (ranges_.empty() && bins_.empty()) {
    return;
  }
  const at::Tensor values = on_host(rows);
  const auto add = [&](const auto* first) {
    if (!ranges_.empty()) {
      add_extremes(first, values.size(0));
    }
    if (!bins_.empty()) {
      add_counts(first, values.size(0));
    }
  };
  if (values.scalar_type() == at::kDouble) {
    add(values.const_data_ptr<double>());
  } else {
    add(values.const_data_ptr<float>());
  }
}

Range InputStatistics::percentile(double percent, bool sym) const {
  const int64_t all = std::accumulate(bins_.begin(), bins_.end(), int64_t{0});
  // 100 - percent is rounded; a value more or less must not depend on that.
  const double outside = static_cast<double>(all) * (100 - percent) / 100 * (1 + 1e-9);
  if (sym) {  // from the largest magnitude inwards
    double seen = 0;
    for (size_t above = kBins - 1; above > kZero; --above) {
      const size_t below = kBins - 1 - above;
      seen += static_cast<double>(bins_[above] + bins_[below]);
      if (seen > outside) {
        const double largest = end_of(above);
        return {-largest, largest};
      }
    }
    return {0, 0};
  }
  Range range{0, 0};
  double seen = 0;
  for (size_t bin = kBins - 1; bin > kZero; --bin) {
    seen += static_cast<double>(bins_[bin]);
    if (seen > outside / 2) {
      range.max = end_of(bin);
      break;
    }
  }
  seen = 0;
  for (size_t bin = 0; bin < kZero - 1; ++bin) {
    seen += static_cast<double>(bins_[bin]);
    if (seen > outside / 2) {
      range.min = end_of(bin);
      break;
    }
  }
  return range;
}

uint64_t InputStatistics::bytes(int64_t columns, const ActivationSettings& settings) {
  return RowSample::bytes(columns) +
         (wants_ranges(settings) ? static_cast<uint64_t>(columns) * sizeof(Range) : 0) +
         (wants_counts(settings) ? kBins * sizeof(int64_t) : 0);
}

}  // namespace quench::quantizers
