#include "core/checkpoint/checkpoint_folder.hpp"

#include <catch2/catch.hpp>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::open_safetensors_folder;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

std::string one_tensor(const std::string& name) {
  return quench::test::safetensors(
      "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x");
}

}  // namespace

TEST_CASE("open_safetensors_folder: finds the config", "[core][checkpoint]") {
  const TemporaryDir folder;
  folder.write("model.safetensors", one_tensor("w"));
  CHECK(open_safetensors_folder(folder.path()).config_json.empty());
  folder.write("config.json", "{\"a\":1}");
  const auto bare = open_safetensors_folder(folder / "model.safetensors");
  CHECK(bare.config_json == "{\"a\":1}");
  CHECK(bare.path == folder.path());
  CHECK(bare.files == std::vector<std::filesystem::path>{folder / "model.safetensors"});
}

TEST_CASE("open_safetensors_folder: says what was looked for and what is there",
          "[core][checkpoint][bad]") {
  const TemporaryDir folder;
  const auto message = [&](const std::string& name) {
    return message_of([&] { open_safetensors_folder(folder / name); }, folder.path());
  };
  CHECK(message("no") == "no: no such checkpoint file or folder");
  folder.write("d/readme", "");
  CHECK(message("d") ==
        "d: no weights: looked for model.safetensors and model.safetensors.index.json; the folder "
        "has readme");
}
