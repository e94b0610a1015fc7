// Against transformers' own OLMoE on two small random models: tests/data/olmoe_reference.py.
#include <ATen/ops/sort.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "quench/kit/scalar.hpp"
#include "quench/kit/source.hpp"
#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// One model of the file: what it was made of and what the reference gave.
struct Reference {
  explicit Reference(const std::string& name) {
    const auto notes =
        nlohmann::json::parse(read_file(source_dir() / "tests/data/olmoe_reference.json"));
    config = notes.at(name).at("config").dump();
    MemorySource all;
    all.add_safetensors(source_dir() / "tests/data/olmoe_reference.safetensors");
    const kit::Source names(*all.source());
    for (uint64_t i = 0; i < names.count(); ++i) {
      const std::string full = names.info(i).name;
      if (full.starts_with(name + "/")) {
        const std::string own = full.substr(name.size() + 1);
        const bool weight = own.ends_with(".weight");
        (weight ? weights : results)
            .add(own, all.shape(full), all.values(full),
                 weight                       ? kit::kFloat16
                 : own.starts_with("ids")     ? kit::kInt32
                 : own.starts_with("experts") ? kit::kInt32
                                              : kit::kFloat64);
      }
    }
    const std::vector<double> ids = results.values("ids");
    tokens = {2, 24, {ids.begin(), ids.end()}};
  }

  std::string config;
  MemorySource weights;
  MemorySource results;
  Tokens tokens{};
};

}  // namespace

TEST_CASE("olmoe: logits and blocks are the reference's", "[models][olmoe]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const Reference reference(name);
  struct Case {
    quench_dtype dtype;
    double tolerance;  // the reference itself is float32 in norms, softmax and angles
  };
  for (const auto& [dtype, tolerance] : {Case{kit::kFloat64, 5e-6}, Case{kit::kFloat32, 2e-5}}) {
    CAPTURE(kit::name_of(dtype));
    ModelDriver driver(reference.config, reference.weights, dtype);
    std::vector<at::Tensor> outputs;
    const at::Tensor h = driver.forward(reference.tokens, Storage::kShared, &outputs);
    CHECK(distance(doubles(driver.logits(h)), reference.results.values("logits")) < tolerance);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(distance(doubles(outputs[i]), reference.results.values("block." + std::to_string(i))) <
            tolerance);
    }
  }
}

TEST_CASE("olmoe: every token goes to the reference's experts", "[models][olmoe]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const Reference reference(name);
  ModelDriver driver(reference.config, reference.weights, kit::kFloat32);
  at::Tensor h = driver.embed(reference.tokens);
  for (uint32_t block = 0; block < 2; ++block) {
    at::Tensor experts;
    h = driver.run_block(block, reference.tokens, h, Storage::kSeparate,
                         [&](uint32_t stage, const std::vector<at::Tensor>& carried) {
                           if (stage == 2) {
                             experts = std::get<0>(carried[2].view({48, -1}).sort(1));
                           }
                         });
    CHECK(doubles(experts) == reference.results.values("experts." + std::to_string(block)));
  }
}

}  // namespace quench::test
