// Trained models against the reference's numbers.
#include <catch2/catch.hpp>

#include "core/checkpoint/abi_source.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/model_driver.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// Implementations of the same float32 forward differ by about 1e-5 in a logit.
constexpr double kTolerance = 2e-5;

Tokens tokens_of(const MemorySource& reference) {
  const std::vector<int64_t> shape = reference.shape("input_ids");
  const std::vector<double> ids = reference.values("input_ids");
  return {shape[0], shape[1], {ids.begin(), ids.end()}};
}

// Losses [B, T-1] of a [B, T] list whose row ends are not scored.
std::vector<double> without_ends(const std::vector<double>& nll, int64_t length) {
  std::vector<double> kept;
  for (size_t n = 0; n < nll.size(); ++n) {
    if ((static_cast<int64_t>(n) + 1) % length != 0) {
      kept.push_back(nll[n]);
    }
  }
  return kept;
}

}  // namespace

TEST_CASE("gpt_neox: trained models give the reference's numbers", "[models][gpt_neox]") {
  const std::string name =
      GENERATE("models/gpt_neox-small", "models/gpt_neox-seq", "trajectories/gpt_neox-traj/step0",
               "trajectories/gpt_neox-traj/step1200");
  const auto folder = fixture(name);
  CAPTURE(name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  const AbiSource source(checkpoint.source);
  MemorySource reference;
  reference.add_safetensors(folder / "reference.safetensors");
  ModelDriver driver(checkpoint.config_json, source.get(), kit::kFloat32);
  const Tokens tokens = tokens_of(reference);
  std::vector<at::Tensor> outputs;
  const at::Tensor h = driver.forward(tokens, Storage::kShared, &outputs);
  CHECK(distance(doubles(driver.logits(h)), reference.values("logits")) < kTolerance);
  CHECK(distance(without_ends(driver.next_id_nll(tokens), tokens.length), reference.values("nll")) <
        kTolerance);
  if (name != "trajectories/gpt_neox-traj/step0") {
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(distance(doubles(outputs[i]), reference.values("block_output." + std::to_string(i))) <
            kTolerance);
    }
  }
}

}  // namespace quench::test
