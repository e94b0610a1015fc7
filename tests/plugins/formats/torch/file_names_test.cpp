#include "formats/torch/file_names.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/handles/format_handle.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

TEST_CASE("torch: file names tell step and tokens", "[formats][torch]") {
  struct Case {
    std::string name;
    int64_t step;
    int64_t tokens;
  };
  const auto [name, step, tokens] =
      GENERATE(values<Case>({{"ckpt_step_100.pth", 100, -1},
                             {"step1000-tokens20B.pth", 1000, 20'000'000'000},
                             {"model_tokens-3M.pt", -1, 3'000'000},
                             {"checkpoint-7.pth", 7, -1},
                             {"iter_0000250.pt", 250, -1},
                             {"run2_step_5.pth", 5, -1},
                             {"epoch3.pth", 3, -1},
                             {"a1b2.pth", -1, -1},
                             {"final.pth", -1, -1},
                             {"step99999999999999999999.pth", -1, -1}}));
  CAPTURE(name);
  CHECK(formats::entry_of(name).step == step);
  CHECK(formats::entry_of(name).tokens == tokens);
}

TEST_CASE("torch: a folder of a training loop lists its checkpoints by step", "[formats][torch]") {
  const FormatHandle torch(built_catalog(), built_catalog().require("format", "torch"));
  const TemporaryDir folder;
  folder.write("ckpt_step_20.pth", "");
  const auto names = [&] {
    std::vector<std::string> out;
    for (const PlacedCheckpoint& entry : torch.list(CheckpointPlace(folder.path()))) {
      out.push_back(entry.name + " " + std::to_string(entry.step));
    }
    return out;
  };
  CHECK(names().empty());  // one checkpoint
  folder.write("ckpt_step_100.pth", "");
  folder.write("ckpt_step_3.pth", "");
  folder.write("notes.txt", "");
  CHECK(names() == std::vector<std::string>{"ckpt_step_3.pth 3", "ckpt_step_20.pth 20",
                                            "ckpt_step_100.pth 100"});
  folder.write("pytorch_model.bin", "");
  CHECK(names().empty());
}

}  // namespace quench::test
