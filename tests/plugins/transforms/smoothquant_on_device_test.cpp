// What smoothquant reads of rows on a GPU, of rows in host memory, held against its plain loop.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "quench/abi/module.h"
#include "quench/kit/transform.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/test_host.hpp"
#include "transforms/smoothquant/device/magnitudes.hpp"

namespace quench::test {

namespace {

template <typename T>
kit::OwnedTensor<T> rows_of(int64_t rows, int64_t columns) {
  kit::OwnedTensor<T> out({rows, columns});
  for (size_t i = 0; i < out.values().size(); ++i) {
    const auto place = static_cast<double>(i);
    out.values()[i] = static_cast<T>(std::sin(place * place) * std::exp2(std::cos(place) * 8));
  }
  return out;
}

template <typename T>
std::vector<double> largest_by_loop(const std::vector<T>& values, size_t columns,
                                    const std::vector<int64_t>& rows) {
  std::vector<double> out(columns);
  for (const int64_t row : rows) {
    for (size_t c = 0; c < columns; ++c) {
      const auto x = static_cast<double>(values[static_cast<size_t>(row) * columns + c]);
      out[c] = std::max(out[c], std::fabs(x));
    }
  }
  return out;
}

quench_observe_args args_of(const quench_tensor& x, const quench_tensor* index = nullptr) {
  return {sizeof(quench_observe_args), 0, &x, nullptr, index, nullptr, nullptr};
}

// What the plugin says of these rows; "" if it takes them.
std::string observe(const quench_observe_args& rows, int64_t columns) {
  const auto& table =
      *static_cast<const quench_transform_table*>(quench_module_v1()->items[0]->table);
  quench_transform* transform = nullptr;
  quench_error error{sizeof error, 0, {}};
  REQUIRE(table.create("{}", 2, &transform, &error) == QUENCH_OK);
  const quench_group_args group{sizeof group, 0, 0, 0, nullptr, columns, {QUENCH_DEVICE_CPU, 0}};
  const quench_status status = table.observe(transform, &group, &rows, &error);
  table.destroy(transform);
  return status == QUENCH_OK ? "" : error.message;
}

template <typename T>
void check_largest() {
  kit::OwnedTensor<T> rows = rows_of<T>(37, 19);
  const quench_tensor x = rows.view();
  std::vector<int64_t> all(37);
  for (size_t r = 0; r < all.size(); ++r) {
    all[r] = static_cast<int64_t>(r);
  }
  CHECK(differences(transforms::largest_on_device(args_of(x)),
                    largest_by_loop(rows.values(), 19, all)) == "");
  kit::OwnedTensor<int64_t> some({3});
  some.values() = {30, 2, 17};
  const quench_tensor index = some.view();
  CHECK(differences(transforms::largest_on_device(args_of(x, &index)),
                    largest_by_loop(rows.values(), 19, {30, 2, 17})) == "");
}

}  // namespace

TEST_CASE("smoothquant on a device: channels have the plain loop's magnitudes",
          "[transforms][smoothquant][cuda]") {
  check_largest<float>();
  check_largest<double>();
}

TEST_CASE("smoothquant on a device: a value that is not finite is named as on a processor",
          "[transforms][smoothquant][cuda]") {
  kit::OwnedTensor<float> rows = rows_of<float>(5, 4);
  rows.values()[3 * 4 + 2] = -std::numeric_limits<float>::infinity();
  rows.values()[4 * 4 + 1] = std::numeric_limits<float>::quiet_NaN();
  const quench_tensor x = rows.view();
  kit::OwnedTensor<int64_t> some({2});
  some.values() = {4, 3};
  const quench_tensor index = some.view();
  CHECK_FALSE(transforms::on_device(x));
  const std::string all_on_host = observe(args_of(x), 4);
  const std::string some_on_host = observe(args_of(x, &index), 4);
  CHECK(all_on_host == "row 3, column 2 is inf");
  CHECK(some_on_host == "row 4, column 1 is nan");
  const matrix::LibtorchAlone as_on_a_gpu;
  CHECK(transforms::on_device(x));
  CHECK(observe(args_of(x), 4) == all_on_host);
  CHECK(observe(args_of(x, &index), 4) == some_on_host);
}

}  // namespace quench::test
