// The Gram matrix of a group's rows, G = Σ w·xxᵀ, for quantizers without libtorch: a group that
// sums it, and the functions by which quench shares it and asks for the error of any result. Derive
// the group from GramGroup, and give the quantizer's class
//
//   static void add_functions(quench_quantizer_table& table) { kit::add_gram_functions(table); }
//
// Sums are of float64 in the order of the rows, whatever the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "quench/kit/host.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::kit {

// tr(ΔGΔᵀ) and tr(WGWᵀ), Δ = weight − dequantized.
struct OutputError {
  double squared = 0;
  double reference = 0;
};

class GramGroup : public QuantizerGroup {
 public:
  explicit GramGroup(int64_t in_features)
      : in_(static_cast<size_t>(in_features)),
        shape_{in_features, in_features},
        strides_{in_features, 1},
        sums_(in_ * in_) {}

  void observe(const quench_observe_args& args) override {
    const std::vector<double> x = to_doubles(*args.x, "x");
    if (x.size() % in_ != 0) {
      fail(QUENCH_INVALID_ARGUMENT, "x: got %zu values, wanted rows of %zu", x.size(), in_);
    }
    const std::vector<std::pair<size_t, double>> chosen = rows_of(args, x.size() / in_);
    for (const auto& [row, weight] : chosen) {
      for (size_t i = 0; i < in_; ++i) {
        if (!std::isfinite(x[row * in_ + i])) {
          fail(QUENCH_NUMERICAL, "x: row %zu, column %zu is %g", row, i, x[row * in_ + i]);
        }
      }
    }
    check_cancelled();
    parallel_for(in_, kRowsOfG, [&](uint64_t begin, uint64_t end) {
      for (const auto& [row, weight] : chosen) {
        const double* values = x.data() + row * in_;
        for (uint64_t i = begin; i < end; ++i) {
          const double scaled = weight * values[i];
          for (uint64_t j = 0; j <= i; ++j) {
            sums_[i * in_ + j] += scaled * values[j];
          }
        }
      }
    });
    for (const auto& [row, weight] : chosen) {
      rows_ += weight;
    }
    mirrored_ = false;
  }

  // [in, in], both triangles.
  std::span<const double> gram() {
    for (size_t i = 0; i < in_ && !mirrored_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        sums_[j * in_ + i] = sums_[i * in_ + j];
      }
    }
    mirrored_ = true;
    return sums_;
  }
  double rows() const { return rows_; }  // Σ w
  // Throws FAILED_PRECONDITION where nothing was observed.
  void require_rows() const {
    if (!(rows_ > 0)) {
      throw Error(QUENCH_FAILED_PRECONDITION, "the group has no calibration rows");
    }
  }
  // G as a tensor, valid as long as the group.
  quench_tensor view() {
    gram();
    return {sums_.data(), {QUENCH_DEVICE_CPU, 0}, 2, kFloat64, shape_, strides_, 0};
  }
  void set(std::span<const double> gram, double rows) {
    expects(gram.size() == sums_.size(), "gram: wanted [in, in]");
    std::copy(gram.begin(), gram.end(), sums_.begin());
    rows_ = rows;
    mirrored_ = true;
  }
  // Of weights [out, in].
  OutputError output_error(std::span<const double> weight, std::span<const double> dequantized) {
    expects(weight.size() == dequantized.size() && weight.size() % in_ == 0,
            "output_error: wanted two weights [out, in]");
    const std::span<const double> g = gram();
    std::vector<OutputError> of_row(weight.size() / in_);
    parallel_for(of_row.size(), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t o = begin; o < end; ++o) {
        const double* w = weight.data() + o * in_;
        const double* v = dequantized.data() + o * in_;
        for (size_t i = 0; i < in_; ++i) {
          OutputError sum;
          for (size_t j = 0; j < in_; ++j) {
            sum.squared += g[i * in_ + j] * (w[j] - v[j]);
            sum.reference += g[i * in_ + j] * w[j];
          }
          of_row[o].squared += (w[i] - v[i]) * sum.squared;
          of_row[o].reference += w[i] * sum.reference;
        }
      }
    });
    OutputError out;
    for (const OutputError& row : of_row) {
      out.squared += row.squared;
      out.reference += row.reference;
    }
    return out;
  }

 private:
  static constexpr uint64_t kRowsOfG = 16;

  // Which rows count, and their weights.
  static std::vector<std::pair<size_t, double>> rows_of(const quench_observe_args& args,
                                                        size_t rows) {
    std::vector<std::pair<size_t, double>> out;
    if (args.row_index == nullptr) {
      for (size_t row = 0; row < rows; ++row) {
        out.emplace_back(row, 1.0);
      }
    } else {
      for (const int64_t row : elements<int64_t>(*args.row_index, "row_index")) {
        if (row < 0 || static_cast<size_t>(row) >= rows) {
          fail(QUENCH_INVALID_ARGUMENT, "row_index: got %lld, wanted an index below %zu",
               static_cast<long long>(row), rows);
        }
        out.emplace_back(static_cast<size_t>(row), 1.0);
      }
    }
    if (args.row_weight != nullptr) {
      const auto weights = elements<double>(*args.row_weight, "row_weight");
      if (weights.size() != out.size() && weights.size() != rows) {
        fail(QUENCH_INVALID_ARGUMENT, "row_weight: got %zu weights, wanted %zu or %zu",
             weights.size(), out.size(), rows);
      }
      for (size_t i = 0; i < out.size(); ++i) {
        out[i].second = weights[weights.size() == out.size() ? i : out[i].first];
        if (!(out[i].second >= 0) || !std::isfinite(out[i].second)) {
          fail(QUENCH_INVALID_ARGUMENT, "row_weight: got %g, wanted a finite weight of 0 or more",
               out[i].second);
        }
      }
    }
    return out;
  }

  size_t in_;
  int64_t shape_[2];
  int64_t strides_[2];
  std::vector<double> sums_;  // [in, in]; the upper triangle once `mirrored_`
  double rows_ = 0;
  bool mirrored_ = true;
};

namespace detail {

inline GramGroup& gram_of(quench_quantizer_state* state) {
  return static_cast<GramGroup&>(*self(state).group);
}
inline quench_status get_gram(quench_quantizer*, quench_quantizer_state* state, quench_tensor* gram,
                              double* rows, quench_error* error) noexcept {
  return guard(error, [&] {
    *gram = gram_of(state).view();
    *rows = gram_of(state).rows();
  });
}
inline quench_status set_gram(quench_quantizer*, quench_quantizer_state* state,
                              const quench_tensor* gram, double rows,
                              quench_error* error) noexcept {
  return guard(error, [&] { gram_of(state).set(to_doubles(*gram, "gram"), rows); });
}
inline quench_status gram_output_error(quench_quantizer*, quench_quantizer_state* state,
                                       const quench_tensor* weight,
                                       const quench_tensor* dequantized, double* squared_error,
                                       double* reference, quench_error* error) noexcept {
  return guard(error, [&] {
    const OutputError sums = gram_of(state).output_error(to_doubles(*weight, "weight"),
                                                         to_doubles(*dequantized, "dequantized"));
    *squared_error = sums.squared;
    *reference = sums.reference;
  });
}

}  // namespace detail

// All groups of the quantizer must be GramGroups.
inline void add_gram_functions(quench_quantizer_table& table) {
  table.gram_get = detail::get_gram;
  table.gram_set = detail::set_gram;
  table.output_error = detail::gram_output_error;
}

}  // namespace quench::kit
