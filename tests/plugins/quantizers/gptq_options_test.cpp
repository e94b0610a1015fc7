// The options of GPTQ beyond the plain method, each against the plain loops of the reference kernel
// or against what it must mean.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "quantizers/gptq/order.hpp"
#include "quantizers/gptq/reference.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quantizers/grid/search.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

namespace reference = quantizers::reference;
using quantizers::ColumnOrder;

const std::string kFloat64 = R"("bits":3,"sym":false,"precision":"float64")";

Matrix hessian(const Matrix& inputs) {
  Matrix h = product(transposed(inputs), inputs);
  for (double& value : h.values) {
    value *= 2.0 / static_cast<double>(inputs.rows);
  }
  return h;
}

reference::Matrix plain(const Matrix& m) {
  return {m.rows, m.columns, m.values};
}

Quantized run(const std::string& options, const Matrix& weight, const Matrix& inputs) {
  QuantizerBench bench("{" + options + "}", weight.columns);
  REQUIRE(bench.observe(inputs, true) == QUENCH_OK);
  Quantized result = bench.quantize(weight);
  INFO(result.error);
  REQUIRE(result.status == QUENCH_OK);
  return result;
}

void check_codes(const Quantized& got, const reference::Solution& wanted) {
  CHECK(got.perm == wanted.perm);
  CHECK(got.g_idx == wanted.g_idx);
  CHECK(differences(std::vector<double>(got.codes.begin(), got.codes.end()), wanted.codes.values) ==
        "");
}

// Zeros in rows and columns from `rank` on.
Matrix of_rank(int64_t rows, int64_t columns, int64_t rank, uint64_t seed) {
  return product(random_matrix(rows, rank, seed), random_matrix(rank, columns, seed + 1));
}

}  // namespace

// Diagonals 1 5 | 7 2 | 6 6 | 9 (a group that is not full).
TEST_CASE("gptq: the group-aware order keeps groups together", "[quantizers][gptq]") {
  const std::vector<double> diagonal = {1, 5, 7, 2, 6, 6, 9};
  CHECK(quantizers::order_of_columns(diagonal, ColumnOrder::kGroupAware, 2) ==
        std::vector<int32_t>{2, 3, 4, 5, 1, 0, 6});
  CHECK(quantizers::order_of_columns(diagonal, ColumnOrder::kActivation, 2) ==
        std::vector<int32_t>{6, 2, 4, 5, 1, 3, 0});
  CHECK(quantizers::order_of_columns(diagonal, ColumnOrder::kGroupAware, 8) ==
        std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("gptq: act_group_aware gives the codes of the plain kernel", "[quantizers][gptq]") {
  const int64_t group_size = GENERATE(16, 32, 50, 128);
  const bool fixed = GENERATE(false, true);
  const Matrix weight = random_matrix(40, 150, 41);
  const Matrix inputs = random_matrix(220, 150, 42, true);
  const Quantized result =
      run(kFloat64 + R"(,"act_group_aware":true,"group_size":)" + std::to_string(group_size) +
              (fixed ? R"(,"static_groups":true)" : ""),
          weight, inputs);
  quantizers::SolverOptions options{{3, false}, group_size, fixed, false, 128, true};
  options.group_aware = true;
  check_codes(result, reference::gptq(plain(weight), plain(hessian(inputs)), options,
                                      ColumnOrder::kGroupAware, 0.01));
  for (size_t c = 0; c < result.g_idx.size(); ++c) {
    REQUIRE(result.g_idx[c] == static_cast<int32_t>(static_cast<int64_t>(c) / group_size));
  }
  // 3 bits a code, 16 + 3 bits a grid, and nothing for the order.
  const double groups = std::ceil(150.0 / static_cast<double>(group_size));
  CHECK(result.numbers.at("bits_per_weight") == Approx(3 + 19 * groups / 150));
}

TEST_CASE("gptq: mse gives the codes of the plain kernel", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(30, 100, 43);
  const Matrix inputs = random_matrix(220, 100, 44, true);
  const double exponent = GENERATE(2.0, 2.4);
  const int64_t group_size = GENERATE(-1, 32, 48);
  const Quantized result = run(kFloat64 + R"(,"mse":)" + std::to_string(exponent) +
                                   R"(,"group_size":)" + std::to_string(group_size),
                               weight, inputs);
  check_codes(result, reference::gptq(plain(weight), plain(hessian(inputs)),
                                      {{3, false, exponent}, group_size, false, false, 128, true},
                                      ColumnOrder::kGiven, 0.01));
}

// One outlier: with exponent 1 it pays to clip it.
TEST_CASE("a searched grid clips an outlier and never does worse", "[quantizers][grid]") {
  std::vector<double> values = {10};
  for (int i = 0; i < 60; ++i) {
    values.push_back(std::sin(i));
  }
  const auto count = static_cast<int64_t>(values.size());
  for (const bool sym : {false, true}) {
    for (const int64_t bits : {2, 3, 4, 8}) {
      const quantizers::GridKind kind{bits, sym, 1};
      const quantizers::Grid full = quantizers::grid_of(-1, 10, kind);
      const quantizers::Grid best =
          quantizers::grid_of_values(values.data(), 1, count, -1.0, 10.0, kind);
      const auto error = [&](const quantizers::Grid& grid) {
        return quantizers::rounding_error([&](int64_t i) { return values[static_cast<size_t>(i)]; },
                                          count, grid, kind.max_code(), 1, 1e300);
      };
      CHECK(error(best) <= error(full));
      CHECK((bits > 3 || best.scale < full.scale));
      CHECK((!sym || best.zero == full.zero));
    }
  }
  const quantizers::Grid zeros = quantizers::grid_of_values(
      std::vector<double>(5).data(), 1, 5, 0.0, 0.0, quantizers::GridKind{4, true, 2.4});
  CHECK(zeros.scale == quantizers::grid_of(0, 0, {4, true}).scale);
}

TEST_CASE("gptq: gptaq gives the codes of the plain kernel", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(70, 160, 45);
  const Matrix inputs = random_matrix(250, 160, 46, true);
  Matrix moved = random_matrix(250, 160, 47);
  for (size_t i = 0; i < moved.values.size(); ++i) {
    moved.values[i] = inputs.values[i] + 0.1 * moved.values[i];
  }
  const bool desc_act = GENERATE(false, true);
  const int64_t block = GENERATE(32, 128);  // a block's weights leave it as they were when rounded
  QuantizerBench bench("{" + kFloat64 + R"(,"gptaq":true,"group_size":32,"block":)" +
                           std::to_string(block) + (desc_act ? R"(,"desc_act":true})" : "}"),
                       160);
  CHECK(bench.needs() == (QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_NEEDS_ROWS |
                          QUENCH_NEEDS_SEQUENTIAL | QUENCH_NEEDS_FLOAT_STREAM));
  REQUIRE(bench.observe_both(inputs, moved) == QUENCH_OK);
  const Quantized result = bench.quantize(weight);
  REQUIRE(result.status == QUENCH_OK);
  Matrix difference = moved;
  for (size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= inputs.values[i];
  }
  reference::Matrix cross = plain(product(transposed(difference), inputs));
  for (double& value : cross.values) {
    value *= 2.0 / 250;
  }
  check_codes(result, reference::gptq(plain(weight), plain(hessian(inputs)),
                                      {{3, false}, 32, false, false, block, true},
                                      desc_act ? ColumnOrder::kActivation : ColumnOrder::kGiven,
                                      0.01, &cross, 0.25));
}

// What GPTAQ is for: the outputs of the float model's inputs are nearer.
TEST_CASE("gptq: gptaq brings outputs nearer to the float model's", "[quantizers][gptq]") {
  double plain_error = 0;
  double corrected_error = 0;
  for (uint64_t seed = 50; seed < 58; ++seed) {
    const Matrix weight = random_matrix(12, 64, seed);
    const Matrix float_inputs = random_matrix(300, 64, seed + 100, true);
    Matrix inputs = float_inputs;
    const Matrix noise = random_matrix(300, 64, seed + 200, true);
    for (size_t i = 0; i < inputs.values.size(); ++i) {
      inputs.values[i] += 0.3 * noise.values[i];
    }
    const Matrix wanted = product(float_inputs, transposed(weight));
    for (const bool gptaq : {false, true}) {
      QuantizerBench bench(std::string(R"({"bits":4,"group_size":32,"gptaq_alpha":1,"gptaq":)") +
                               (gptaq ? "true}" : "false}"),
                           64);
      REQUIRE(bench.observe_both(inputs, float_inputs) == QUENCH_OK);
      const Matrix got = product(inputs, transposed(bench.quantize(weight).decoded()));
      for (size_t i = 0; i < got.values.size(); ++i) {
        (gptaq ? corrected_error : plain_error) += std::pow(got.values[i] - wanted.values[i], 2);
      }
    }
  }
  CHECK(corrected_error < 0.9 * plain_error);
}

TEST_CASE("gptq: without the float stream gptaq fails, and equal streams change nothing",
          "[quantizers][gptq]") {
  const Matrix weight = random_matrix(9, 48, 60);
  const Matrix inputs = random_matrix(100, 48, 61, true);
  QuantizerBench bench(R"({"gptaq":true})", 48);
  CHECK(bench.observe(inputs, true) == QUENCH_FAILED_PRECONDITION);
  QuantizerBench both(R"({"gptaq":true})", 48);
  REQUIRE(both.observe_both(inputs, inputs) == QUENCH_OK);
  CHECK(differences(both.quantize(weight).codes, run("", weight, inputs).codes) == "");
}

TEST_CASE("gptq: exhausted damping fails, or falls back and says so", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(6, 60, 62);
  const Matrix inputs = of_rank(200, 60, 20, 63);
  const std::string none = R"("group_size":20,"damp":0,"damp_increment":0)";
  QuantizerBench failing("{" + none + "}", 60);
  REQUIRE(failing.observe(inputs, true) == QUENCH_OK);
  CHECK(failing.quantize(weight).status == QUENCH_NUMERICAL);

  const Quantized floored = run(none + R"(,"fallback":"floor")", weight, inputs);
  CHECK(floored.texts.at("fallback") == "floor");
  CHECK(floored.numbers.at("floor") >= 1e-6);
  CHECK(floored.numbers.at("retries") >= 1);

  const Quantized rounded = run(none + R"(,"fallback":"rtn")", weight, inputs);
  CHECK_THAT(rounded.texts.at("fallback"), Catch::StartsWith("rtn: the Hessian is not positive"));
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t c = 0; c < weight.columns; ++c) {
      const auto scale = rounded.scales[static_cast<size_t>(r * 3 + c / 20)];
      REQUIRE(std::fabs(rounded.dequantized(r, c) - weight(r, c)) <= scale * 0.50001);
    }
  }
  const Quantized healthy = run(R"("fallback":"rtn")", weight, random_matrix(200, 60, 64, true));
  CHECK(healthy.texts.count("fallback") == 0);

  QuantizerBench unreached(R"({"fallback":"rtn"})", 60);
  const Quantized alone = unreached.quantize(weight);
  CHECK(alone.status == QUENCH_OK);
  CHECK(alone.texts.at("fallback") == "rtn: no calibration row reached this group");
}

// A Hessian that needs damp above 0.02: fresh tries 0, 0.01, 0.02, ...; cumulative ones leave 0,
// 0.01, 0.01 + 0.02 * 1.01, ... on the diagonal, so they are done earlier.
TEST_CASE("gptq: damping fails over freshly or cumulatively", "[quantizers][gptq]") {
  const double needed = 0.055;
  kit::OwnedTensor<double> gram({2, 2});
  gram.values() = {1, 1 + needed, 1 + needed, 1};
  const auto retries = [&](const std::string& how) {
    QuantizerBench bench(
        R"({"damp":0.01,"damp_increment":0.01,"group_size":-1,"damp_retry":")" + how + "\"}", 2);
    const quench_tensor view = gram.view();
    quench_error error{sizeof error, 0, {}};
    kit::check(bench.gram().gram_set(bench.quantizer(), bench.state(), &view, 2, &error), error);
    return bench.quantize(matrix({{1, 2}})).numbers.at("retries");
  };
  CHECK(retries("fresh") == 5);       // 0.06
  CHECK(retries("cumulative") == 2);  // 0.01, 0.0302, 0.0611
}

TEST_CASE("gptq: settings share one group's statistics and factor", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(20, 96, 65);
  const Matrix inputs = random_matrix(200, 96, 66, true);
  QuantizerBench first(R"({"inputs":"float","bits":4})", 96);
  REQUIRE(first.observe(inputs) == QUENCH_OK);
  for (const char* other : {R"("bits":3)", R"("group_size":32)", R"("desc_act":true)",
                            R"("damp":0.1)", R"("act_group_aware":true,"group_size":24)"}) {
    const std::string parameters = std::string(R"({"inputs":"float",)") + other + "}";
    QuantizerBench sharing(parameters, 96);
    REQUIRE(sharing.accepts_groups_of(first));
    QuantizerBench alone(parameters, 96);
    REQUIRE(alone.observe(inputs) == QUENCH_OK);
    const Quantized shared = sharing.quantize_on(first, weight);
    const Quantized own = alone.quantize(weight);
    CHECK(differences(shared.codes, own.codes) == "");
    CHECK(differences(shared.scales, own.scales) == "");
    CHECK(shared.numbers == own.numbers);
  }
  CHECK_FALSE(QuantizerBench(R"({"inputs":"block"})", 96).accepts_groups_of(first));
  CHECK_FALSE(
      QuantizerBench(R"({"inputs":"float","precision":"float64"})", 96).accepts_groups_of(first));
}

TEST_CASE("gptq: modules have settings of their own", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(6, 64, 67);
  const Matrix inputs = random_matrix(100, 64, 68, true);
  QuantizerBench bench(
      R"({"modules":["*0 bits=2 group_size=16 sym=false","linear1 skip","* bits=8"]})", 64, 3);
  REQUIRE(bench.observe(inputs) == QUENCH_OK);
  const Quantized two = bench.quantize(weight, 0);
  CHECK(two.numbers.at("bits") == 2);
  CHECK(two.groups() == 4);
  QuantizerBench alone(R"({"bits":2,"group_size":16,"sym":false})", 64);
  REQUIRE(alone.observe(inputs) == QUENCH_OK);
  CHECK(differences(two.codes, alone.quantize(weight).codes) == "");

  const Quantized skipped = bench.quantize(weight, 1);
  CHECK(differences(skipped.dequantized.values, weight.values) == "");
  CHECK(skipped.numbers.at("bits_per_weight") == 16);
  CHECK(skipped.texts.count("skipped") == 1);
  CHECK(bench.quantize(weight, 2).numbers.at("bits") == 8);

  for (const char* bad : {"\"*\"", "\"* bits=9\"", "\"* bits\"", "\"* group_size=0\"",
                          "\"* sym=1\"", "\"* bitz=3\"", "\"\""}) {
    CHECK_THAT(create_error(std::string(R"({"modules":["a skip",)") + bad + "]}"),
               Catch::StartsWith("modules[1]: got"));
  }
}

TEST_CASE("module patterns match whole names", "[quantizers][grid]") {
  using quantizers::matches;
  CHECK(matches("*", ""));
  CHECK(matches("a.*.mlp.*", "a.0.mlp.up"));
  CHECK(matches("*.?.down", "model.layers.3.down"));
  CHECK(matches("a*b*c", "axxbyybzzc"));
  CHECK_FALSE(matches("mlp", "a.mlp"));
  CHECK_FALSE(matches("*.?.down", "model.layers.31.down"));
  CHECK_FALSE(matches("a?", "a"));
  CHECK(matches(std::string(40, '*') + "z", std::string(4000, 'a') + "z"));
}

TEST_CASE("gptq: presets are published and accepted", "[quantizers][gptq]") {
  REQUIRE(linked_item().presets_json != nullptr);
  const Matrix weight = random_matrix(6, 64, 69);
  const Matrix inputs = random_matrix(100, 64, 70, true);
  // By hand, what `study` and `modern` stand for.
  CHECK(run(R"("preset":"study","desc_act":true,"damp":0.01,"damp_increment":0.0025,)"
            R"("damp_retry":"cumulative","scale_from":"stale","group_size":16)",
            weight, inputs)
            .perm != run("", weight, inputs).perm);
  CHECK(create_error(R"({"preset":"study","scale_from":"stale","group_size":-1})").empty());
}

TEST_CASE("gptq: contradicting options are refused", "[quantizers][gptq]") {
  CHECK(create_error(R"({"desc_act":true,"act_group_aware":true})") ==
        "gptq: desc_act and act_group_aware both set an order; wanted one");
  CHECK(create_error(R"({"group_size":-1,"act_group_aware":true})") ==
        "gptq: act_group_aware has no effect with group_size = -1");
  CHECK(create_error(R"({"gptaq":true,"inputs":"float"})") ==
        "gptq: gptaq has no effect with inputs = float");
  CHECK(QuantizerBench(R"({"inputs":"block"})", 4).needs() ==
        (QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_NEEDS_ROWS | QUENCH_NEEDS_BLOCK_ROWS));
  CHECK(QuantizerBench(R"({"inputs":"float","lm_head":true,"embedding":true})", 4).needs() ==
        (QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_NEEDS_ROWS | QUENCH_NEEDS_FLOAT_ROWS |
         QUENCH_QUANTIZES_HEAD | QUENCH_QUANTIZES_EMBEDDING));
}

}  // namespace quench::test
