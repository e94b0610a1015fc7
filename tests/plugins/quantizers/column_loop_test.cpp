// GPTQ's column loop as kernels, run on the host: held against the plain loops, to the bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "quantizers/number_format/format_numbers.hpp"
#include "shared/number_formats/scale_chooser.hpp"
#include "tests/plugins/quantizers/column_loop_case.hpp"
#include "tests/plugins/quantizers/column_loop_layers.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

namespace reference = quantizers::reference;

std::vector<double> as_doubles(const std::vector<uint8_t>& codes) {
  return {codes.begin(), codes.end()};
}

template <typename T>
quantizers::Grid plain_grid(const quantizers::GridNumbers& numbers, const std::vector<T>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return quantizers::grid_of_values(values.data(), 1, static_cast<int64_t>(values.size()),
                                    static_cast<double>(*low), static_cast<double>(*high),
                                    numbers.kind);
}
template <typename T>
quantizers::Grid plain_grid(const quantizers::FormatNumbers& numbers,
                            const std::vector<T>& values) {
  number_formats::ScaleChooser chooser(numbers.format, numbers.rule, numbers.tensor_scale);
  return {chooser.scale_of(values.data(), static_cast<int64_t>(values.size())), 0};
}

struct PlainCode {
  double code;
  double value;  // that it stands for
};
PlainCode plain_code(const quantizers::GridNumbers& numbers, double x, quantizers::Grid grid) {
  const double code = quantizers::code_of(x, grid.scale, grid.zero, numbers.kind.max_code());
  return {code, grid.scale * (code - grid.zero)};
}
PlainCode plain_code(const quantizers::FormatNumbers& numbers, double x, quantizers::Grid grid) {
  const uint8_t code = numbers.format.code_of(x, grid.scale);
  return {static_cast<double>(code), grid.scale * numbers.format.element_of(code)};
}

// The loop with `precision: float32`, one value at a time: inside a panel float64, past it each
// product and each difference rounded to float32.
template <typename From, typename Numbers>
ColumnLoopResult plain_float32(const ColumnLoopCase<From, float, Numbers>& layer) {
  const auto& loop = layer.loop();
  const int64_t n = loop.columns;
  const auto at = [](const double* m, int64_t columns, int64_t i, int64_t j) {
    return m[i * columns + j];
  };
  ColumnLoopResult out{std::vector<uint8_t>(static_cast<size_t>(loop.rows * n)),
                       std::vector<double>(static_cast<size_t>(loop.rows * loop.groups)),
                       std::vector<double>(static_cast<size_t>(loop.rows * loop.groups)),
                       std::vector<double>(static_cast<size_t>(loop.rows))};
  for (int64_t r = 0; r < loop.rows; ++r) {
    std::vector<float> w(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) {
      const int32_t column = loop.order[k];
      w[static_cast<size_t>(k)] = loop.dead[column] != 0 ? 0 : loop.weight[r * n + column];
    }
    const auto set_grid = [&](int64_t g, const auto& values) {
      const quantizers::Grid grid = plain_grid(loop.numbers, values);
      out.scales[static_cast<size_t>(r * loop.groups + g)] = grid.scale;
      out.zeros[static_cast<size_t>(r * loop.groups + g)] = grid.zero;
    };
    for (int64_t g = 0; g < loop.groups && loop.source == quantizers::GridSource::kGiven; ++g) {
      std::vector<float> values;
      for (int64_t c = g * loop.group_size; c < std::min((g + 1) * loop.group_size, n); ++c) {
        values.push_back(!loop.whole_rows && loop.dead[c] != 0 ? 0 : loop.weight[r * n + c]);
      }
      set_grid(g, values);
    }
    for (int64_t begin = 0; begin < n;) {
      const int64_t end = quantizers::panel_end(begin, n, loop.block, loop.source, loop.group_size);
      std::vector<double> x(w.begin(), w.end());
      std::vector<double> errors;
      std::vector<double> before;
      const auto grid_at = [&](int64_t k) {
        const int64_t past = std::min(k + loop.group_size, n);
        set_grid(loop.group[k], std::vector<double>(x.begin() + k, x.begin() + past));
      };
      for (int64_t k = begin; k < end && loop.source == quantizers::GridSource::kStale; ++k) {
        if (k % loop.group_size == 0) {
          grid_at(k);
        }
      }
      for (int64_t k = begin; k < end; ++k) {
        if (loop.source == quantizers::GridSource::kCurrent && k % loop.group_size == 0) {
          grid_at(k);
        }
        const auto grid = static_cast<size_t>(r * loop.groups + loop.group[k]);
        const double value = x[static_cast<size_t>(k)];
        const auto [code, rounded] =
            plain_code(loop.numbers, value, {out.scales[grid], out.zeros[grid]});
        const double error = (value - rounded) / at(loop.upper, n, k, k);
        out.codes[static_cast<size_t>(r * n + loop.order[k])] = static_cast<uint8_t>(code);
        out.loss[static_cast<size_t>(r)] += error * error / 2;
        for (int64_t j = k + 1; j < end; ++j) {
          const double product = error * at(loop.upper, n, k, j);
          x[static_cast<size_t>(j)] -=
              loop.correction == nullptr ? product : product - value * at(loop.correction, n, k, j);
        }
        errors.push_back(error);
        before.push_back(value);
      }
      for (int64_t j = end; j < n; ++j) {
        for (int64_t k = begin; k < end; ++k) {
          const auto i = static_cast<size_t>(k - begin);
          const float product =
              static_cast<float>(errors[i]) * static_cast<float>(at(loop.upper, n, k, j));
          w[static_cast<size_t>(j)] -=
              loop.correction == nullptr
                  ? product
                  : product - static_cast<float>(before[i]) *
                                  static_cast<float>(at(loop.correction, n, k, j));
        }
      }
      begin = end;
    }
  }
  return out;
}

template <typename From>
void check_float64(const ColumnLoopLayer& layer) {
  ColumnLoopCase<From, double> kernels(layer.weight, layer.factored, layer.options,
                                       layer.corrected);
  REQUIRE(quantizers::has_kernels(kernels.loop()));
  const ColumnLoopResult result = kernels.run_on_host(cuda::Order::kFirstToLast);
  const reference::Solution wanted =
      reference::quantize_columns(layer.weight, layer.factored, layer.options);
  CHECK(differences(as_doubles(result.codes), wanted.codes.values) == "");
  CHECK(differences(result.scales, wanted.scales.values) == "");
  CHECK(differences(result.zeros, wanted.zeros.values) == "");
  // The reference adds column by column over all rows.
  CHECK(std::accumulate(result.loss.begin(), result.loss.end(), 0.0) ==
        Approx(wanted.loss).epsilon(1e-12));
}

}  // namespace

TEST_CASE("gptq kernels: float64 has the bits of the plain reference", "[quantizers][gptq][cuda]") {
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    INFO(layer.name);
    check_float64<double>(layer);
    check_float64<float>(layer);
  }
}

TEST_CASE("gptq kernels: float32 has the bits of a plain loop", "[quantizers][gptq][cuda]") {
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    INFO(layer.name);
    ColumnLoopCase<float, float> kernels(layer.weight, layer.factored, layer.options,
                                         layer.corrected);
    const ColumnLoopResult wanted = plain_float32(kernels);
    const ColumnLoopResult result = kernels.run_on_host(cuda::Order::kFirstToLast);
    CHECK(differences(result.codes, wanted.codes) == "");
    CHECK(differences(result.scales, wanted.scales) == "");
    CHECK(differences(result.zeros, wanted.zeros) == "");
    CHECK(differences(result.loss, wanted.loss) == "");
  }
}

TEST_CASE("gptq kernels: a number format in float32 has the bits of a plain loop, in both orders",
          "[quantizers][gptq][number_formats][cuda]") {
  for (const number_formats::NumberFormat& format : number_formats::number_formats()) {
    for (const auto rule :
         {number_formats::ScaleRule::kOfFormat, number_formats::ScaleRule::kLeastSquares}) {
      if (!quantizers::finds_scales_by_kernel(format, rule)) {
        continue;
      }
      const quantizers::FormatNumbers numbers{format, rule, format.tensor_scale_of(4)};
      for (const ColumnLoopLayer& layer : column_loop_layers()) {
        INFO(layer.name << ", " << format.name << ", rule " << static_cast<int>(rule));
        ColumnLoopCase<float, float, quantizers::FormatNumbers> kernels(
            layer.weight, layer.factored, layer.options, layer.corrected, numbers);
        const ColumnLoopResult wanted = plain_float32(kernels);
        for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
          ColumnLoopCase<float, float, quantizers::FormatNumbers> own(
              layer.weight, layer.factored, layer.options, layer.corrected, numbers);
          const ColumnLoopResult& result = own.run_on_host(order);
          CHECK(differences(result.codes, wanted.codes) == "");
          CHECK(differences(result.scales, wanted.scales) == "");
          CHECK(differences(result.zeros, wanted.zeros) == "");
          CHECK(differences(result.loss, wanted.loss) == "");
        }
      }
    }
  }
}

TEST_CASE("gptq kernels: no thread reads what another writes in its phase",
          "[quantizers][gptq][cuda]") {
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    INFO(layer.name);
    const auto run = [&](cuda::Order order) {
      return ColumnLoopCase<float, float>(layer.weight, layer.factored, layer.options,
                                          layer.corrected)
          .run_on_host(order);
    };
    CHECK(run(cuda::Order::kFirstToLast) == run(cuda::Order::kLastToFirst));
  }
}

// What the solver of the plugin runs on a processor. With a correction it orders the subtractions
// of a run of columns in another way.
TEST_CASE("gptq kernels: a panel has the bits of the processor's kernel",
          "[quantizers][gptq][cuda]") {
  for (const ColumnLoopLayer& layer : column_loop_layers()) {
    ColumnLoopCase<float, float> kernels(layer.weight, layer.factored, layer.options, false);
    const ColumnLoopResult on_device = kernels.run_on_host(cuda::Order::kFirstToLast);
    const auto& loop = kernels.loop();
    const int64_t end =
        quantizers::panel_end(0, loop.columns, loop.block, loop.source, loop.group_size);
    if (end < loop.columns) {
      continue;  // what happens between panels sums in another order on a processor
    }
    INFO(layer.name);
    const auto size = [](int64_t count) { return static_cast<size_t>(count); };
    std::vector<float> weights(size(loop.columns * loop.rows));
    std::vector<double> scales(size(loop.groups * loop.rows));
    std::vector<double> zeros(scales.size());
    for (int64_t r = 0; r < loop.rows; ++r) {
      for (int64_t k = 0; k < loop.columns; ++k) {
        const int32_t column = loop.order[k];
        weights[size(k * loop.rows + r)] =
            loop.dead[column] != 0 ? 0 : loop.weight[r * loop.columns + column];
      }
      for (int64_t g = 0; g < loop.groups; ++g) {
        scales[size(g * loop.rows + r)] = on_device.scales[size(r * loop.groups + g)];
        zeros[size(g * loop.rows + r)] = on_device.zeros[size(r * loop.groups + g)];
      }
    }
    const std::vector<double> grids_of_kernels = scales;
    std::vector<uint8_t> codes(weights.size());
    std::vector<float> errors(weights.size());
    std::vector<double> loss(size(loop.rows));
    const quantizers::Panel<float> panel{loop.rows,
                                         loop.columns,
                                         0,
                                         end,
                                         loop.numbers.kind,
                                         loop.source,
                                         loop.group_size,
                                         loop.group,
                                         loop.upper,
                                         loop.pivots,
                                         weights.data(),
                                         scales.data(),
                                         zeros.data(),
                                         codes.data(),
                                         errors.data(),
                                         nullptr,
                                         nullptr,
                                         loss.data()};
    for (int64_t first = 0; first < loop.rows; first += quantizers::kPanelRows) {
      quantizers::quantize_panel(panel, first, std::min(first + quantizers::kPanelRows, loop.rows));
    }
    CHECK(differences(loss, on_device.loss) == "");
    CHECK(differences(scales, grids_of_kernels) == "");
    int64_t differing = 0;
    for (int64_t r = 0; r < loop.rows; ++r) {
      for (int64_t k = 0; k < loop.columns; ++k) {
        differing += codes[size(k * loop.rows + r)] !=
                             on_device.codes[size(r * loop.columns + loop.order[k])]
                         ? 1
                         : 0;
      }
    }
    CHECK(differing == 0);
  }
}

TEST_CASE("gptq kernels: a block wider than shared memory is refused", "[quantizers][gptq][cuda]") {
  ColumnLoopLayer layer = column_loop_layers().front();
  layer.options.block = 129;
  CHECK_FALSE(quantizers::has_kernels(
      ColumnLoopCase<float, float>(layer.weight, layer.factored, layer.options, false).loop()));
}

}  // namespace quench::test
