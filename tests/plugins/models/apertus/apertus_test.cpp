#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/family_checks.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

TinyLlama apertus() {
  TinyLlama model;
  model.model_type = "apertus";
  model.kv_heads = 2;
  model.head_norm = model.head;
  model.attention_norm = "attention_layernorm";
  model.mlp_norm = "feedforward_layernorm";
  model.xielu = true;
  model.llama3 = true;
  model.theta = 100.0;
  model.more = {{"hidden_act", "xielu"}, {"qk_norm", true}, {"post_norm", false}};
  return model;
}

}  // namespace

TEST_CASE("apertus: a trained model gives the reference's numbers", "[models][apertus]") {
  matches_reference("apertus");
}

TEST_CASE("apertus: 16 bits are as far from float32 as in the reference", "[models][apertus]") {
  matches_reference_in_16_bits("apertus");
}

TEST_CASE("apertus: the forward is that of plain float64 loops", "[models][apertus]") {
  TinyLlama model = apertus();
  SECTION("as published") {}
  SECTION("with a key head for each query head and no rotary scaling") {
    model.kv_heads = 4;
    model.llama3 = false;
    model.theta = 1.2e7;
  }
  SECTION("with an MLP as wide as the stream") {
    model.inner = 24;
  }
  SECTION("with constants of xIELU of its own") {
    model.xielu_beta = 0.75;
    model.xielu_eps = -0.25;
  }
  matches_plain_loops(model);
}

TEST_CASE("apertus: the epsilon of the norms is the config's", "[models][apertus]") {
  reads_its_epsilon(apertus());
}

TEST_CASE("apertus: configs that the library saved are understood", "[models][apertus]") {
  TinyLlama model = apertus();
  model.blocks = 4;
  reads_saved_configs(model);
}

TEST_CASE("apertus: a config without rotary scaling has none", "[models][apertus]") {
  TinyLlama model = apertus();
  model.llama3 = false;  // rope_scaling null; the library's 5.x would put its default there
  model.theta = 500.0;
  matches_plain_loops(model);
}

TEST_CASE("apertus: shared key heads and xIELU absorb no scale", "[models][apertus]") {
  TinyLlama model = apertus();
  SECTION("as published") {
    absorbs_scales(model, {1, 0, 1, 0});
  }
  SECTION("with a key head for each query head") {
    model.kv_heads = 4;
    absorbs_scales(model, {1, 1, 1, 0});
  }
}

TEST_CASE("apertus: a tied head is the embedding", "[models][apertus]") {
  ties_its_head(apertus());
}

TEST_CASE("apertus: the constants of xIELU are those of the file", "[models][apertus]") {
  TinyLlama model = apertus();
  model.draw();
  MemorySource source;
  model.store(source);
  const std::vector<double> wanted = logits_of(model, model.config(), source);
  const std::string at = "model.layers.1.mlp.act_fn.";
  SECTION("the usual ones, as a scalar or a list of one") {
    source.add(at + "beta", {}, std::vector<double>{0.5}, kit::kBFloat16);
    source.add(at + "eps", {1}, std::vector<double>{-1e-6}, kit::kFloat32);
    CHECK(differences(logits_of(model, model.config(), source), wanted) == "");
  }
  SECTION("another beta") {
    source.add(at + "beta", {}, std::vector<double>{0.75}, kit::kFloat32);
    CHECK(distance(logits_of(model, model.config(), source), wanted) > 1e-3);
  }
  SECTION("two numbers") {
    source.add(at + "beta", {2}, std::vector<double>{0.5, 0.5}, kit::kFloat32);
    CHECK_THROWS_WITH(logits_of(model, model.config(), source),
                      Catch::Contains("act_fn.beta: wanted one floating-point number"));
  }
  SECTION("no number") {
    source.add(at + "eps", {}, std::vector<double>{std::nan("")}, kit::kFloat32);
    CHECK_THROWS_WITH(logits_of(model, model.config(), source), Catch::Contains("act_fn.eps = "));
  }
}

TEST_CASE("apertus: setting an alpha changes the activation", "[models][apertus]") {
  TinyLlama model = apertus();
  model.draw();
  MemorySource source;
  model.store(source);
  ModelDriver driver(model.config().dump(), source, kit::kFloat64);
  const std::string name = "model.layers.0.mlp.act_fn.alpha_n";
  driver.set_weight(name, at::full({1}, 0.5, at::TensorOptions(at::kDouble)));
  model.weights[name] = {0.5};
  const Tokens tokens = model.some_tokens(2, 7);
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))), model.logits(tokens)) < 1e-5);
}

TEST_CASE("apertus: a config that cannot be is refused by key", "[models][apertus]") {
  const TinyLlama model = apertus();
  refuses(model, "hidden_act", "silu", "hidden_act silu, wanted xielu");
  refuses(model, "qk_norm", false, "qk_norm false");
  refuses(model, "post_norm", true, "post_norm true");
  refuses(model, "mlp_bias", true, "mlp_bias true");
  requires_key(model, "rope_theta");
  requires_key(model, "rope_scaling");
}

TEST_CASE("apertus: gradients are those of central differences", "[models][apertus]") {
  differentiates(apertus());
}

TEST_CASE("apertus: the number of threads changes no bit", "[models][apertus]") {
  same_for_threads(apertus());
}

TEST_CASE("apertus: a model without a checkpoint is drawn as in the reference",
          "[models][apertus]") {
  nlohmann::json config = apertus().config();
  config["initializer_range"] = 0.05;
  initializes(config.dump());
}

TEST_CASE("apertus: libtorch alone, as on a GPU, gives plain loops and differences",
          "[models][apertus]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  SECTION("forward") {
    matches_plain_loops(apertus());
  }
  SECTION("derivatives") {
    differentiates(apertus());
  }
}

TEST_CASE("apertus: an op changes its keys and values", "[models][apertus]") {
  lets_an_op_change_keys_and_values(apertus());
}

}  // namespace quench::test
