// The quickstart's trajectory must show what the quickstart is about.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/round.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/support/temporary.hpp"
#include "tools/quickstart_trajectory/text.hpp"
#include "tools/quickstart_trajectory/trajectory.hpp"

namespace {

// Rounds the matrices of the blocks to a grid of 2^bits points between each row's extremes.
void round_weights(const quickstart::Transformer& model, int bits) {
  const at::NoGradGuard no_gradients;
  const double top = (1 << bits) - 1;
  for (const quickstart::Parameter& parameter : model.parameters()) {
    if (parameter.value.dim() == 2 && parameter.name.find(".layers.") != std::string::npos) {
      at::Tensor w = parameter.value;
      const at::Tensor low = w.amin({1}, true);
      const at::Tensor scale = (w.amax({1}, true) - low) / top;
      w.copy_(((w - low) / scale).round().clamp(0, top) * scale + low);
    }
  }
}

}  // namespace

TEST_CASE("quickstart: the training run learns, and three bits hurt more than four", "[tools]") {
  const quench::test::TemporaryDir temporary;
  const auto folder = temporary / "trajectory";
  const quickstart::Transformer model = quickstart::train(folder);
  const quickstart::Text text = quickstart::read_text(QUENCH_TEXT_FOLDER);
  CHECK(text.training.find(text.validation.substr(0, 400)) == std::string::npos);
  CHECK(quench::test::read_file(folder / "validation.txt") == text.validation);

  const double trained = quickstart::validation_loss(model, text.validation);
  CHECK(trained < 2.2);  // ln 256 = 5.5 untrained; about 3.3 for the frequencies of bytes alone
  std::vector<at::Tensor> kept;
  for (const quickstart::Parameter& parameter : model.parameters()) {
    kept.push_back(parameter.value.detach().clone());
  }
  round_weights(model, 4);
  const double four_bits = quickstart::validation_loss(model, text.validation);
  for (size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(model.parameters()[i].value.data_ptr(), kept[i].data_ptr(), kept[i].nbytes());
  }
  round_weights(model, 3);
  const double three_bits = quickstart::validation_loss(model, text.validation);
  CAPTURE(trained, four_bits, three_bits);
  CHECK(four_bits > trained);
  CHECK(three_bits > trained + 0.02);
  CHECK(three_bits > four_bits);

  for (const char* step : {"step80", "step160", "step240", "step320", "step360", "step400"}) {
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      CHECK(std::filesystem::file_size(folder / step / file) > 0);
    }
  }
  CHECK_THROWS_WITH(quickstart::train(folder), Catch::Contains("already there"));
}
