// Curvature of trained models against the reference's: dense spectrum, Lanczos, exact trace.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

// The reference's rotary sines and cosines are float32 also in float64, from a vector library that
// is off by a last place (6e-8) here and there; ours are rounded from float64.
constexpr double kAngleRounding = 1e-7;      // relative, of an eigenvalue; 0.3e-7 seen
constexpr double kLossAngleRounding = 1e-9;  // relative; 4e-10 seen

nlohmann::json hessian(const std::string& model, const std::string& tokens,
                       const std::string& options, const std::string& threads) {
  return records_of(quench_json({"eval", model, "--metric",
                                 "hessian:tokens=" + tokens + "," + options, "--threads", threads}),
                    "hessian")
      .at(0);
}

}  // namespace

TEST_CASE("hessian: eigenvalues and trace are those of the dense matrix", "[regression][hessian]") {
  const auto folder = fixture("hessian/micro");
  const std::string dtype = GENERATE("float64", "float32");
  const nlohmann::json reference = read_json(folder / "reference.json");
  const nlohmann::json record =
      hessian(folder.string(), (folder / "reference.safetensors").string(),
              "top=5,trace_samples=100,seed=1,dtype=" + dtype, "2");
  const nlohmann::json& details = record.at("details");
  const double largest = reference.at("exact_top5").at(0);
  const double tolerance = dtype == "float64" ? kAngleRounding * largest : 1e-4;
  REQUIRE(details.at("eigenvalues").size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    const double wanted = reference.at("exact_top5").at(i);
    const double found = details.at("eigenvalues").at(i);
    const double residual = details.at("residuals").at(i);
    CHECK(std::abs(found - wanted) < tolerance);
    // Some eigenvalue lies within the residual of what is given.
    CHECK(std::abs(found - wanted) < residual + tolerance);
    CHECK(residual < 1e-3);
  }
  CHECK(record.at("value") == details.at("eigenvalues").at(0));
  CHECK(std::abs(details.at("trace").get<double>() - reference.at("exact_trace").get<double>()) <
        4.0 * details.at("trace_stderr").get<double>());
  CHECK(details.at("loss").get<double>() ==
        Approx(reference.at("loss").get<double>())
            .epsilon(dtype == "float64" ? kLossAngleRounding : 1e-6));
  double parts = 0;
  for (const auto& [name, part] : details.at("parts").items()) {
    parts += part.at("trace").get<double>();
  }
  CHECK(parts == Approx(details.at("trace").get<double>()).epsilon(1e-12));
}

TEST_CASE("hessian: a trained model's largest eigenvalues, the same bits for 1 and 2 threads",
          "[regression][hessian]") {
  const auto model = fixture("models/gpt_neox-small");
  const auto folder = fixture("hessian/gpt_neox-small");
  const std::string tokens = (folder / "reference.safetensors").string();
  const std::string options = "top=3,trace_samples=4,seed=1,dtype=float64";
  const nlohmann::json reference = read_json(folder / "reference.json");
  const nlohmann::json one = hessian(model.string(), tokens, options, "1").at("details");
  for (size_t i = 0; i < 3; ++i) {
    CHECK(one.at("eigenvalues").at(i).get<double>() ==
          Approx(reference.at("top5_eigenvalues").at(i).get<double>()).epsilon(kAngleRounding));
  }
  const nlohmann::json two = hessian(model.string(), tokens, options, "2").at("details");
  for (const char* name : {"eigenvalues", "residuals", "trace", "trace_stderr", "parts"}) {
    CHECK(one.at(name) == two.at(name));
  }
  const nlohmann::json power =
      hessian(model.string(), tokens,
              "top=1,trace_samples=0,seed=1,dtype=float64,method=power,tolerance=1e-6", "2")
          .at("details");
  // Two eigenvalues 5 % apart: power iteration is slow there, Lanczos is not.
  CHECK(power.at("products").get<double>() > one.at("products").get<double>());
}

TEST_CASE(
    "hessian: a model with rounded inputs, keys and values has one, the float model's if they "
    "are rotated and not rounded",
    "[regression][hessian]") {
  const auto folder = fixture("hessian/micro");
  const std::string tokens = (folder / "reference.safetensors").string();
  // Relative to the largest eigenvalue of the float model.
  const auto change = [&](const std::string& quantizer) {
    CAPTURE(quantizer);
    const auto records =
        records_of(quench_json({"eval", folder.string(), "--dtype", "float64", "--metric",
                                "hessian:tokens=" + tokens + ",top=1,trace_samples=0",
                                "--quantizer", quantizer, "--threads", "2"}),
                   "hessian");
    REQUIRE(records.size() == 2);
    REQUIRE(records.at(1).at("error").is_null());
    const double floating = records.at(0).at("value");
    return std::abs(records.at(1).at("value").get<double>() - floating) / floating;
  };
  CHECK(change("activations:activations=float,rotate=all") < 1e-6);
  for (const char* rounds : {"activations:activations=int8,cache=int8,cache_group_size=6",
                             "activations:activations=float,cache=int8,cache_group_size=6",
                             "rtn:bits=8,activations=int8,rotate=inner", "int8"}) {
    CAPTURE(rounds);
    const double found = change(rounds);
    CHECK(found > 1e-6);
    CHECK(found < 0.1);
  }
}

TEST_CASE("taylor: slope and curvature explain most of a fine rounding's loss",
          "[regression][taylor]") {
  const auto model = fixture("models/gpt_neox-small");
  const auto folder = fixture("hessian/gpt_neox-small");
  const auto records =
      records_of(quench_json({"eval", model.string(), "--metric",
                              "taylor:tokens=" + (folder / "reference.safetensors").string() +
                                  ",dtype=float64,parts=blocks",
                              "--quantizer", "rtn:bits=8,group_size=32"}),
                 "taylor");
  REQUIRE(records.size() == 1);  // of the quantized model alone
  const nlohmann::json& details = records.at(0).at("details");
  const double change = details.at("change");
  const double slope = details.at("slope");
  const double quadratic = details.at("quadratic");
  CHECK(details.at("remainder").get<double>() == Approx(change - slope - quadratic).margin(1e-15));
  CHECK(std::abs(change - slope - quadratic) < 0.05 * std::abs(change));
  CHECK(std::abs(quadratic) > 0);
  double slopes = 0;
  for (const auto& [name, part] : details.at("parts").items()) {
    slopes += part.at("slope").get<double>();
  }
  CHECK(slopes == Approx(slope).epsilon(1e-9));
}

}  // namespace quench::test
