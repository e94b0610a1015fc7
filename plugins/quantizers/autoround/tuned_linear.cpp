#include "quantizers/autoround/tuned_linear.hpp"

#include <algorithm>
#include <utility>

#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

double sign_of(double value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

// Calls body(row, group, first, last) for all groups of all rows, first and last being indices into
// the weight.
template <typename Body>
void for_groups(int64_t rows, int64_t columns, Groups groups, Body&& body) {
  kit::parallel_for(static_cast<uint64_t>(rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      for (int64_t g = 0; g < groups.count; ++g) {
        const int64_t first = g * groups.size;
        const int64_t last = std::min(first + groups.size, columns);
        body(static_cast<size_t>(r * groups.count + g), r * columns + first, r * columns + last);
      }
    }
  });
}

}  // namespace

TunedLinear::TunedLinear(std::string name, std::string parameter, at::Tensor weight, Groups groups,
                         GridKind kind)
    : name_(std::move(name)),
      parameter_(std::move(parameter)),
      weight_(std::move(weight)),
      groups_(groups),
      kind_(kind),
      offsets_(kit::host_empty(weight_.sizes(), weight_.scalar_type()).zero_()),
      rounded_(kit::host_empty(weight_.sizes(), weight_.scalar_type())),
      gradient_(kit::host_empty(weight_.sizes(), weight_.scalar_type())),
      best_(weight_.size(0), weight_.size(1), groups) {
  const auto count = static_cast<size_t>(weight_.size(0) * groups.count);
  for (std::vector<double>* own : {&lows_, &highs_}) {
    own->resize(count);
  }
  for (std::vector<double>* own : {&low_factors_, &high_factors_}) {
    own->assign(count, 1.0);
  }
  if (weight_.scalar_type() == at::kDouble) {
    find_extremes<double>();
  } else {
    find_extremes<float>();
  }
}

template <typename T>
void TunedLinear::find_extremes() {
  const T* weight = weight_.const_data_ptr<T>();
  for_groups(weight_.size(0), weight_.size(1), groups_, [&](size_t g, int64_t first, int64_t last) {
    T low = 0;
    T high = 0;
    for (int64_t i = first; i < last; ++i) {
      low = std::min(low, weight[i]);
      high = std::max(high, weight[i]);
    }
    lows_[g] = low;
    highs_[g] = high;
  });
}

TunedGrid TunedLinear::grid(size_t group) const {
  return tuned_grid(lows_[group], highs_[group], low_factors_[group], high_factors_[group], kind_);
}

template <typename T>
void TunedLinear::round_as() {
  const T* weight = weight_.const_data_ptr<T>();
  const T* offsets = offsets_.const_data_ptr<T>();
  T* rounded = rounded_.data_ptr<T>();
  T* gradient = gradient_.data_ptr<T>();
  const double max_code = kind_.max_code();
  for_groups(weight_.size(0), weight_.size(1), groups_, [&](size_t g, int64_t first, int64_t last) {
    const Grid own = grid(g).grid;
    for (int64_t i = first; i < last; ++i) {
      const double code = offset_code(weight[i], offsets[i], own, max_code).code;
      rounded[i] = static_cast<T>(own.scale * (code - own.zero));
      gradient[i] = 0;
    }
  });
}

void TunedLinear::round() {
  weight_.scalar_type() == at::kDouble ? round_as<double>() : round_as<float>();
}

template <typename T>
void TunedLinear::step_as(double offset_rate, double factor_rate) {
  const T* weight = weight_.const_data_ptr<T>();
  const T* gradient = gradient_.const_data_ptr<T>();
  T* offsets = offsets_.data_ptr<T>();
  const double max_code = kind_.max_code();
  for_groups(weight_.size(0), weight_.size(1), groups_, [&](size_t g, int64_t first, int64_t last) {
    T* own = offsets + first;
    if (lows_[g] == highs_[g]) {
      return;  // zeros stay zeros
    }
    // Each offset moves after it was last read.
    const FactorGradient found =
        backward(weight + first, own, gradient + first, last - first, grid(g), max_code,
                 [&](int64_t i, double slope) {
                   own[i] = static_cast<T>(own[i] - offset_rate * sign_of(slope));
                 });
    const auto moved = [&](double factor, double slope) {
      return std::clamp(factor - factor_rate * sign_of(slope), 0.0, 1.0);
    };
    low_factors_[g] = moved(low_factors_[g], found.low);
    high_factors_[g] = moved(high_factors_[g], found.high);
  });
}

void TunedLinear::step(double offset_rate, double factor_rate) {
  weight_.scalar_type() == at::kDouble ? step_as<double>(offset_rate, factor_rate)
                                       : step_as<float>(offset_rate, factor_rate);
}

template <typename T>
void TunedLinear::code_as(const Coded& coded) const {
  const T* weight = weight_.const_data_ptr<T>();
  const T* offsets = offsets_.const_data_ptr<T>();
  const double max_code = kind_.max_code();
  for_groups(weight_.size(0), weight_.size(1), groups_, [&](size_t g, int64_t first, int64_t last) {
    const Grid own = grid(g).grid;
    for (int64_t i = first; i < last; ++i) {
      const double code = offset_code(weight[i], offsets[i], own, max_code).code;
      coded.codes[static_cast<size_t>(i)] = static_cast<uint8_t>(static_cast<int32_t>(code));
    }
    coded.scales[g] = own.scale;
    coded.zeros[g] = own.zero;
  });
}

void TunedLinear::code_into(const Coded& coded) const {
  weight_.scalar_type() == at::kDouble ? code_as<double>(coded) : code_as<float>(coded);
}

void TunedLinear::keep() {
  code_into(best_.view());
}

void TunedLinear::show_best() {
  dequantize(best_.view(), kit::view_of(rounded_), name_.c_str());
}

void TunedLinear::set_nearest() {
  offsets_.zero_();
  std::fill(low_factors_.begin(), low_factors_.end(), 1.0);
  std::fill(high_factors_.begin(), high_factors_.end(), 1.0);
}

void TunedLinear::show_nearest() {
  set_nearest();
  round();
}

void TunedLinear::keep_nearest() {
  set_nearest();
  keep();
}

void TunedLinear::finish() {
  offsets_ = rounded_ = gradient_ = at::Tensor();
  for (std::vector<double>* own : {&lows_, &highs_, &low_factors_, &high_factors_}) {
    std::vector<double>().swap(*own);
  }
}

uint64_t TunedLinear::bytes(uint64_t weights, uint64_t element) {
  return weights * (3 * element + 1);
}

}  // namespace quench::quantizers
