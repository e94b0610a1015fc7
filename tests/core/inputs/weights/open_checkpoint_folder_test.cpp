#include "core/inputs/weights/open_checkpoint_folder.hpp"

#include <catch2/catch.hpp>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

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

quench::CheckpointFolder open(const std::filesystem::path& path) {
  return quench::open_checkpoint_folder(quench::test::built_catalog(), path);
}

}  // namespace

TEST_CASE("open_checkpoint_folder: takes the forms in order of preference", "[core][run]") {
  const TemporaryDir folder;
  const auto name = [&] { return open(folder.path()).source->info(0).name; };
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
  CHECK(open(folder.path()).files.size() == 2);
  folder.write("model.safetensors", one_tensor("single"));
  CHECK(name() == "single");
}

TEST_CASE("open_checkpoint_folder: says what was looked for, what is there, and what formats say",
          "[core][run][bad]") {
  const TemporaryDir folder;
  const auto message = [&](const std::string& name) {
    return message_of([&] { open(folder / name); }, folder.path());
  };
  CHECK(message("no") == "no: no such checkpoint file or folder");
  folder.write("d/config.json", "{}");
  folder.write("d/readme", "");
  CHECK_THAT(message("d"),
             Catch::StartsWith("d: no weights: looked for model.safetensors, "
                               "model.safetensors.index.json and what formats read (") &&
                 Catch::Contains("torch") &&
                 Catch::EndsWith("); the folder has config.json, readme"));
  folder.write("lora/config.json", "{}");
  folder.write("lora/adapter_config.json", "{}");
  folder.write("lora/adapter_model.safetensors", "");
  CHECK_THAT(message("lora"),
             Catch::EndsWith("; it is an adapter (LoRA): merge it into its model first"));
  CHECK_THAT(message("d/config.json"), Catch::EndsWith("; wanted its folder"));
  folder.write("two/a.pth", "");
  folder.write("two/b.pth", "");
  CHECK_THAT(message("two"),
             Catch::EndsWith("; torch: 2 files end in .pth or .pt (a.pth, b.pth): name the one "
                             "that is meant"));
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
  for (const char* name : {"lfs/pytorch_model.bin", "lfs/model.safetensors"}) {
    folder.write(name, pointer);
    CHECK(message("lfs") ==
          name +
              std::string(": a Git LFS pointer, not the file itself; `git lfs pull` fetches it"));
  }
  folder.write("odd/weights.xyz", "some bytes");
  CHECK_THAT(message("odd/weights.xyz"),
             Catch::StartsWith("odd/weights.xyz: no safetensors file, and no format reads it"));
}

TEST_CASE(
    "open_checkpoint_folder: codes of 8 bits are no weights where no config tells their scales",
    "[core][run][bad]") {
  const TemporaryDir folder;
  folder.write("model.safetensors",
               quench::test::safetensors(
                   R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1"));
  folder.write("config.json", "{}");
  CHECK(message_of([&] { open(folder.path()); }, folder.path()) ==
        "model.safetensors: tensor 'w' is F8_E4M3, and no quantization_config says its scale; if "
        "it has none, cast it in Python, value.to(torch.bfloat16), and save again");
}

TEST_CASE("open_checkpoint_folder: a container is no format of its own where codes lie in it",
          "[core][run]") {
  const TemporaryDir folder;
  folder.write("pytorch_model.bin", one_torch_tensor("w"));
  folder.write("config.json", R"({"quantization_config":{"quant_method":"unheard-of"}})");
  CHECK_THAT(message_of([&] { open(folder.path()); }),
             Catch::Contains("in a way that no format reads"));
  // The GPTQ reader gets the archive's tensors: it says what it misses among them.
  folder.write("config.json",
               R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":-1}})");
  CHECK_THAT(message_of([&] { open(folder.path()); }),
             Catch::StartsWith("format gptq: ") && Catch::Contains("no tensor ends in .qweight"));
}

TEST_CASE("open_checkpoint_folder: files of a checkpoint are those that its format asked for",
          "[core][run]") {
  const TemporaryDir folder;
  folder.write("x.pth", one_torch_tensor("w"));
  folder.write("beside.txt", "");
  const quench::CheckpointFolder checkpoint = open(folder.path());
  CHECK(checkpoint.files == std::vector<std::filesystem::path>{folder / "x.pth"});
  CHECK(checkpoint.quantization.is_null());
  const std::string key = reading_key(quench::test::built_catalog(), folder.path());
  CHECK_FALSE(key.empty());
  quench::CatalogOptions options = quench::test::built_catalog().options();
  options.search_path = {quench::test::binary_dir() / "template"};
  CHECK(reading_key(quench::Catalog(options), folder.path()) != key);  // other formats
  folder.write("model.safetensors", one_tensor("w"));
  CHECK(reading_key(quench::test::built_catalog(), folder.path()).empty());
}
