#include "core/checkpoint/checkpoint_place.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::CheckpointPlace;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

// A call of the place's table: what it says, "" when it succeeds.
template <typename Call>
std::string said(const TemporaryDir& folder, Call call) {
  quench_error error{sizeof(quench_error), 0, {}};
  std::string message = call(&error) == QUENCH_OK ? "" : error.message;
  const std::string prefix = folder.path().string() + "/";
  const size_t at = message.find(prefix);
  return at == std::string::npos ? message : message.erase(at, prefix.size());
}

}  // namespace

TEST_CASE("CheckpointPlace: gives names and bytes, and notes the files that were asked for",
          "[core][checkpoint]") {
  const TemporaryDir folder;
  folder.write("b", "bytes");
  folder.write("a", "");
  folder.write("config.json", R"({"x": 1})");
  folder.write("sub/c", "");
  CheckpointPlace place(folder.path());
  const quench_place* table = place.get();
  REQUIRE(table->count(table) == 3);
  CHECK(std::string(table->name(table, 0)) == "a");
  CHECK(table->name(table, 3) == nullptr);
  CHECK(table->file == nullptr);
  CHECK(std::string(table->config_json, table->config_bytes) == R"({"x": 1})");
  uint64_t bytes = 0;
  quench_error error{sizeof(quench_error), 0, {}};
  REQUIRE(table->size(table, "b", &bytes, &error) == QUENCH_OK);
  CHECK(bytes == 5);
  place.note_files();
  CHECK(place.noted_files().empty());
  char out[3];
  REQUIRE(table->read(table, "b", 1, 3, out, &error) == QUENCH_OK);
  CHECK(std::string(out, 3) == "yte");
  CHECK(place.noted_files() == std::vector<fs::path>{folder / "b"});
}

TEST_CASE("CheckpointPlace: reads nothing outside the folder, and no byte that is not there",
          "[core][checkpoint][bad]") {
  const TemporaryDir folder;
  folder.write("outside", "secret");
  folder.write("in/b", "bytes");
  const CheckpointPlace place(folder / "in");
  const quench_place* table = place.get();
  const auto size = [&](const char* name) {
    return said(folder, [&](quench_error* error) {
      uint64_t bytes = 0;
      return table->size(table, name, &bytes, error);
    });
  };
  for (const char* name : {"../outside", "/etc/passwd", "", ".", "..", "a/../b", "x\n"}) {
    CAPTURE(name);
    CHECK_THAT(size(name), Catch::Contains("is no plain name of a file in this folder"));
  }
  CHECK_THAT(size("c"), Catch::Contains("has no file 'c'"));
  char out[8];
  CHECK(said(folder, [&](quench_error* error) {
          return table->read(table, "b", 3, 3, out, error);
        }) == "in/b: wanted 3 bytes at offset 3, the file has 5");
  quench_error error{sizeof(quench_error), 0, {}};
  CHECK(table->read(table, "b", UINT64_MAX, 2, out, &error) == QUENCH_DATA_LOSS);
  const quench_source* tensors = nullptr;
  CHECK(table->tensors(table, &tensors, &error) == QUENCH_NOT_FOUND);
}

TEST_CASE("CheckpointPlace: a file that changes under the reader is data loss",
          "[core][checkpoint][bad]") {
  const TemporaryDir folder;
  folder.write("b", "bytes");
  const CheckpointPlace place(folder / "b");
  const quench_place* table = place.get();
  CHECK(std::string(table->file) == "b");
  quench_error error{sizeof(quench_error), 0, {}};
  char out[5];
  REQUIRE(table->read(table, "b", 0, 5, out, &error) == QUENCH_OK);
  std::ofstream(folder / "b", std::ios::trunc) << "by";
  CHECK(table->read(table, "b", 0, 5, out, &error) == QUENCH_DATA_LOSS);
}

TEST_CASE("CheckpointPlace: says whether weights are quantized, and can hide it",
          "[core][checkpoint]") {
  const TemporaryDir folder;
  CHECK_FALSE(CheckpointPlace(folder.path()).is_quantized());
  folder.write("config.json", R"({"quantization_config": null})");
  CHECK_FALSE(CheckpointPlace(folder.path()).is_quantized());
  folder.write("config.json", R"({"quantization_config": {}})");
  CheckpointPlace place(folder.path());
  CHECK(place.is_quantized());
  place.hide_config();
  CHECK(place.get()->config_bytes == 0);
  CHECK(place.names().empty());
  folder.write("config.json", "{}");
  folder.write("quantize_config.json", "{}");
  CHECK(CheckpointPlace(folder.path()).is_quantized());
  folder.write("config.json", "{");
  std::filesystem::remove(folder / "quantize_config.json");
  CHECK_THAT(message_of([&] { static_cast<void>(CheckpointPlace(folder.path()).is_quantized()); }),
             Catch::Contains("config.json:1:1: invalid JSON"));
}
