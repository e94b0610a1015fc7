// Files that end too soon, wherever that is: an error that names the file, never less data.
#include <catch2/catch.hpp>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

using quench::test::TemporaryDir;

namespace {

std::filesystem::path data() {
  return quench::test::source_dir() / "tests/data/training_checkpoint";
}

// Opens what is left of `content` when it is cut after each `step`-th byte, under that name.
void check_cuts(const TemporaryDir& folder, const std::string& name, const std::string& content,
                size_t step) {
  const auto open = [&](size_t size) {
    const auto path = folder.write(name, content.substr(0, size));
    return quench::test::format_message_of(
        [&] { quench::open_checkpoint_folder(quench::test::built_catalog(), path); },
        folder.path());
  };
  CHECK(open(content.size()).empty());
  for (size_t size = 0; size < content.size(); size += step) {
    const std::string message = open(size);
    INFO(name << " cut to " << size << " bytes: " << message);
    CHECK_THAT(message, Catch::StartsWith(name + ":"));
  }
  CHECK_THAT(open(content.size() - 1), Catch::StartsWith(name + ":"));
}

}  // namespace

TEST_CASE("safetensors: cut anywhere it is refused", "[formats][torch][bad]") {
  const TemporaryDir folder;
  check_cuts(folder, "model.safetensors",
             quench::test::read_file(data() / "plain/model.safetensors"), 7);
}

TEST_CASE("torch archive: cut anywhere it is refused", "[formats][torch][bad]") {
  const TemporaryDir folder;
  check_cuts(folder, "step10.pth", quench::test::read_file(data() / "step10.pth"), 31);
}

TEST_CASE("index of shards: cut anywhere it is refused", "[formats][torch][bad]") {
  const TemporaryDir folder;
  folder.write(
      "a.safetensors",
      quench::test::safetensors(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  check_cuts(folder, "model.safetensors.index.json",
             R"({"metadata": {"total_size": 1}, "weight_map": {"w": "a.safetensors"}})", 1);
}

TEST_CASE("training checkpoint: holds the weights under their own names, tied, and nothing else",
          "[formats][torch]") {
  const auto trained =
      quench::open_checkpoint_folder(quench::test::built_catalog(), data() / "step10.pth");
  const auto plain =
      quench::open_checkpoint_folder(quench::test::built_catalog(), data() / "plain");
  CHECK(trained.config_json.empty());
  REQUIRE(trained.source->count() == plain.source->count() + 1);
  for (uint64_t i = 0; i < plain.source->count(); ++i) {
    const quench::TensorInfo& info = plain.source->info(i);
    INFO(info.name);
    CHECK(read_float32(*trained.source, trained.source->index_of(info.name)) ==
          read_float32(*plain.source, i));
  }
  const auto& head = trained.source->info(trained.source->index_of("lm_head.weight"));
  CHECK(head.shared_with == trained.source->index_of("model.embed_tokens.weight"));
}
