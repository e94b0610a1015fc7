// hessian, sharpness, weights and taylor on a quadratic loss, where every number is known.
#include <catch2/catch.hpp>
#include <cmath>

#include "quench/kit/scalar.hpp"
#include "tests/plugins/metrics/quadratic_model.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/score_recorder.hpp"

using namespace quench::test;
using nlohmann::json;

namespace {

const quench_item& metric(const std::string& id) {
  return plugin_item(METRICS_DIR "/" + id + ".so", "metric");
}

// Eigenvalues 5, 3, 1; the block of the first tensor has 3 and 1.
constexpr std::array<QuadraticModel::Vector, 3> kMatrix = {{{2, 1, 0}, {1, 2, 0}, {0, 0, 5}}};
const TokenizedDocuments kText = {{{1, 2, 3}, {4, 5, 6, 7}, {1, 2, 3}}, {}};

json with(json more) {
  more["corpus"] = "v";
  return more;
}

}  // namespace

TEST_CASE("hessian: eigenvalues and trace of a quadratic loss", "[metrics][hessian]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1, 1, 0});
  const std::string curvature = GENERATE("hessian", "differences");
  const Measurement found = measure(
      metric("hessian"),
      with({{"top", 3}, {"trace_samples", 400}, {"parts", "layers"}, {"curvature", curvature}}),
      kText, model.subject());
  REQUIRE(found.message == "");
  const double same = curvature == "hessian" ? 1e-12 : 1e-6;
  CHECK(found.values.at(0).name == "hessian");
  CHECK(found.values[0].value == Approx(5.0).epsilon(same));
  CHECK(std::isnan(found.values[0].standard_error));
  const auto values = found.json.at("eigenvalues").get<std::vector<double>>();
  REQUIRE(values.size() == 3);
  CHECK(values[1] == Approx(3.0).epsilon(same));
  CHECK(values[2] == Approx(1.0).epsilon(same));
  for (const double residual : found.json.at("residuals").get<std::vector<double>>()) {
    CHECK(residual < 1e-5);
  }
  // vᵀAv = 9 ± 2 for random signs.
  CHECK(std::abs(found.details.at("trace") - 9.0) < 4.0 * 2.0 / std::sqrt(400.0));
  CHECK(found.json.at("trace_stderr").get<double>() == Approx(0.1).epsilon(0.02));
  const json& parts = found.json.at("parts");
  CHECK(parts.at("blocks.0.first").at("eigenvalue").get<double>() == Approx(3.0).epsilon(same));
  CHECK(parts.at("last").at("eigenvalue").get<double>() == Approx(5.0).epsilon(same));
  CHECK(parts.at("last").at("trace").get<double>() == Approx(5.0).epsilon(same));
  CHECK(found.details.at("tokens") == 10);
  CHECK(found.details.at("rows") == 3);
  CHECK(found.details.at("loss") == Approx(3.0));
  CHECK(found.details.at("gradient_norm") == Approx(std::sqrt(18.0)));
  if (curvature == "hessian") {  // two lengths, so two batches a product
    CHECK(model.products == 2 * static_cast<int>(found.details.at("products")));
  }
  CHECK(model.open == 0);
  CHECK(model.x == QuadraticModel::Vector{1, 1, 0});
}

TEST_CASE("hessian, taylor: a block is one part whatever stands between its parameters",
          "[metrics][hessian][taylor]") {
  QuadraticModel model({{{2, 0, 1}, {0, 5, 0}, {1, 0, 2}}}, {0, 0, 0}, {1.5, 1, 0});
  model.apart = true;
  const Measurement found =
      measure(metric("hessian"), with({{"top", 1}, {"trace_samples", 400}, {"parts", "blocks"}}),
              kText, model.subject());
  REQUIRE(found.message == "");
  const json& block = found.json.at("parts").at("blocks.0");
  CHECK(block.at("parameters") == 2.0);
  CHECK(block.at("eigenvalue").get<double>() == Approx(3.0).epsilon(1e-12));
  CHECK(std::abs(block.at("trace").get<double>() - 4.0) < 4.0 * 2.0 / std::sqrt(400.0));
  CHECK(found.json.at("parts").size() == 2);
  MemorySource source;
  source.add("blocks.0.a", {1}, std::vector<double>{1}, quench::kit::kFloat64);
  source.add("last", {1}, std::vector<double>{1}, quench::kit::kFloat64);
  source.add("blocks.0.b", {1}, std::vector<double>{0.25}, quench::kit::kFloat64);
  const quench_weights weights = {sizeof weights, "float", "", NAN, NAN, source.source()};
  const Measurement terms =
      measure(metric("taylor"), with({{"parts", "blocks"}}), kText, model.subject(), {weights});
  REQUIRE(terms.message == "");
  const json& part = terms.json.at("parts").at("blocks.0");
  // d = (0.5, 0, -0.25): ½ dᵀAd = 0.25 + 0.0625 - 0.125
  CHECK(part.at("quadratic").get<double>() == Approx(0.1875).epsilon(1e-14));
  CHECK(part.at("remainder").get<double>() == Approx(0.0).margin(1e-14));
  CHECK(part.at("relative_distance").get<double>() ==
        Approx(std::sqrt(0.3125 / 1.0625)).epsilon(1e-14));
  CHECK(terms.details.at("between") == Approx(0.0).margin(1e-14));
  CHECK(model.x == QuadraticModel::Vector{1.5, 1, 0});
}

TEST_CASE("hessian: of hidden matrices alone it is that of their block", "[metrics][hessian]") {
  QuadraticModel model({{{2, 0, 1}, {0, 5, 0}, {1, 0, 2}}}, {0, 0, 0}, {1.5, 1, 0.5});
  model.apart = true;
  const std::string method = GENERATE("lanczos", "power");
  const auto of = [&](bool relative, const char* tensors) {
    return measure(metric("hessian"),
                   with({{"top", 2},
                         {"method", method},
                         {"tolerance", 1e-12},
                         {"trace_samples", 400},
                         {"density_probes", 1},
                         {"parts", "layers"},
                         {"tensors", tensors},
                         {"relative", relative}}),
                   kText, model.subject());
  };
  const Measurement found = of(false, "matrices");
  REQUIRE(found.message == "");
  const auto values = found.json.at("eigenvalues").get<std::vector<double>>();
  REQUIRE(values.size() == 2);
  CHECK(values[0] == Approx(3.0).epsilon(1e-6));  // of [[2, 1], [1, 2]], and not 5
  CHECK(values[1] == Approx(1.0).epsilon(1e-6));
  // vᵀBv = 4 ± 2 for random signs.
  CHECK(std::abs(found.details.at("trace") - 4.0) < 4.0 * 2.0 / std::sqrt(400.0));
  CHECK(found.json.at("parts").size() == 2);
  CHECK(found.json.at("parts").count("last") == 0);
  for (const json& node : found.json.at("density").at("values")) {
    CHECK(node.get<double>() > 0.5);  // no eigenvalues of 0 of what is left out
  }
  CHECK(model.x == QuadraticModel::Vector{1.5, 1, 0.5});

  // D = diag(1.5, 0.5): [[4.5, 0.75], [0.75, 0.5]].
  const Measurement relative = of(true, "matrices");
  REQUIRE(relative.message == "");
  CHECK(relative.values.at(0).value == Approx(2.5 + std::sqrt(4.5625)).epsilon(1e-6));
  CHECK(std::abs(relative.details.at("trace") - 5.0) < 4.0 * 1.5 / std::sqrt(400.0));
}

TEST_CASE(
    "hessian: in units of each tensor it stays where a tensor is scaled and its gradient is "
    "scaled back",
    "[metrics][hessian]") {
  // The first tensor [2] has the root mean square √12.5, the last one 2.
  QuadraticModel model(kMatrix, {0, 0, 0}, {3, 4, 2});
  const auto eigenvalues = [](const QuadraticModel& of) {
    const Measurement found =
        measure(metric("hessian"), with({{"top", 3}, {"trace_samples", 0}, {"relative", true}}),
                kText, of.subject());
    REQUIRE(found.message == "");
    return found.json.at("eigenvalues").get<std::vector<double>>();
  };
  const std::vector<double> values = eigenvalues(model);
  REQUIRE(values.size() == 3);
  CHECK(values[0] == Approx(3 * 12.5).epsilon(1e-9));
  CHECK(values[1] == Approx(5 * 4.0).epsilon(1e-9));
  CHECK(values[2] == Approx(1 * 12.5).epsilon(1e-9));
  // w → 10·w in the first tensor, with the loss as a function of w/10.
  QuadraticModel scaled({{{0.02, 0.01, 0}, {0.01, 0.02, 0}, {0, 0, 5}}}, {0, 0, 0}, {30, 40, 2});
  const std::vector<double> same = eigenvalues(scaled);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(same.at(i) == Approx(values[i]).epsilon(1e-9));
  }
}

TEST_CASE("hessian: power iteration and several sets", "[metrics][hessian]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1, 1, 0});
  const Measurement found = measure(metric("hessian"),
                                    with({{"top", 1},
                                          {"method", "power"},
                                          {"tolerance", 1e-10},
                                          {"sets", 3},
                                          {"length", 3},
                                          {"trace_samples", 0},
                                          {"density_probes", 2}}),
                                    kText, model.subject());
  REQUIRE(found.message == "");
  CHECK(found.values.at(0).value == Approx(5.0).epsilon(1e-6));
  CHECK(found.values[0].standard_error == Approx(0.0).margin(1e-9));
  CHECK(found.json.at("sets").size() == 3);
  CHECK(found.json.at("sets")[0].at("tokens") == 3);
  CHECK(found.items.at("eigenvalue").size() == 3);
  CHECK(found.details.count("trace") == 0);
  double weight = 0;
  double mean = 0;
  const json& density = found.json.at("density");
  for (size_t i = 0; i < density.at("values").size(); ++i) {
    weight += density["weights"][i].get<double>();
    mean += density["weights"][i].get<double>() * density["values"][i].get<double>();
  }
  CHECK(weight == Approx(1.0).epsilon(1e-12));
  CHECK(mean > 1.0);
  CHECK(mean < 5.0);
}

TEST_CASE("hessian: a basis too small for its eigenvalues is an error that names what is wanted",
          "[metrics][hessian]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1, 1, 0});
  const Measurement found =
      measure(metric("hessian"), with({{"top", 2}, {"basis", 4}}), kText, model.subject());
  CHECK(found.status == QUENCH_INVALID_ARGUMENT);
  CHECK(found.message == "basis = 4, wanted at least top + 3 = 5");
}

TEST_CASE("hessian: the same seed gives the same bits, another one another trace",
          "[metrics][hessian]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1, 1, 0});
  const auto trace = [&](int seed) {
    return measure(metric("hessian"), with({{"seed", seed}, {"trace_samples", 11}}), kText,
                   model.subject())
        .details.at("trace");
  };
  CHECK(trace(1) == trace(1));
  CHECK((trace(1) != trace(2) || trace(1) != trace(3) || trace(1) != trace(4)));
}

TEST_CASE("sharpness: ascent step and critical step on an eigenvector", "[metrics][sharpness]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1, 1, 0});  // gradient 3 (1, 1, 0)
  const Measurement found = measure(metric("sharpness"), with({{"rho", 0.1}, {"tolerance", 1e-6}}),
                                    kText, model.subject());
  REQUIRE(found.message == "");
  REQUIRE(found.values.size() == 2);
  CHECK(found.values[0].value == Approx(0.3 * std::sqrt(2.0) + 0.015).epsilon(1e-10));
  CHECK(found.values[1].name == "critical");
  CHECK(found.values[1].value == Approx(3.0).epsilon(1e-5));
  CHECK(found.details.at("curvature_along_gradient") == Approx(3.0).epsilon(1e-8));
  CHECK(model.x == QuadraticModel::Vector{1, 1, 0});
}

TEST_CASE("sharpness: a loss that only falls has no critical step", "[metrics][sharpness]") {
  QuadraticModel model({{{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}}, {0, 0, 0}, {1, 1, 0});
  const Measurement found = measure(metric("sharpness"), with({}), kText, model.subject());
  REQUIRE(found.message == "");
  CHECK(found.values.size() == 1);
}

TEST_CASE("weights: norms, outliers and tails by hand", "[metrics][weights]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {3, -4, 2});
  const Measurement found =
      measure(metric("weights"), with({{"outlier", 1.0}}), kText, model.subject());
  REQUIRE(found.message == "");
  CHECK(found.values.at(0).value == Approx(std::sqrt(29.0)));
  CHECK(found.values.at(1).name == "gradient_norm");  // A x = (2, -5, 10)
  CHECK(found.values[1].value == Approx(std::sqrt(129.0)));
  const json& first = found.json.at("tensors").at("blocks.0.first");
  CHECK(first.at("l1") == 7.0);
  CHECK(first.at("l2") == 5.0);
  CHECK(first.at("linf") == 4.0);
  CHECK(first.at("kurtosis").get<double>() == Approx(1.0));
  CHECK(first.at("outliers") == 1.0);
  CHECK(first.at("peak").get<double>() == Approx(4.0 / std::sqrt(12.5)));
  CHECK(first.at("gradient_norm").get<double>() == Approx(std::sqrt(29.0)));
  CHECK(found.json.at("tensors").at("last").at("kurtosis").is_null());
  CHECK(found.json.at("matrices").at("elements") == 2.0);
  CHECK(found.items.at("l2").size() == 2);
}

TEST_CASE("weights: without a corpus no gradient is taken", "[metrics][weights]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {3, -4, 2});
  const Measurement found = measure(metric("weights"), json::object(), kText, model.subject());
  REQUIRE(found.message == "");
  CHECK(found.values.size() == 1);
  CHECK(model.gradients == 0);
}

TEST_CASE("taylor: a quadratic loss has no remainder", "[metrics][taylor]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1.5, 0, 1});
  MemorySource source;
  source.add("blocks.0.first", {2}, std::vector<double>{1, 0}, quench::kit::kFloat64);
  source.add("last", {1}, std::vector<double>{1}, quench::kit::kFloat64);
  const quench_weights weights = {sizeof weights, "float", "", NAN, NAN, source.source()};
  const Measurement found = measure(metric("taylor"), with({}), kText, model.subject(), {weights});
  REQUIRE(found.message == "");
  CHECK(found.values.at(0).value == Approx(0.25).epsilon(1e-14));
  CHECK(found.details.at("slope") == Approx(1.0).epsilon(1e-14));
  CHECK(found.details.at("change") == Approx(1.25).epsilon(1e-14));
  CHECK(found.details.at("remainder") == Approx(0.0).margin(1e-14));
  CHECK(found.details.at("relative_distance") == Approx(0.5 / std::sqrt(2.0)).epsilon(1e-14));
  CHECK(found.details.at("between") == Approx(0.0).margin(1e-14));
  const json& parts = found.json.at("parts");
  CHECK(parts.size() == 1);  // nothing changed in the other
  CHECK(parts.at("blocks.0.first").at("change").get<double>() == Approx(1.25).epsilon(1e-14));
  CHECK(parts["blocks.0.first"].at("relative_distance").get<double>() == Approx(0.5));
  CHECK(model.x == QuadraticModel::Vector{1.5, 0, 1});
  CHECK(model.open == 0);
}

TEST_CASE("taylor: without float weights it says so", "[metrics][taylor]") {
  QuadraticModel model(kMatrix, {0, 0, 0}, {1.5, 0, 1});
  const Measurement found = measure(metric("taylor"), with({}), kText, model.subject());
  CHECK(found.status == QUENCH_FAILED_PRECONDITION);
  CHECK(found.message == "wanted a quantized model and its float weights");
}
