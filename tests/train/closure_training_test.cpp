// Trainings whose optimizer chooses where the gradient is taken.
#include <catch2/catch.hpp>

#include "core/plugin/services/host_services.hpp"
#include "tests/support/temporary.hpp"
#include "tests/train/small_training.hpp"

using quench::HostServices;
using quench::test::SmallSettings;
using quench::test::SmallTraining;
using quench::test::TemporaryDir;

namespace {

using Outputs = std::map<std::string, std::string>;

SmallSettings settings_of(const std::string& optimizer, const nlohmann::json& parameters = {}) {
  SmallSettings out;
  out.optimizer = optimizer;
  out.optimizer_parameters = parameters.is_null() ? nlohmann::json::object() : parameters;
  out.averages = "none";
  out.forks = false;
  return out;
}

// The weights of all checkpoints and the optimizer's state, as bytes.
Outputs outputs_of(const SmallSettings& settings, uint32_t threads = 1) {
  HostServices& services = HostServices::instance();
  const uint32_t before = services.threads();
  services.set_threads(threads);
  const TemporaryDir home;
  SmallTraining training(home / "h", settings);
  const bool finished = training.run();
  services.set_threads(before);
  REQUIRE(finished);
  return training.outputs();
}

}  // namespace

TEST_CASE("closure training: two seeds repeat to the bit on one and on two threads", "[train]") {
  SmallSettings settings = settings_of(GENERATE("sam", "trace_penalty", "noise_injection", "qat"));
  CAPTURE(settings.optimizer);
  Outputs first;
  for (const uint64_t seed : {0u, 1u}) {
    settings.seed = seed;
    const Outputs one = outputs_of(settings, 1);
    CHECK((outputs_of(settings, 1) == one));
    CHECK((outputs_of(settings, 2) == one));
    CHECK((one != first));
    first = one;
  }
}

TEST_CASE("closure training: stopped between two steps it goes on with the same bits", "[train]") {
  const SmallSettings settings =
      settings_of(GENERATE("sam", "trace_penalty", "noise_injection", "qat"));
  CAPTURE(settings.optimizer);
  const Outputs undisturbed = outputs_of(settings);
  const TemporaryDir home;
  SmallTraining training(home / "h", settings);
  CHECK_FALSE(training.run(3));
  CHECK_FALSE(training.run(4));
  CHECK(training.run());
  CHECK(training.has_said("continuing from step 7 of 12"));
  CHECK((training.outputs() == undisturbed));
}

TEST_CASE(
    "closure training: a fork's own optimizer takes over the moments and goes on after a stop",
    "[train]") {
  SmallSettings settings;
  const auto trained = [](const SmallSettings& wanted) {
    const TemporaryDir home;
    SmallTraining training(home / "h", wanted);
    CHECK(training.run());
    return training.outputs();
  };
  const Outputs plain = trained(settings);
  settings.fork_optimizer = "sam";
  settings.fork_parameters = {{"rho", 0}};
  // Without a neighbour sam is adamw, so all bytes are the same, those of the moments too.
  const Outputs still = trained(settings);
  CHECK(still.at("fork 10") == plain.at("fork 10"));
  CHECK(still.at("fork optimizer") == plain.at("fork optimizer"));
  settings.fork_parameters = {{"rho", 0.1}};
  const Outputs flat = trained(settings);
  CHECK(flat.at("trunk 12") == plain.at("trunk 12"));
  CHECK(flat.at("fork 10") != plain.at("fork 10"));

  const TemporaryDir home;
  SmallTraining training(home / "h", settings);
  CHECK_FALSE(training.run(14));  // 12 steps of the run and 2 of the fork
  CHECK(training.run());
  CHECK(training.has_said("training of fork: continuing from step 8 of 10"));
  CHECK((training.outputs() == flat));
}

TEST_CASE("closure training: without a perturbation it is adamw, and with one it is not",
          "[train]") {
  const auto [optimizer, off, on] = GENERATE(table<std::string, nlohmann::json, nlohmann::json>({
      {"sam", {{"rho", 0}}, {{"rho", 0.05}}},
      {"sam", {{"rho", 0}}, {{"rho", 0.05}, {"direction", "descent"}}},
      {"trace_penalty", {{"strength", 0}}, {{"strength", 1e-4}}},
      {"noise_injection", {{"sigma", 0}}, {{"sigma", 0.05}}},
  }));
  CAPTURE(optimizer);
  const Outputs plain = outputs_of(settings_of("adamw"));
  CHECK((outputs_of(settings_of(optimizer, off)) == plain));
  CHECK((outputs_of(settings_of(optimizer, on)) != plain));
}

TEST_CASE("closure training: the log has the loss of the weights that were evaluated first",
          "[train]") {
  const auto first_loss = [](const std::string& optimizer) {
    const TemporaryDir home;
    SmallTraining training(home / "h", settings_of(optimizer));
    REQUIRE(training.run());
    return training.logs().at(0).at("loss").get<double>();
  };
  const double plain = first_loss("adamw");
  CHECK(first_loss("sam") == plain);
  CHECK(first_loss("trace_penalty") == plain);
  CHECK(first_loss("qat") != plain);  // of the rounded weights
  CHECK(first_loss("qat") == Approx(plain).epsilon(0.01));
}
