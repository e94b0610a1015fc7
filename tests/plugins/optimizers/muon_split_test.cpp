// Muon on fused matrices whose parts it orthogonalizes by themselves, against float64 by numpy.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimizers/muon/fused_rows.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/optimizers/stepped_matrix.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

constexpr const char* kName = "layers.0.attention.query_key_value.weight";

nlohmann::json split(const nlohmann::json& parts, const nlohmann::json& rows) {
  return {{"split", "query_key_value"}, {"split_parts", parts}, {"split_rows", rows}};
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    largest = std::max(largest, std::abs(a.at(i) - b[i]));
  }
  return largest;
}

std::vector<float> after_ten_steps(const nlohmann::json& parameters, const nlohmann::json& wanted,
                                   const char* name) {
  SteppedMatrix stepped("muon", parameters, wanted.at("rows"), wanted.at("columns"), name);
  for (uint64_t step = 1; step <= 10; ++step) {
    stepped.step(step);
  }
  return stepped.weight();
}

}  // namespace

TEST_CASE("muon follows ten steps on the parts of a fused matrix in float64 by numpy",
          "[optimizers][muon]") {
  const auto all =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/muon_reference.json"));
  REQUIRE(all.size() == 4);
  for (const auto& [name, wanted] : all.items()) {
    DYNAMIC_SECTION(name) {
      const auto weight = wanted.at("weight").get<std::vector<double>>();
      const nlohmann::json parameters = split(wanted.at("split_parts"), wanted.at("split_rows"));
      CHECK(largest_difference(after_ten_steps(parameters, wanted, kName), weight) < 1e-5);
      CHECK(largest_difference(after_ten_steps({}, wanted, kName), weight) > 1e-3);
    }
  }
}

TEST_CASE("muon: on a GPU the parts of a fused matrix are orthogonalized as in host memory",
          "[optimizers][muon][cuda]") {
  const int64_t together = GENERATE(4, 8);  // in turns, and one after the other
  const std::vector<float> values = numbers(3, 24 * 10);
  const at::Tensor fused = at::empty({24, 10}, at::kFloat);
  std::copy(values.begin(), values.end(), fused.data_ptr<float>());
  const at::Tensor wanted = fused.clone();
  optimizers::orthogonalize_parts(wanted, {3, together}, 5);
  const at::Tensor got = fused.clone();
  {
    const matrix::LibtorchAlone alone;
    optimizers::orthogonalize_parts(got, {3, together}, 5);
  }
  CHECK(wanted.sub(fused).abs().max().item<float>() > 0.01F);
  CHECK(got.sub(wanted).abs().max().item<float>() < 1e-4F);
}

TEST_CASE("a split of muon that fits no matrix is refused with its place", "[optimizers][muon]") {
  CHECK_THROWS_WITH(optimizers::fused_rows("w", 20, 3, 0),
                    "split: w has 20 rows, wanted a multiple of split_parts, 3");
  CHECK_THROWS_WITH(optimizers::fused_rows("w", 24, 3, 5),
                    "split: w has 24 rows, wanted a multiple of split_parts times split_rows, 15");
  const quench_item& item = plugin_item(library_of("muon"), "optimizer");
  const auto& table = table_of<quench_optimizer_table>(item);
  const std::string json = complete_parameters(item, split(3, 0));
  quench_error error{sizeof error, 0, {}};
  quench_optimizer* made = nullptr;
  REQUIRE(table.create(json.data(), json.size(), &made, &error) == QUENCH_OK);
  const int64_t shape[2] = {6, 4};
  const quench_parameter_info info = {sizeof info, QUENCH_ROLE_MATRIX, "mlp", 2, shape, 0, 0,
                                      nullptr};
  CHECK(table.begin(made, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error) == QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "split: no hidden matrix has 'query_key_value' in its name");
  table.destroy(made);
}

}  // namespace quench::test
