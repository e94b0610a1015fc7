#include "core/checkpoint/checkpoint_folder.hpp"

#include <catch2/catch.hpp>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::open_checkpoint_folder;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace p = quench::test::pickle;

namespace {

std::string one_tensor(const std::string& name) {
  return quench::test::safetensors(
      "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x");
}

std::string one_torch_tensor(const std::string& name) {
  return quench::test::torch_file(
      p::dict({p::text(name), p::tensor(p::storage("ByteStorage", "0", 1), 0, {1}, {1})}), {"x"});
}

}  // namespace

TEST_CASE("open_checkpoint_folder: takes the forms in order of preference", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto name = [&] { return open_checkpoint_folder(folder.path()).source->info(0).name; };
  folder.write("x.pth", one_torch_tensor("pth"));
  CHECK(name() == "pth");
  folder.write("part.bin", one_torch_tensor("bin_index"));
  folder.write("pytorch_model.bin.index.json", R"({"weight_map":{"bin_index":"part.bin"}})");
  CHECK(name() == "bin_index");
  folder.write("pytorch_model.bin", one_torch_tensor("bin"));
  CHECK(name() == "bin");
  folder.write("part.safetensors", one_tensor("index"));
  folder.write("model.safetensors.index.json", R"({"weight_map":{"index":"part.safetensors"}})");
  CHECK(name() == "index");
  CHECK(open_checkpoint_folder(folder.path()).files.size() == 2);
  folder.write("model.safetensors", one_tensor("single"));
  CHECK(name() == "single");
}

TEST_CASE("open_checkpoint_folder: finds the config", "[core][checkpoint]") {
  const TemporaryDir folder;
  folder.write("model.safetensors", one_tensor("w"));
  CHECK(open_checkpoint_folder(folder.path()).config_json.empty());
  folder.write("config.json", "{\"a\":1}");
  const auto bare = open_checkpoint_folder(folder / "model.safetensors");
  CHECK(bare.config_json == "{\"a\":1}");
  CHECK(bare.path == folder.path());
  CHECK(bare.files == std::vector<std::filesystem::path>{folder / "model.safetensors"});
}

TEST_CASE("open_checkpoint_folder: says what was looked for and what is there",
          "[core][checkpoint][bad]") {
  const TemporaryDir folder;
  const auto message = [&](const std::string& name) {
    return message_of([&] { open_checkpoint_folder(folder / name); }, folder.path());
  };
  CHECK(message("no") == "no: no such checkpoint file or folder");
  folder.write("d/config.json", "{}");
  folder.write("d/readme", "");
  CHECK(message("d") ==
        "d: no weights: looked for model.safetensors, model.safetensors.index.json, "
        "pytorch_model.bin, pytorch_model.bin.index.json and one *.pth; the folder has "
        "config.json, readme");
  folder.write("two/a.pth", "");
  folder.write("two/b.pth", "");
  CHECK(message("two") == "two: 2 files end in .pth (a.pth, b.pth): name the one that is meant");
  std::filesystem::create_directories(folder / "bad/model.safetensors");
  CHECK(message("bad") == "bad/model.safetensors: not a regular file");
}
