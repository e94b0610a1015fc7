// Quantizers that rotate the inputs of linears, against the same ones without it on rows and
// weights that were rotated before. Linked with rtn, gptq, awq and activations.
#include <catch2/catch.hpp>
#include <cmath>

#include "shared/hadamard/random_hadamard.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test::rotated_inputs {

namespace {

using hadamard::RandomHadamard;

constexpr int64_t kColumns = 96;
constexpr auto kApply = RandomHadamard::Direction::kApply;
constexpr auto kUndo = RandomHadamard::Direction::kUndo;

std::string id() {
  return linked_item().id;
}

// Weights of 4 bits, or inputs of 8 where weights stay in float, and `more`.
std::string parameters(const std::string& more) {
  const std::string own = id() == "activations" ? R"("activations":"int8")"
                          : id() == "awq" ? R"("bits":4,"group_size":32,"inputs":"sequential")"
                                          : R"("bits":4,"group_size":32)";
  return "{" + own + more + "}";
}

RandomHadamard rotation_of(int64_t draw = 0) {
  linked_item();  // installs the host
  return {kColumns, "rotate/" + std::to_string(draw) + "/linear0"};
}

// Each row times R or R', rounded to float32.
Matrix rotated(const Matrix& rows, RandomHadamard::Direction direction = kApply) {
  std::vector<float> values(rows.values.begin(), rows.values.end());
  rotation_of().multiply(std::span<float>(values), direction);
  return {rows.rows, rows.columns, {values.begin(), values.end()}};
}

Quantized quantized(const std::string& more, const Matrix& weight, const Matrix& x) {
  QuantizerBench bench(parameters(more), weight.columns);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  Quantized result = bench.quantize(weight);
  REQUIRE(result.error == "");
  return result;
}

double distance(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    most = std::max(most, std::fabs(a.values[i] - b.values[i]));
  }
  return most;
}

// Relative to `wanted`, in squares.
double error(const Matrix& got, const Matrix& wanted) {
  double sum = 0;
  double whole = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    sum += std::pow(got.values[i] - wanted.values[i], 2);
    whole += std::pow(wanted.values[i], 2);
  }
  return sum / whole;
}

}  // namespace

TEST_CASE("rotated inputs: a quantizer sees rotated rows and weights, bit for bit",
          "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  const Quantized got = quantized(R"(,"rotate":"all")", weight, x);
  const Quantized wanted = quantized("", rotated(weight), rotated(x));
  CHECK(differences(got.codes, wanted.codes) == "");
  CHECK(differences(got.scales, wanted.scales) == "");
  CHECK(differences(got.perm, wanted.perm) == "");
  CHECK(got.numbers == wanted.numbers);
  CHECK(got.texts.at("rotation") == "Hadamard 12 x 8");
  CHECK(distance(got.dequantized, rotated(wanted.dequantized, kUndo)) == 0);
  // The rotation does something.
  CHECK(distance(got.dequantized, quantized("", weight, x).dequantized) >
        (id() == "activations" ? 0 : 1e-3));
}

TEST_CASE("rotated inputs: an op rounds what is rotated", "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  const std::string rounds = id() == "activations" ? "" : R"(,"activations":"int4")";
  const Quantized got = quantized(rounds + R"(,"rotate":"all")", weight, x);
  const Quantized wanted = quantized(rounds, rotated(weight), rotated(x));
  REQUIRE(got.op != nullptr);
  CHECK(distance(got.applied(x), wanted.applied(rotated(x))) == 0);
  CHECK(distance(got.op_inputs(x), rotated(wanted.op_inputs(rotated(x)), kUndo)) == 0);
  CHECK(got.numbers.at("both_errors") == wanted.numbers.at("both_errors"));
}

// One channel of the inputs is sixteen times the others: it takes nearly all of 4 bits' range.
TEST_CASE("rotated inputs: an outlying channel costs 4 bits far less", "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  Matrix x = random_matrix(300, kColumns, 2);
  for (int64_t r = 0; r < x.rows; ++r) {
    x(r, 17) *= 16;
  }
  Matrix quiet = weight;  // the channel matters as much as any other
  for (int64_t r = 0; r < quiet.rows; ++r) {
    quiet(r, 17) = static_cast<float>(quiet(r, 17) / 16);
  }
  const Matrix exact = product(x, transposed(quiet));
  const auto cost = [&](const std::string& more) {
    const std::string own = id() == "awq" ? R"(,"unscaled":["*"])" : "";
    const std::string rounds = id() == "activations" ? "" : R"(,"activations":"int4")";
    QuantizerBench bench(id() == "activations" ? R"({"activations":"int4")" + more + "}"
                                               : parameters(own + rounds + more),
                         kColumns);
    REQUIRE(bench.observe(x) == QUENCH_OK);
    const Quantized result = bench.quantize(quiet);
    REQUIRE(result.error == "");
    return error(result.applied(x), exact);
  };
  const double plain = cost("");
  const double turned = cost(R"(,"rotate":"all")");
  INFO(id() << ": " << plain << " becomes " << turned);
  CHECK(turned < 0.25 * plain);
}

TEST_CASE("rotated inputs: groups that read the stream stay as they are with inner",
          "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  const Quantized plain = quantized("", weight, x);
  for (const char* none : {R"(,"rotate":"none")", R"(,"rotate":"inner")"}) {  // the linear is a q
    CAPTURE(none);
    const Quantized got = quantized(none, weight, x);
    CHECK(differences(got.codes, plain.codes) == "");
    CHECK(distance(got.dequantized, plain.dequantized) == 0);
    CHECK(got.texts == plain.texts);
    CHECK(got.numbers == plain.numbers);
  }
}

TEST_CASE("rotated inputs: draws differ, and share no group", "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  const Quantized first = quantized(R"(,"rotate":"all","rotate_draw":1)", weight, x);
  const auto beside = [&](const char* more) {
    return distance(first.dequantized, quantized(more, weight, x).dequantized);
  };
  CHECK(beside(R"(,"rotate":"all")") > 0);
  CHECK(beside(R"(,"rotate":"all","rotate_draw":1)") == 0);
  QuantizerBench own(parameters(R"(,"rotate":"all")"), kColumns);
  QuantizerBench same(parameters(R"(,"rotate":"all","rotate_draw":0)"), kColumns);
  QuantizerBench other(parameters(R"(,"rotate":"all","rotate_draw":1)"), kColumns);
  QuantizerBench none(parameters(""), kColumns);
  CHECK_FALSE(own.accepts_groups_of(other));
  CHECK_FALSE(own.accepts_groups_of(none));
  CHECK(own.accepts_groups_of(same) ==
        QuantizerBench(parameters(""), kColumns).accepts_groups_of(none));
}

TEST_CASE("rotated inputs: Gram matrix and errors are of the inputs as they were",
          "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix other = random_matrix(24, kColumns, 5);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  QuantizerBench bench(parameters(R"(,"rotate":"all")"), kColumns);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  quench_tensor gram{};
  double rows = 0;
  quench_error failure{sizeof failure, 0, {}};
  REQUIRE(bench.gram().gram_get(bench.quantizer(), bench.state(), &gram, &rows, &failure) ==
          QUENCH_OK);
  CHECK(rows == 300);
  const Matrix wanted = product(transposed(x), x);
  CHECK(error({kColumns, kColumns, kit::to_doubles(gram, "gram")}, wanted) < 1e-12);

  Matrix change = weight;
  for (size_t i = 0; i < change.values.size(); ++i) {
    change.values[i] -= other.values[i];
  }
  std::vector<double> first = weight.values;
  std::vector<double> second = other.values;
  const int64_t shape[2] = {24, kColumns};
  const int64_t strides[2] = {kColumns, 1};
  const auto view = [&](std::vector<double>& values) {
    return quench_tensor{
        values.data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kFloat64, shape, strides, 0};
  };
  const quench_tensor a = view(first);
  const quench_tensor b = view(second);
  double squared = 0;
  double reference = 0;
  REQUIRE(bench.gram().output_error(bench.quantizer(), bench.state(), &a, &b, &squared, &reference,
                                    &failure) == QUENCH_OK);
  CHECK(squared == Approx(weighted_square(change, wanted)).epsilon(1e-5));
  CHECK(reference == Approx(weighted_square(weight, wanted)).epsilon(1e-5));

  // What was given as the Gram matrix comes back.
  QuantizerBench unreached(parameters(R"(,"rotate":"all")"), kColumns);
  REQUIRE(unreached.gram().gram_set(unreached.quantizer(), unreached.state(), &gram, rows,
                                    &failure) == QUENCH_OK);
  quench_tensor again{};
  REQUIRE(unreached.gram().gram_get(unreached.quantizer(), unreached.state(), &again, &rows,
                                    &failure) == QUENCH_OK);
  CHECK(error({kColumns, kColumns, kit::to_doubles(again, "gram")}, wanted) < 1e-12);
}

TEST_CASE("rotated inputs: results without codes, as of a device, are turned back, too",
          "[quantizers][rotated][on_device]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(300, kColumns, 2, true);
  const matrix::LibtorchAlone as_on_a_gpu;
  QuantizerBench bench(parameters(R"(,"rotate":"all")"), kColumns);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  const Quantized without = bench.quantize_without_codes(weight);
  REQUIRE(without.error == "");
  const Quantized with_codes = bench.quantize(weight);
  REQUIRE(with_codes.error == "");
  // gptq's column loop with codes is another one here.
  CHECK(error(without.dequantized, with_codes.dequantized) <= (id() == "gptq" ? 1e-2 : 0));
  CHECK(error(without.dequantized, weight) < 0.1);
}

TEST_CASE("rotated inputs: a linear that is kept in float keeps its weight",
          "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Quantized got =
      quantized(R"(,"rotate":"all","modules":["* skip"])", weight, random_matrix(300, kColumns, 2));
  CHECK(distance(got.dequantized, weight) == 0);
  CHECK(got.op == nullptr);
  CHECK(!got.texts.contains("rotation"));
}

TEST_CASE("rotated inputs: without rounding the op is the linear", "[quantizers][rotated]") {
  const Matrix weight = random_matrix(24, kColumns, 1);
  const Matrix x = random_matrix(30, kColumns, 2, true);
  if (id() != "activations") {  // the others turn their result back, and need none
    CHECK(quantized(R"(,"rotate":"all")", weight, x).op == nullptr);
    return;
  }
  const Matrix exact = product(x, transposed(weight));
  for (const bool float64 : {false, true}) {
    QuantizerBench bench(R"({"activations":"float","rotate":"all"})", kColumns);
    CHECK((bench.needs() & QUENCH_MAKES_LINEAR_OP) != 0);
    const Quantized result = bench.quantize(weight, 0, float64);
    REQUIRE(result.error == "");
    REQUIRE(result.op != nullptr);
    const double off = error(result.applied(x, float64), exact);
    CHECK(off < (float64 ? 1e-28 : 1e-12));
    CHECK(off > 0);  // a rotation lies between
    CHECK(error(result.op_inputs(x, float64), x) < (float64 ? 1e-28 : 1e-12));
  }
  QuantizerBench inner(R"({"activations":"float","rotate":"inner"})", kColumns);
  CHECK(inner.quantize(weight).op == nullptr);  // a q
}

TEST_CASE("rotated inputs: a width without a Hadamard matrix is refused with the linear's name",
          "[quantizers][rotated]") {
  std::string said;
  try {
    QuantizerBench bench(parameters(R"(,"rotate":"all")"), 92);
  } catch (const kit::Error& failure) {
    said = failure.what();
  }
  CHECK(said ==
        "linear0: rotate: no Hadamard matrix of size 92; wanted a power of two, or one times a "
        "size of Paley's, such as 12, 20, 28, 36, 44 or 344");
  QuantizerBench inner(parameters(R"(,"rotate":"inner")"), 92);  // the linear is a q
}

TEST_CASE("rotated inputs: settings without effect and values that are not finite are refused",
          "[quantizers][rotated]") {
  CHECK(create_error(parameters(R"(,"rotate_draw":1)")) ==
        id() + ": rotate_draw has no effect without rotate; wanted rotate = inner or all");
  if (id() == "awq") {
    CHECK(create_error(R"({"objective":"block","rotate":"all"})") ==
          "awq: objective = block runs blocks whose inputs are not rotated; wanted objective = "
          "gram with rotate");
  }
  Matrix x = random_matrix(30, kColumns, 2);
  x(3, 5) = std::nan("");
  QuantizerBench bench(parameters(R"(,"rotate":"all")"), kColumns);
  CHECK(bench.observe(x) == QUENCH_NUMERICAL);
  CHECK(bench.error() == "x: row 3, column 5 is nan");
}

}  // namespace quench::test::rotated_inputs
