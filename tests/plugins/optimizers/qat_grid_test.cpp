// qat rounds as the quantizer rtn does.
#include <catch2/catch.hpp>

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "tests/plugins/optimizers/closure_run.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

TEST_CASE("qat: its weights are those that rounding to nearest leaves, bit for bit",
          "[optimizers][qat]") {
  constexpr int64_t kRows = 37;
  constexpr int64_t kColumns = 201;  // groups of 64, the last one short
  const auto [bits, group_size, sym] = GENERATE(table<int64_t, int64_t, bool>(
      {{2, 64, true}, {4, 64, false}, {3, -1, true}, {8, 128, false}}));
  std::vector<float> weights(kRows * kColumns);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i * 2654435761u % 1000003) * 1e-6F - 0.4F;
  }
  ClosureRun run("qat", {{"bits", bits}, {"group_size", group_size}, {"sym", sym}},
                 {{"w", QUENCH_ROLE_MATRIX, {kRows, kColumns}}},
                 [](const std::vector<float>&, std::vector<double>&) { return 0.0; });
  run.gradient(1, weights);

  const quantizers::Groups groups = quantizers::groups_of(kColumns, group_size);
  const quantizers::CodedStorage coded(kRows, kColumns, groups);
  quantizers::round_rows(weights.data(), groups, {bits, sym, 0}, coded.view());
  std::vector<float> rounded(weights.size());
  for (size_t i = 0; i < rounded.size(); ++i) {
    const size_t row = i / kColumns;
    const size_t group =
        row * static_cast<size_t>(groups.count) + i % kColumns / static_cast<size_t>(groups.size);
    const double code = coded.view().codes[i];
    rounded[i] =
        static_cast<float>(coded.view().scales[group] * (code - coded.view().zeros[group]));
  }
  CHECK(run.points().at(0) == rounded);
}

}  // namespace quench::test
