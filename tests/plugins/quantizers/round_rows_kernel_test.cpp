// Rounding to nearest as a kernel, run on the host: held against round_rows(), to the bit.
#include "quantizers/grid/round_rows_kernel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <type_traits>

#include "quantizers/grid/round_rows.hpp"
#include "quantizers/number_format/device/entries.hpp"
#include "quantizers/number_format/formatted_weight.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/quantizers/matrix.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

struct Rounded {
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  bool operator==(const Rounded&) const = default;
};

template <typename T>
Rounded by_kernel(const std::vector<T>& weight, int64_t rows, int64_t columns, int64_t group_size,
                  quantizers::GridKind kind, cuda::Order order) {
  const quantizers::Groups groups = quantizers::groups_of(columns, group_size);
  Rounded out{std::vector<uint8_t>(weight.size()),
              std::vector<double>(static_cast<size_t>(rows * groups.count)),
              std::vector<double>(static_cast<size_t>(rows * groups.count))};
  const quantizers::RoundRows<T> kernel{
      weight.data(), rows,    columns,          groups.size,       groups.count,
      kind,          nullptr, out.codes.data(), out.scales.data(), out.zeros.data(),
      groups.count,  1};
  cuda::run_on_host(kernel, kernel.blocks(), order);
  return out;
}

template <typename T>
Rounded by_processor(const std::vector<T>& weight, int64_t rows, int64_t columns,
                     int64_t group_size, quantizers::GridKind kind) {
  const quantizers::Groups groups = quantizers::groups_of(columns, group_size);
  const quantizers::CodedStorage storage(rows, columns, groups);
  const quantizers::Coded& coded = storage.view();
  quantizers::round_rows(weight.data(), groups, kind, coded);
  return {{coded.codes.begin(), coded.codes.end()},
          {coded.scales.begin(), coded.scales.end()},
          {coded.zeros.begin(), coded.zeros.end()}};
}

// What a plugin runs for a weight on a GPU, on one in host memory.
template <typename T>
Rounded by_tensors(const std::vector<T>& weight, int64_t rows, int64_t columns, int64_t group_size,
                   quantizers::GridKind kind) {
  const quantizers::Groups groups = quantizers::groups_of(columns, group_size);
  const quantizers::CodedStorage storage(rows, columns, groups);
  const quantizers::Coded& coded = storage.view();
  const at::Tensor tensor = at::from_blob(const_cast<T*>(weight.data()), {rows, columns},
                                          std::is_same_v<T, double> ? at::kDouble : at::kFloat);
  quantizers::round_rows_by_kernel(tensor, groups, kind, coded);
  at::Tensor wanted = at::empty_like(tensor);
  quantizers::dequantize(coded, kit::view_of(wanted), "weight");
  const at::Tensor made = at::empty_like(tensor);
  quantizers::round_rows_into(tensor, groups, kind, made, "weight");
  CHECK(made.equal(wanted));
  return {{coded.codes.begin(), coded.codes.end()},
          {coded.scales.begin(), coded.scales.end()},
          {coded.zeros.begin(), coded.zeros.end()}};
}

// Zeros, one value, subnormals and ties beside values of a layer.
template <typename T>
std::vector<T> odd_weight(int64_t rows, int64_t columns) {
  const Matrix values = random_matrix(rows, columns, 7);
  std::vector<T> out(values.values.begin(), values.values.end());
  const auto row = [&](int64_t r) { return out.begin() + r % rows * columns; };
  std::fill(row(0), row(0) + columns, T{0});
  std::fill(row(3), row(3) + columns, T{-2});
  std::fill(row(5), row(5) + columns, std::numeric_limits<T>::denorm_min());
  for (int64_t c = 0; c < columns; ++c) {
    row(6)[c] = static_cast<T>(c % 15 - 7) / 2;
  }
  return out;
}

const quantizers::GridKind kKinds[] = {
    {4, true}, {3, false}, {8, true}, {3, false, 2.4}, {4, true, 2}};

template <typename T>
void check(int64_t rows, int64_t columns) {
  const std::vector<T> weight = odd_weight<T>(rows, columns);
  for (const int64_t group_size : {int64_t{-1}, int64_t{1}, int64_t{32}, int64_t{50}}) {
    for (const quantizers::GridKind& kind : kKinds) {
      INFO(rows << " x " << columns << ", groups of " << group_size << ", bits " << kind.bits
                << (kind.sym ? " symmetric" : "") << ", mse " << kind.mse);
      const Rounded wanted = by_processor(weight, rows, columns, group_size, kind);
      const Rounded got =
          by_kernel(weight, rows, columns, group_size, kind, cuda::Order::kFirstToLast);
      CHECK(differences(got.codes, wanted.codes) == "");
      CHECK(differences(got.scales, wanted.scales) == "");
      CHECK(differences(got.zeros, wanted.zeros) == "");
      CHECK(got == by_kernel(weight, rows, columns, group_size, kind, cuda::Order::kLastToFirst));
      CHECK(got == by_tensors(weight, rows, columns, group_size, kind));
    }
  }
}

// Of a weight whose rows the block divides.
template <typename T>
void check_format(const number_formats::NumberFormat& format, number_formats::ScaleRule rule,
                  int64_t rows, int64_t columns) {
  const std::vector<T> weight = odd_weight<T>(rows, columns);
  const int64_t size = format.block > 0 ? format.block : columns / 2;
  const quantizers::Groups groups{size, columns / size};
  const double tensor_scale = format.tensor_scale_of(
      static_cast<double>(number_formats::statistic_of(format, weight.data(), rows * columns)));
  const at::Tensor tensor = at::from_blob(const_cast<T*>(weight.data()), {rows, columns},
                                          std::is_same_v<T, double> ? at::kDouble : at::kFloat);
  const quantizers::CodedStorage wanted(rows, columns, groups);
  quantizers::round_to_format(tensor, format, rule, tensor_scale, groups, wanted.view());
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    const quantizers::CodedStorage got(rows, columns, groups);
    const quantizers::RoundRowsToFormat<T> kernel{weight.data(),
                                                  rows,
                                                  columns,
                                                  groups.size,
                                                  groups.count,
                                                  {format, rule, tensor_scale},
                                                  nullptr,
                                                  got.view().codes.data(),
                                                  got.view().scales.data(),
                                                  got.view().zeros.data(),
                                                  groups.count,
                                                  1};
    cuda::run_on_host(kernel, kernel.blocks(), order);
    CHECK(differences(got.view().codes, wanted.view().codes) == "");
    CHECK(differences(got.view().scales, wanted.view().scales) == "");
    CHECK(differences(got.view().zeros, wanted.view().zeros) == "");
  }
}

}  // namespace

TEST_CASE("rounding kernel: a number format has the bits of the processor's",
          "[quantizers][rtn][cuda]") {
  for (const number_formats::NumberFormat& format : number_formats::number_formats()) {
    for (const auto rule :
         {number_formats::ScaleRule::kOfFormat, number_formats::ScaleRule::kLeastSquares}) {
      if (!quantizers::finds_scales_by_kernel(format, rule)) {
        continue;
      }
      INFO(format.name << (rule == number_formats::ScaleRule::kOfFormat ? "" : ", least squares"));
      check_format<float>(format, rule, 9, 96);
      check_format<double>(format, rule, 11, 32);
    }
  }
  CHECK(!quantizers::finds_scales_by_kernel(*number_formats::find_number_format("ternary"),
                                            number_formats::ScaleRule::kLeastSquares));
}

TEST_CASE("rounding kernel: it has the bits of the processor's", "[quantizers][rtn][cuda]") {
  check<float>(9, 70);
  check<float>(7, 1);
  check<double>(7, 133);
}

TEST_CASE("rounding kernel: dead columns count as zero", "[quantizers][rtn][cuda]") {
  const std::vector<float> weight = {4, -8, 1, 2, 6, 16};
  const std::vector<uint8_t> dead = {0, 1, 0};
  std::vector<double> scales(2);
  std::vector<double> zeros(2);
  const quantizers::RoundRows<float> kernel{
      weight.data(), 2, 3, 3, 1, {2, false}, dead.data(), nullptr, scales.data(),
      zeros.data(),  1, 2};
  cuda::run_on_host(kernel, kernel.blocks());
  CHECK(scales == std::vector<double>{4.0 / 3, 16.0 / 3});  // [0, 4] and [0, 16] in three steps
  CHECK(zeros == std::vector<double>{0, 0});
}

TEST_CASE("dequantizing on a device: what is not finite is refused", "[quantizers][rtn][cuda]") {
  const at::Tensor codes = at::full({1, 2}, 15, at::kByte);
  const at::Tensor zeros = at::zeros({1, 1}, at::kDouble);
  const at::Tensor to = at::empty({1, 2}, at::kFloat);
  const auto with_scale = [&](double scale) {
    quantizers::dequantize_on_device(codes, at::full({1, 1}, scale, at::kDouble), zeros, {0, 0}, to,
                                     "a.dense");
  };
  with_scale(2e37);
  CHECK(to[0][1].item<float>() == 3e38F);
  CHECK_THROWS_WITH(with_scale(1e38), "a.dense: the dequantized weight is not finite");
  CHECK_THROWS_WITH(with_scale(std::numeric_limits<double>::infinity()),
                    "a.dense: the range of a row overflows");
}

}  // namespace quench::test
