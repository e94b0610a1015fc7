// One linear, against tests/data/autoround_reference.py: the published package's rounding and
// optimizer, in float64, with torch's derivatives.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "quantizers/autoround/draws.hpp"
#include "quantizers/autoround/tuned_grid.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

using quantizers::backward;
using quantizers::FactorGradient;
using quantizers::GridKind;
using quantizers::Groups;
using quantizers::tuned_grid;
using quantizers::TunedGrid;

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() / "tests/data/autoround_reference.safetensors");
  return kFile;
}

nlohmann::json cases() {
  return nlohmann::json::parse(read_file(source_dir() / "tests/data/autoround_reference.json"));
}

template <typename T>
Matrix matrix_of(const std::string& name) {
  const std::vector<int64_t> shape = reference().shape(name);
  const std::vector<T> values = reference().elements<T>(name);
  return {shape[0], shape[1], {values.begin(), values.end()}};
}

Quantized tuned(const std::string& parameters, const Matrix& weight, const Matrix& x,
                bool float64 = false) {
  QuantizerBench bench(parameters, weight.columns);
  REQUIRE(bench.observe(x, float64) == QUENCH_OK);
  Quantized result = bench.quantize(weight, 0, float64);
  INFO(result.error);
  REQUIRE(result.status == QUENCH_OK);
  return result;
}

// The mean squared error of the outputs.
double output_error(const Matrix& weight, const Matrix& dequantized, const Matrix& x) {
  Matrix off = dequantized;
  for (size_t i = 0; i < off.values.size(); ++i) {
    off.values[i] -= weight.values[i];
  }
  const Matrix outputs = product(x, transposed(off));
  double sum = 0;
  for (const double value : outputs.values) {
    sum += value * value;
  }
  return sum / static_cast<double>(outputs.values.size());
}

// Calls body(row, group, first column, count, extremes) for all groups.
template <typename Body>
void for_groups(const Matrix& weight, Groups groups, Body&& body) {
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t g = 0; g < groups.count; ++g) {
      const int64_t first = g * groups.size;
      const int64_t count = std::min(groups.size, weight.columns - first);
      const double* from = weight.values.data() + r * weight.columns + first;
      const double low = std::min(0.0, *std::min_element(from, from + count));
      const double high = std::max(0.0, *std::max_element(from, from + count));
      body(r, g, r * weight.columns + first, count, low, high);
    }
  }
}

}  // namespace

TEST_CASE("autoround gives the codes and losses of the published package's loop",
          "[quantizers][autoround]") {
  const Matrix weight = matrix_of<float>("W");
  const Matrix x = matrix_of<float>("X");
  size_t number = 0;
  for (const nlohmann::json& expected : cases()) {
    INFO(expected["parameters"].dump());
    const Quantized result = tuned(expected["parameters"].dump(), weight, x, true);
    const std::string prefix = std::to_string(number++) + ".";
    CHECK(result.numbers.at("iteration") == expected["iteration"].get<double>());
    const size_t best = expected["iteration"];
    CHECK(result.numbers.at("tuned_loss") ==
          Approx(expected["losses"][best].get<double>()).epsilon(1e-12));
    CHECK(result.numbers.at("plain_loss") ==
          Approx(expected["losses"][0].get<double>()).epsilon(1e-12));
    CHECK(differences(result.zeros, reference().elements<double>(prefix + "zeros")) == "");
    const auto scales = reference().elements<double>(prefix + "scales");
    const auto wanted = reference().elements<double>(prefix + "dequantized");
    REQUIRE(result.scales.size() == scales.size());
    for (size_t i = 0; i < scales.size(); ++i) {
      REQUIRE(result.scales[i] == Approx(scales[i]).epsilon(1e-14));
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      REQUIRE(result.dequantized.values[i] == Approx(wanted[i]).epsilon(1e-14).margin(1e-17));
    }
  }
  CHECK(number == 7);
}

TEST_CASE("autoround's derivatives are torch's of the published rounding",
          "[quantizers][autoround]") {
  const Matrix weight = matrix_of<float>("W");
  const Matrix x = matrix_of<float>("X");
  size_t number = 0;
  for (const nlohmann::json& expected : cases()) {
    const nlohmann::json& parameters = expected["parameters"];
    INFO(parameters.dump());
    const std::string prefix = std::to_string(number++) + ".";
    const GridKind kind{parameters["bits"], parameters["sym"]};
    const Groups groups = quantizers::groups_of(96, parameters["group_size"]);
    const Matrix offsets = matrix_of<double>(prefix + "offsets");
    const Matrix low_factors = matrix_of<double>(prefix + "low_factors");
    const Matrix high_factors = matrix_of<double>(prefix + "high_factors");
    Matrix errors = weight;
    for_groups(weight, groups,
               [&](int64_t r, int64_t g, int64_t at, int64_t count, double low, double high) {
                 const quantizers::Grid grid =
                     tuned_grid(low, high, low_factors(r, g), high_factors(r, g), kind).grid;
                 for (int64_t i = at; i < at + count; ++i) {
                   const auto place = static_cast<size_t>(i);
                   const double code =
                       quantizers::offset_code(weight.values[place], offsets.values[place], grid,
                                               kind.max_code())
                           .code;
                   errors.values[place] = grid.scale * (code - grid.zero) - weight.values[place];
                 }
               });
    Matrix slope = product(errors, product(transposed(x), x));
    for (double& value : slope.values) {
      value *= 2.0 / static_cast<double>(x.rows * weight.rows);
    }
    const Matrix by_offset = matrix_of<double>(prefix + "slope");
    const Matrix by_low = matrix_of<double>(prefix + "low");
    const Matrix by_high = matrix_of<double>(prefix + "high");
    const auto close = [](double wanted, const Matrix& all) {
      const auto [least, most] = std::minmax_element(all.values.begin(), all.values.end());
      return Approx(wanted).epsilon(0).margin(1e-13 * std::max(-*least, *most));
    };
    for_groups(
        weight, groups,
        [&](int64_t r, int64_t g, int64_t at, int64_t count, double low, double high) {
          const TunedGrid own = tuned_grid(low, high, low_factors(r, g), high_factors(r, g), kind);
          const FactorGradient found = backward(
              weight.values.data() + at, offsets.values.data() + at, slope.values.data() + at,
              count, own, kind.max_code(), [&](int64_t i, double by) {
                REQUIRE(by == close(by_offset.values[static_cast<size_t>(at + i)], by_offset));
              });
          REQUIRE(found.low == close(by_low(r, g), by_low));
          REQUIRE(found.high == close(by_high(r, g), by_high));
        });
  }
}

// Between its steps the rounded group is smooth: with each rounding's remainder and each clamp held
// as they are at a point, central differences there are the derivatives that pass straight through.
TEST_CASE("autoround's derivatives are central differences with the remainders held",
          "[quantizers][autoround]") {
  constexpr double kStep = 1e-6;
  constexpr double kTolerance = 1e-8;  // (1e-6)², and roundings of 1e-16 over 1e-6
  const GridKind kind{GENERATE(2, 3, 4), GENERATE(false, true)};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Matrix w = random_matrix(1, 24, 100 + seed);
    if (seed % 4 == 1) {
      for (double& value : w.values) {
        value = std::abs(value);
      }
    }
    const Matrix g = random_matrix(1, 24, 200 + seed);
    Matrix v = random_matrix(1, 24, 300 + seed);
    for (double& value : v.values) {
      value *= 0.3;
    }
    const double low = std::min(0.0, *std::min_element(w.values.begin(), w.values.end()));
    const double high = *std::max_element(w.values.begin(), w.values.end());
    const double a = 0.6 + 0.01 * static_cast<double>(seed);
    const double b = 0.9 - 0.01 * static_cast<double>(seed);
    CAPTURE(kind.bits, kind.sym, seed);
    const TunedGrid at = tuned_grid(low, high, a, b, kind);
    const double max_code = kind.max_code();
    const auto value_of = [&](size_t i, double offset, double low_factor, double high_factor) {
      const TunedGrid moved = tuned_grid(low, high, low_factor, high_factor, kind);
      const double exact_zero = kind.sym ? at.grid.zero : -low_factor * low / moved.grid.scale;
      const double held_zero =
          kind.sym ? 0 : at.grid.zero + a * low / at.grid.scale;  // what rounding added
      const double zero = exact_zero + held_zero;
      const double here = w.values[i] / at.grid.scale + v.values[i];
      const double code = std::rint(here) + at.grid.zero;
      if (code < 0 || code > max_code) {
        return moved.grid.scale * ((code < 0 ? 0 : max_code) - zero);
      }
      const double smooth = w.values[i] / moved.grid.scale + offset + (std::rint(here) - here);
      return moved.grid.scale * (smooth + zero - zero);
    };
    const auto sum = [&](double low_factor, double high_factor) {
      double all = 0;
      for (size_t i = 0; i < w.values.size(); ++i) {
        all += g.values[i] * value_of(i, v.values[i], low_factor, high_factor);
      }
      return all;
    };
    const FactorGradient found = backward(
        w.values.data(), v.values.data(), g.values.data(), 24, at, max_code,
        [&](int64_t k, double by) {
          const auto i = static_cast<size_t>(k);
          const double difference =
              g.values[i] *
              (value_of(i, v.values[i] + kStep, a, b) - value_of(i, v.values[i] - kStep, a, b)) /
              (2 * kStep);
          CHECK(by == Approx(difference).margin(kTolerance));
        });
    CHECK(found.low ==
          Approx((sum(a + kStep, b) - sum(a - kStep, b)) / (2 * kStep)).margin(kTolerance));
    CHECK(found.high ==
          Approx((sum(a, b + kStep) - sum(a, b - kStep)) / (2 * kStep)).margin(kTolerance));
  }
}

TEST_CASE("autoround before its first step rounds to nearest, to the bit",
          "[quantizers][autoround]") {
  Matrix weight = random_matrix(37, 133, 6);
  for (int64_t c = 0; c < 133; ++c) {
    weight(1, c) = 0;
    weight(2, c) = -3;
    weight(3, c) = std::abs(weight(3, c));
  }
  const Matrix x = random_matrix(64, 133, 3, true);
  for (const std::string rest :
       {R"("bits":4,"group_size":-1)", R"("bits":2,"sym":false,"group_size":32)",
        R"("bits":3,"group_size":1)", R"("bits":8,"sym":false,"group_size":50)"}) {
    for (const int iterations : {0, 1}) {
      for (const bool float64 : {false, true}) {
        CAPTURE(rest, iterations, float64);
        const nlohmann::json parameters = nlohmann::json::parse("{" + rest + "}");
        const Groups groups = quantizers::groups_of(133, parameters["group_size"]);
        const quantizers::CodedStorage wanted(37, 133, groups);
        const GridKind kind{parameters["bits"], parameters.value("sym", true)};
        if (float64) {
          quantizers::round_rows(weight.values.data(), groups, kind, wanted.view());
        } else {
          const std::vector<float> narrow(weight.values.begin(), weight.values.end());
          quantizers::round_rows(narrow.data(), groups, kind, wanted.view());
        }
        const Quantized got = tuned("{" + rest + ",\"objective\":\"linear\",\"iterations\":" +
                                        std::to_string(iterations) + "}",
                                    weight, x, float64);
        CHECK(differences(got.codes, wanted.view().codes) == "");
        CHECK(differences(got.scales, wanted.view().scales) == "");
        CHECK(differences(got.zeros, wanted.view().zeros) == "");
        CHECK(got.numbers.at("iteration") == 0);
        CHECK(got.numbers.at("tuned_loss") == got.numbers.at("plain_loss"));
      }
    }
  }
}

TEST_CASE("autoround's loss is that of its weight, and never above rounding to nearest",
          "[quantizers][autoround]") {
  int below = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Matrix weight = random_matrix(16, 96, seed);
    const Matrix x = random_matrix(200, 96, 50 + seed, true);
    const std::string bits = std::to_string(2 + seed % 3);
    const std::string sym = seed % 2 == 0 ? "true" : "false";
    CAPTURE(bits, sym, seed);
    const std::string rest =
        "{\"bits\":" + bits + ",\"sym\":" + sym + ",\"group_size\":32,\"objective\":\"linear\"";
    const Quantized plain = tuned(rest + ",\"iterations\":0}", weight, x);
    const Quantized best = tuned(rest + ",\"iterations\":60}", weight, x);
    const double error = output_error(weight, best.dequantized, x);
    const double plain_error = output_error(weight, plain.dequantized, x);
    CHECK(best.numbers.at("tuned_loss") == Approx(error).epsilon(1e-4));
    CHECK(best.numbers.at("plain_loss") == Approx(plain_error).epsilon(1e-4));
    CHECK(error <= plain_error);
    below += error < 0.8 * plain_error ? 1 : 0;
    const Matrix decoded = best.decoded();
    for (size_t i = 0; i < decoded.values.size(); ++i) {
      REQUIRE(best.dequantized.values[i] == static_cast<float>(decoded.values[i]));
    }
  }
  CHECK(below >= 8);
}

TEST_CASE("autoround's bits do not depend on the number of threads", "[quantizers][autoround]") {
  const Matrix weight = random_matrix(67, 96, 1);
  const Matrix x = random_matrix(200, 96, 2, true);
  const std::string parameters =
      R"({"bits":3,"group_size":32,"objective":"linear","iterations":10})";
  const Quantized one = tuned(parameters, weight, x);
  for (const uint32_t threads : {2U, 5U}) {
    const HostThreads several(threads);
    const Quantized many = tuned(parameters, weight, x);
    CHECK(differences(many.codes, one.codes) == "");
    CHECK(differences(many.scales, one.scales) == "");
    CHECK(many.numbers == one.numbers);
  }
}

TEST_CASE("autoround draws every batch once before any comes again", "[quantizers][autoround]") {
  linked_item();  // installs the host, whose random numbers these are
  quantizers::Draws draws({2, 2, 2, 2, 2, 2, 2}, 4, "stream");
  CHECK_FALSE(draws.all());
  std::set<std::vector<uint64_t>> orders;
  for (int round = 0; round < 8; ++round) {
    std::vector<uint64_t> seen;
    for (int draw = 0; draw < 3; ++draw) {  // one of seven is left out
      const std::vector<uint64_t> batches = draws.next();
      CHECK(batches.size() == 2);
      seen.insert(seen.end(), batches.begin(), batches.end());
    }
    orders.insert(seen);
    const std::set<uint64_t> distinct(seen.begin(), seen.end());
    CHECK(distinct.size() == 6);
    CHECK(*distinct.rbegin() < 7);
  }
  CHECK(orders.size() == 8);
}

TEST_CASE("autoround's draws have the tokens that were asked for, and the order of their stream",
          "[quantizers][autoround]") {
  linked_item();
  const std::vector<int64_t> tokens = {5, 1, 1, 9, 2, 4};
  quantizers::Draws first(tokens, 6, "a");
  quantizers::Draws again(tokens, 6, "a");
  quantizers::Draws other(tokens, 6, "b");
  bool differs = false;
  for (int draw = 0; draw < 20; ++draw) {
    const std::vector<uint64_t> batches = first.next();
    CHECK(batches == again.next());
    differs = differs || batches != other.next();
    int64_t sum = 0;
    for (const uint64_t batch : batches) {
      sum += tokens[batch];
    }
    CHECK(sum >= 6);
    CHECK(sum - tokens[batches.back()] < 6);
  }
  CHECK(differs);
  quantizers::Draws all(tokens, 22, "a");
  CHECK(all.all());
  CHECK(all.next() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("autoround says which parameters have no effect", "[quantizers][autoround]") {
  CHECK(create_error(R"({"minmax":false,"minmax_lr":0.1})") ==
        "autoround: minmax_lr has no effect with minmax = false");
  CHECK(create_error(R"({"objective":"linear","target":"quantized"})") ==
        "autoround: target has no effect with objective = linear");
  CHECK(create_error(R"({"group_size":0})") ==
        "autoround: group_size = 0, wanted -1 or at least 1");
  CHECK(create_error(R"({"minmax":false,"lr":0.1})") == "");
}

}  // namespace quench::test
