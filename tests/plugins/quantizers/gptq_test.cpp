// What holds of GPTQ whatever the weights are.
#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "quantizers/gptq/reference.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/host_threads.hpp"

namespace quench::test {

namespace {

namespace reference = quantizers::reference;

struct Options {
  int64_t bits = 3;
  int64_t group_size = 32;
  bool sym = false;
  bool desc_act = false;
  bool static_groups = false;
  bool stale = false;
  double damp = 0.01;
  std::string precision = "float64";
  int64_t block = 128;

  std::string json() const {
    const auto text = [](bool value) { return value ? "true" : "false"; };
    return "{\"bits\":" + std::to_string(bits) + ",\"group_size\":" + std::to_string(group_size) +
           ",\"sym\":" + text(sym) + ",\"desc_act\":" + text(desc_act) +
           ",\"static_groups\":" + text(static_groups) + ",\"damp\":" + std::to_string(damp) +
           ",\"block\":" + std::to_string(block) + ",\"scale_from\":\"" +
           (stale ? "stale" : "current") + "\",\"precision\":\"" + precision + "\"}";
  }
};

Quantized run(const Options& options, const Matrix& weight, const Matrix& inputs) {
  QuantizerBench bench(options.json(), weight.columns);
  REQUIRE(bench.observe(inputs, options.precision == "float64") == QUENCH_OK);
  Quantized result = bench.quantize(weight);
  INFO(result.error);
  REQUIRE(result.status == QUENCH_OK);
  return result;
}

// 2/N X'X, its diagonal damped.
Matrix hessian(const Matrix& inputs, double damp) {
  Matrix h = product(transposed(inputs), inputs);
  double trace = 0;
  for (double& value : h.values) {
    value *= 2.0 / static_cast<double>(inputs.rows);
  }
  for (int64_t i = 0; i < h.rows; ++i) {
    trace += h(i, i);
  }
  for (int64_t i = 0; i < h.rows; ++i) {
    h(i, i) += damp * trace / static_cast<double>(h.rows);
  }
  return h;
}

Matrix minus(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.values.size(); ++i) {
    a.values[i] -= b.values[i];
  }
  return a;
}

// Rounding to nearest with the same grids that have no compensation.
Matrix rounded(const Matrix& weight, const Options& options) {
  Matrix out = weight;
  const quantizers::GridKind kind{options.bits, options.sym};
  const int64_t size = options.group_size == -1 ? weight.columns : options.group_size;
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t first = 0; first < weight.columns; first += size) {
      const int64_t last = std::min(first + size, weight.columns);
      double low = 0;
      double high = 0;
      for (int64_t c = first; c < last; ++c) {
        low = std::min(low, weight(r, c));
        high = std::max(high, weight(r, c));
      }
      const quantizers::Grid grid = quantizers::grid_of(low, high, kind);
      for (int64_t c = first; c < last; ++c) {
        const double code =
            quantizers::code_of(weight(r, c), grid.scale, grid.zero, kind.max_code());
        out(r, c) = grid.scale * (code - grid.zero);
      }
    }
  }
  return out;
}

template <typename Visit>
void for_each_combination(Visit visit) {
  for (const int64_t group_size :
       {int64_t{-1}, int64_t{12}, int64_t{32}, int64_t{100}, int64_t{500}}) {
    for (int flags = 0; flags < 16; ++flags) {
      Options options;
      options.group_size = group_size;
      options.sym = (flags & 1) != 0;
      options.desc_act = (flags & 2) != 0;
      options.static_groups = (flags & 4) != 0;
      options.stale = (flags & 8) != 0;
      const bool given = options.static_groups || group_size == -1;
      if ((options.stale && given) || (options.static_groups && group_size == -1)) {
        continue;  // refused
      }
      visit(options);
    }
  }
}

}  // namespace

TEST_CASE("gptq with uncorrelated inputs is rounding to nearest", "[quantizers][gptq]") {
  const int64_t n = 96;
  Matrix identity{n, n, std::vector<double>(static_cast<size_t>(n * n))};
  for (int64_t i = 0; i < n; ++i) {
    identity(i, i) = 1;
  }
  Options options;
  options.precision = GENERATE("float64", "float32");
  options.sym = GENERATE(false, true);
  options.group_size = GENERATE(-1, 1, 32, 40);
  options.bits = GENERATE(2, 4, 8);
  const Matrix weight = random_matrix(70, n, 21);
  const Matrix result = run(options, weight, identity).decoded();
  CHECK(differences(result.values, rounded(weight, options).values) == "");
}

// Delta = E U and H^-1 = U'U, so the sum of squared entries of E is tr(D H D'), whatever the grids.
TEST_CASE("gptq: the loss is half of tr(D H D') with the damped H", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(16, 200, 22);
  const Matrix inputs = random_matrix(300, 200, 23, true);
  const Matrix h = hessian(inputs, 0.01);
  for_each_combination([&](const Options& options) {
    INFO(options.json());
    const Quantized result = run(options, weight, inputs);
    const double expected = weighted_square(minus(weight, result.decoded()), h) / 2;
    CHECK(result.numbers.at("loss") == Approx(expected).epsilon(1e-9));
  });
}

// Symmetric grids put the negative extreme of a group on a tie, where the last bit decides; without
// them the plain kernel and the blocked one must agree in every code.
TEST_CASE("gptq gives the codes of the plain kernel", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(70, 160, 24);
  const Matrix inputs = random_matrix(250, 160, 25, true);
  const Matrix h = hessian(inputs, 0);
  for_each_combination([&](const Options& options) {
    INFO(options.json());
    const Quantized result = run(options, weight, inputs);
    const auto expected = reference::gptq(
        {weight.rows, weight.columns, weight.values}, {h.rows, h.columns, h.values},
        {{options.bits, options.sym},
         options.group_size,
         options.static_groups,
         options.stale,
         options.block,
         true},
        options.desc_act ? quantizers::ColumnOrder::kActivation : quantizers::ColumnOrder::kGiven,
        options.damp);
    CHECK(differences(result.perm, expected.perm) == "");
    CHECK(differences(result.g_idx, expected.g_idx) == "");
    if (options.sym) {
      CHECK(result.numbers.at("loss") == Approx(expected.loss).epsilon(0.05));
      return;
    }
    const std::vector<double> codes(result.codes.begin(), result.codes.end());
    CHECK(differences(codes, expected.codes.values) == "");
    CHECK(result.numbers.at("loss") == Approx(expected.loss).epsilon(1e-9));
  });
}

TEST_CASE("gptq: the size of a block moves rounding only", "[quantizers][gptq]") {
  const Matrix weight = random_matrix(40, 200, 26);
  const Matrix inputs = random_matrix(300, 200, 27, true);
  Options options;
  options.group_size = GENERATE(-1, 32, 48, 150);
  const Quantized expected = run(options, weight, inputs);
  options.block = GENERATE(1, 20, 64, 1024);
  CHECK(differences(run(options, weight, inputs).codes, expected.codes) == "");
}

TEST_CASE("gptq with desc_act follows a permutation of its inputs", "[quantizers][gptq]") {
  const int64_t n = 130;
  const Matrix weight = random_matrix(12, n, 28);
  const Matrix inputs = random_matrix(300, n, 29, true);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(30));
  Matrix weight_moved = weight;
  Matrix inputs_moved = inputs;
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t r = 0; r < weight.rows; ++r) {
      weight_moved(r, c) = weight(r, order[static_cast<size_t>(c)]);
    }
    for (int64_t r = 0; r < inputs.rows; ++r) {
      inputs_moved(r, c) = inputs(r, order[static_cast<size_t>(c)]);
    }
  }
  Options options;
  options.desc_act = true;
  const Quantized before = run(options, weight, inputs);
  const Quantized after = run(options, weight_moved, inputs_moved);
  for (int64_t c = 0; c < n; ++c) {
    const auto from = static_cast<size_t>(order[static_cast<size_t>(c)]);
    for (int64_t r = 0; r < weight.rows; ++r) {
      REQUIRE(after.codes[static_cast<size_t>(r * n + c)] ==
              before.codes[static_cast<size_t>(r * n) + from]);
    }
    CHECK(after.g_idx[static_cast<size_t>(c)] == before.g_idx[from]);
  }
}

TEST_CASE("gptq keeps zeros and rows of one sign", "[quantizers][gptq]") {
  Options options;
  options.sym = GENERATE(false, true);
  options.precision = GENERATE("float64", "float32");
  options.group_size = GENERATE(-1, 16);
  Matrix weight = random_matrix(4, 48, 31);
  for (int64_t c = 0; c < 48; ++c) {
    weight(0, c) = 0;                          // a row of zeros
    weight(1, c) = c < 16 ? 0 : weight(1, c);  // a group of zeros, before anything spread into it
    weight(2, c) = std::fabs(weight(2, c));
    weight(3, c) = -std::fabs(weight(3, c));
  }
  const Quantized result = run(options, weight, random_matrix(100, 48, 32, true));
  for (int64_t c = 0; c < 48; ++c) {
    CHECK(result.dequantized(0, c) == 0);
    CHECK((c >= 16 || result.dequantized(1, c) == 0));
    CHECK(result.dequantized(2, c) >= (options.sym || options.group_size != -1 ? -10 : 0));
    CHECK(std::isfinite(result.dequantized(3, c)));
  }
  for (const double scale : result.scales) {
    CHECK(scale > 0);
  }
}

TEST_CASE("gptq dequantizes dead columns to zero", "[quantizers][gptq]") {
  Options options;
  options.desc_act = GENERATE(false, true);
  options.group_size = GENERATE(-1, 32);
  Matrix inputs = random_matrix(120, 70, 33, true);
  for (int64_t r = 0; r < inputs.rows; ++r) {
    inputs(r, 3) = inputs(r, 69) = 0;
  }
  const Quantized result = run(options, random_matrix(5, 70, 34), inputs);
  CHECK(result.numbers.at("dead") == 2);
  for (int64_t r = 0; r < 5; ++r) {
    CHECK(result.dequantized(r, 3) == 0);
    CHECK(result.dequantized(r, 69) == 0);
  }
}

TEST_CASE("gptq has the same bits for one and two threads", "[quantizers][gptq]") {
  Options options;
  options.precision = GENERATE("float64", "float32");
  options.desc_act = GENERATE(false, true);
  options.sym = true;
  const Matrix weight = random_matrix(330, 520, 35);
  const Matrix inputs = random_matrix(1500, 520, 36, true);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Quantized one = run(options, weight, inputs);
  at::set_num_threads(2);
  const HostThreads host(2);
  const Quantized two = run(options, weight, inputs);
  at::set_num_threads(before);
  CHECK(differences(one.codes, two.codes) == "");
  CHECK(differences(one.scales, two.scales) == "");
  CHECK(differences(one.dequantized.values, two.dequantized.values) == "");
  CHECK(one.numbers == two.numbers);
}

TEST_CASE("gptq beats rounding to nearest on average", "[quantizers][gptq]") {
  Options options;
  options.precision = GENERATE("float64", "float32");
  options.bits = GENERATE(2, 3, 4);
  options.sym = GENERATE(false, true);
  double ratios = 0;
  int better = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix weight = random_matrix(8, 96, 100 + seed);
    const Matrix inputs = random_matrix(200, 96, 200 + seed, true);
    const Matrix h = hessian(inputs, 0);
    const double ours = weighted_square(minus(weight, run(options, weight, inputs).decoded()), h);
    const double plain = weighted_square(minus(weight, rounded(weight, options)), h);
    ratios += ours / plain;
    better += ours <= plain ? 1 : 0;
  }
  CHECK(ratios / 20 < 0.8);
  CHECK(better >= 18);
}

TEST_CASE("gptq serves all linears of a group from one state", "[quantizers][gptq]") {
  const Matrix inputs = random_matrix(150, 64, 37, true);
  const Options options;
  QuantizerBench bench(options.json(), 64, 2);
  REQUIRE(bench.observe(inputs, true) == QUENCH_OK);
  for (uint32_t linear = 0; linear < 2; ++linear) {
    const Matrix weight = random_matrix(6 + linear, 64, 38 + linear);
    CHECK(differences(bench.quantize(weight, linear).codes, run(options, weight, inputs).codes) ==
          "");
  }
}

TEST_CASE("gptq says what is wrong", "[quantizers][gptq]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SECTION("no rows") {
    QuantizerBench bench("{}", 4);
    const Quantized result = bench.quantize(random_matrix(2, 4, 1));
    CHECK(result.status == QUENCH_FAILED_PRECONDITION);
    CHECK(result.error == "linear0: no calibration rows were observed");
  }
  SECTION("a weight that is not a number") {
    QuantizerBench bench("{}", 4, 2);
    REQUIRE(bench.observe(random_matrix(20, 4, 2)) == QUENCH_OK);
    Matrix weight = random_matrix(3, 4, 1);
    weight(2, 1) = nan;
    const Quantized result = bench.quantize(weight, 1);
    CHECK(result.status == QUENCH_NUMERICAL);
    CHECK(result.error == "linear1: weight[2, 1] is nan");
  }
  SECTION("a row that is not finite") {
    QuantizerBench bench("{}", 4);
    Matrix x = random_matrix(20, 4, 2);
    x(7, 3) = std::numeric_limits<double>::infinity();
    CHECK(bench.observe(x) == QUENCH_NUMERICAL);
    CHECK(bench.error() == "the input of the group is not finite at row 7, column 3");
  }
  SECTION("a Hessian that cannot be factorized") {
    QuantizerBench bench(R"({"damp":0,"damp_increment":0})", 30);
    REQUIRE(bench.observe(random_matrix(10, 30, 2)) == QUENCH_OK);
    const Quantized result = bench.quantize(random_matrix(3, 30, 1));
    CHECK(result.status == QUENCH_NUMERICAL);
    CHECK_THAT(result.error, Catch::StartsWith("linear0: the Hessian is not positive definite"));
  }
  SECTION("a weight of another width") {
    QuantizerBench bench("{}", 4);
    REQUIRE(bench.observe(random_matrix(20, 4, 2)) == QUENCH_OK);
    CHECK(bench.quantize(random_matrix(3, 5, 1)).status == QUENCH_INVALID_ARGUMENT);
  }
  SECTION("parameters") {
    CHECK(create_error(R"({"group_size":0})") == "gptq: group_size = 0, wanted -1 or at least 1");
    CHECK(create_error(R"({"group_size":-1,"static_groups":true})") ==
          "gptq: static_groups has no effect with group_size = -1");
    CHECK(create_error(R"({"static_groups":true,"scale_from":"stale"})") ==
          "gptq: scale_from = stale has no effect with static_groups");
    CHECK(create_error(R"({"group_size":-1,"scale_from":"stale"})") ==
          "gptq: scale_from = stale has no effect with group_size = -1");
    CHECK(create_error(R"({"static_groups":true})").empty());
    CHECK(create_error(R"({"scale_from":"stale"})").empty());
    CHECK(create_error("{}").empty());
  }
}

TEST_CASE("gptq asks for sequential rows", "[quantizers][gptq]") {
  CHECK(QuantizerBench("{}", 4).needs() ==
        (QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_NEEDS_ROWS | QUENCH_NEEDS_SEQUENTIAL));
  CHECK(std::string(linked_item().id) == "gptq");
  CHECK(linked_item().parameter_count == 39);
}

}  // namespace quench::test
