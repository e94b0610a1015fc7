#include "quantizers/number_format/formatted_weight.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "quantizers/grid/round_rows_on.hpp"
#include "quantizers/number_format/device/entries.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/number_formats/scale_chooser.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

template <typename T>
void round_all(const T* weight, const NumberFormat& format, ScaleRule rule, double tensor_scale,
               Groups groups, const Coded& coded) {
  kit::parallel_for(
      static_cast<uint64_t>(coded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        number_formats::ScaleChooser chooser(format, rule, tensor_scale);
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          for (int64_t g = 0; g < groups.count; ++g) {
            const int64_t first = r * coded.columns + g * groups.size;
            const double scale = chooser.scale_of(weight + first, groups.size);
            coded.scales[static_cast<size_t>(r * groups.count + g)] = scale;
            for (int64_t i = first; i < first + groups.size; ++i) {
              coded.codes[static_cast<size_t>(i)] = format.code_of(weight[i], scale);
            }
          }
        }
      });
}

void require_finite(const Coded& coded, const char* name) {
  for (size_t i = 0; i < coded.scales.size(); ++i) {
    if (!std::isfinite(coded.scales[i])) {
      kit::fail(QUENCH_NUMERICAL, "%s: the range of row %zu overflows", name,
                i / static_cast<size_t>(coded.groups));
    }
  }
}

// Of every code; 0 for those that stand for no number, which no weight has.
std::vector<double> table_of(const NumberFormat& format) {
  const std::array<double, 256> elements = number_formats::elements_of(format);
  std::vector<double> table(elements.begin(), elements.begin() + format.entries());
  std::replace_if(
      table.begin(), table.end(), [](double element) { return !std::isfinite(element); }, 0.0);
  return table;
}

template <typename T>
void write_values(const Coded& coded, Groups groups, const std::vector<double>& table, T* to,
                  const char* name) {
  kit::parallel_for(
      static_cast<uint64_t>(coded.rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
          const double* scales = coded.scales.data() + r * groups.count;
          for (int64_t c = 0; c < coded.columns; ++c) {
            const auto i = static_cast<size_t>(r * coded.columns + c);
            to[i] = static_cast<T>(scales[c / groups.size] * table[coded.codes[i]]);
            if (!std::isfinite(to[i])) {
              kit::fail(QUENCH_NUMERICAL, "%s: the rounded weight of row %lld overflows", name,
                        static_cast<long long>(r));
            }
          }
        }
      });
}

void put_scales(const NumberFormat& format, double tensor_scale, const Coded& coded,
                kit::QuantizeSink& sink) {
  const std::vector<int64_t> shape = {coded.rows, coded.groups};
  if (format.scale != number_formats::ScaleType::kFloat32) {
    const bool alone = format.scale == number_formats::ScaleType::kE8M0;
    const auto bytes = sink.tensor<uint8_t>(alone ? "scales" : "block_scales", shape);
    std::transform(coded.scales.begin(), coded.scales.end(), bytes.begin(),
                   [&](double scale) { return format.scale_code(scale, tensor_scale); });
    if (alone) {
      return;
    }
    sink.tensor<float>("tensor_scale", {1})[0] = static_cast<float>(tensor_scale);
  }
  const auto scales = sink.tensor<double>("scales", shape);
  std::copy(coded.scales.begin(), coded.scales.end(), scales.begin());
}

void write_values_there(const CodedThere& coded, Groups groups, const std::vector<double>& table,
                        const at::Tensor& to, const char* name) {
  constexpr int64_t kHeld = int64_t{1} << 23;  // elements that are float64 at once
  if (!matrix::all_finite(coded.scales)) {
    kit::fail(QUENCH_NUMERICAL, "%s: the range of a row overflows", name);
  }
  const at::Tensor elements = at::tensor(table, at::kDouble).to(coded.codes.device());
  const int64_t most = std::max<int64_t>(1, kHeld / coded.codes.size(1));
  for (int64_t first = 0; first < coded.codes.size(0); first += most) {
    const int64_t count = std::min(most, coded.codes.size(0) - first);
    const at::Tensor codes = coded.codes.narrow(0, first, count).flatten().to(at::kInt);
    to.narrow(0, first, count)
        .copy_(elements.index_select(0, codes)
                   .view({count, groups.count, groups.size})
                   .mul_(coded.scales.narrow(0, first, count).unsqueeze(2))
                   .view({count, coded.codes.size(1)}));
  }
  if (!matrix::all_finite(to)) {  // a float64 scale may be finite where the weight's type is not
    kit::fail(QUENCH_NUMERICAL, "%s: the rounded weight overflows", name);
  }
}

void put_numbers(const NumberFormat& format, Groups groups, int64_t rows, kit::QuantizeSink& sink) {
  const auto scales = static_cast<double>(rows * groups.count);
  sink.number("bits", format.element_bits);
  sink.number("block", static_cast<double>(groups.size));
  sink.number("bits_per_weight",
              format.bits_per_value(scales * static_cast<double>(groups.size), scales));
}

}  // namespace

Groups format_groups(const NumberFormat& format, int64_t columns, int64_t group_size,
                     const char* name) {
  const int64_t size = format.block > 0 ? format.block : groups_of(columns, group_size).size;
  if (size < 1 || columns % size != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "%s: %lld columns, wanted a multiple of the %s of %lld with format = %s", name,
              static_cast<long long>(columns), format.block > 0 ? "block" : "group_size",
              static_cast<long long>(size), std::string(format.name).c_str());
  }
  return {size, columns / size};
}

double tensor_scale_of(const NumberFormat& format, const at::Tensor& weight) {
  if (!format.has_tensor_scale()) {
    return 1;
  }
  return format.tensor_scale_of(weight.abs().max().to(at::kDouble).item<double>());
}

void round_to_format(const at::Tensor& weight, const NumberFormat& format, ScaleRule rule,
                     double tensor_scale, Groups groups, const Coded& coded) {
  if (weight.scalar_type() == at::kDouble) {
    round_all(weight.const_data_ptr<double>(), format, rule, tensor_scale, groups, coded);
  } else {
    round_all(weight.const_data_ptr<float>(), format, rule, tensor_scale, groups, coded);
  }
}

CodedThere round_to_format_there(const at::Tensor& weight, const NumberFormat& format,
                                 ScaleRule rule, double tensor_scale, Groups groups) {
  const at::Tensor dense = weight.contiguous();
  const FormatNumbers numbers{format, rule, tensor_scale};
  return dense.scalar_type() == at::kDouble
             ? round_rows_on<double>(dense, groups, numbers, kRoundToFormatDouble)
             : round_rows_on<float>(dense, groups, numbers, kRoundToFormatFloat);
}

void put_formatted(const NumberFormat& format, double tensor_scale, Groups groups,
                   const Coded& coded, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) {
  const char* name = linear.info.name;
  require_finite(coded, name);
  const std::vector<double> table = table_of(format);
  at::Tensor target = kit::borrow(linear.dequantized);
  const at::Tensor host =
      at::empty(target.sizes(), at::TensorOptions(target.scalar_type()).device(at::kCPU));
  if (host.scalar_type() == at::kDouble) {
    write_values(coded, groups, table, host.data_ptr<double>(), name);
  } else {
    write_values(coded, groups, table, host.data_ptr<float>(), name);
  }
  target.copy_(host);
  if (!stays_on_device(linear)) {
    const auto indices = sink.tensor<uint8_t>("indices", {coded.rows, coded.columns});
    std::copy(coded.codes.begin(), coded.codes.end(), indices.begin());
    const auto entries = sink.tensor<double>("table", {format.entries()});
    std::copy(table.begin(), table.end(), entries.begin());
    put_scales(format, tensor_scale, coded, sink);
  }
  put_numbers(format, groups, coded.rows, sink);
}

void put_formatted(const NumberFormat& format, double tensor_scale, Groups groups,
                   const CodedThere& coded, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) {
  if (!stays_on_device(linear)) {
    const CodedStorage here(coded.codes.size(0), coded.codes.size(1), groups);
    take(coded, here.view());
    put_formatted(format, tensor_scale, groups, here.view(), linear, sink);
    return;
  }
  write_values_there(coded, groups, table_of(format), kit::borrow(linear.dequantized),
                     linear.info.name);
  put_numbers(format, groups, coded.codes.size(0), sink);
}

void put_rounded(const at::Tensor& weight, const NumberFormat& format, ScaleRule rule,
                 Groups groups, const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) {
  const double tensor_scale = tensor_scale_of(format, weight);
  if (!matrix::on_host(weight) && finds_scales_by_kernel(format, rule)) {
    put_formatted(format, tensor_scale, groups,
                  round_to_format_there(weight, format, rule, tensor_scale, groups), linear, sink);
    return;
  }
  const CodedStorage made(weight.size(0), weight.size(1), groups);
  round_to_format(weight.cpu(), format, rule, tensor_scale, groups, made.view());
  put_formatted(format, tensor_scale, groups, made.view(), linear, sink);
}

}  // namespace quench::quantizers
