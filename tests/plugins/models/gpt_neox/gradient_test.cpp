#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

const InstalledHost host;

}  // namespace

TEST_CASE("gpt_neox: gradients are those of central differences", "[models][gpt_neox]") {
  TinyModel model;
  SECTION("parallel") {}
  SECTION("sequential, tied, without attention's biases") {
    model.parallel = false;
    model.tied = true;
    model.attention_bias = false;
  }
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  Tokens tokens = some_tokens(model, 2, 9);
  differentiates(model.config(), source, tokens);
  tokens.segments = {1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 1, 1, 2, 2, 2, -1};
  tokens.positions = {0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 3, 4, 5, 0};
  differentiates(model.config(), source, tokens);
}

TEST_CASE("gpt_neox: the number of threads changes no bit of a gradient", "[models][gpt_neox]") {
  TinyModel model;
  model.width = 96;
  model.inner = 256;
  model.vocabulary = 700;
  model.positions = 512;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  same_for_threads(model.config(), source, some_tokens(model, 3, 400));
}

TEST_CASE("gpt_neox: a model without a checkpoint is drawn as in the reference",
          "[models][gpt_neox]") {
  nlohmann::json config = nlohmann::json::parse(TinyModel{}.config());
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("gpt_neox: a gradient refuses what has none", "[models][gpt_neox]") {
  TinyModel model;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat32);
  const Tokens tokens = some_tokens(model, 1, 5);
  std::vector<int32_t> targets = next_ids(tokens);
  const at::Tensor vector = driver.parameters().to(at::kFloat);
  SECTION("a vector of another length") {
    CHECK_THROWS_WITH(driver.gradient(tokens, targets, vector.narrow(0, 1, vector.numel() - 1)),
                      Catch::StartsWith("gradient: float32 ["));
  }
  SECTION("a vector of another type") {
    CHECK_THROWS_WITH(driver.gradient(tokens, targets, driver.parameters()),
                      Catch::StartsWith("gradient: float64 ["));
  }
  SECTION("a target outside the vocabulary") {
    targets[1] = static_cast<int32_t>(model.vocabulary);
    CHECK_THROWS_WITH(driver.gradient(tokens, targets, vector),
                      "targets: token 1: got 37, wanted -1..36");
  }
  SECTION("a linear with a replacement") {
    quench_linear_op op{sizeof op, nullptr,
                        [](void*, const quench_tensor*, const quench_tensor*, void*,
                           quench_error*) noexcept -> quench_status { return QUENCH_OK; },
                        nullptr};
    driver.set_linear_op(1, 0, 0, &op);
    CHECK_THROWS_WITH(driver.gradient(tokens, targets, vector),
                      "a linear with a replacement has no derivative");
  }
  SECTION("weights that are no numbers") {
    driver.set_parameters(driver.parameters().mul(std::nan("")));
    CHECK_THROWS_WITH(driver.gradient(tokens, targets, vector), Catch::Contains("loss"));
  }
}

}  // namespace quench::test
