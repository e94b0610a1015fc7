#include "core/checkpoint/safetensors_writer.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::SafetensorsSource;
using quench::SafetensorsWriter;
using quench::test::message_of;
using quench::test::TemporaryDir;

TEST_CASE("SafetensorsWriter: what it writes reads back", "[core][checkpoint]") {
  const TemporaryDir folder;
  const fs::path path = folder / "a.safetensors";
  SafetensorsWriter writer(path, {{"format", "pt"}});
  writer.declare({"b", quench::kFloat32, {2, 2}, 0});
  writer.declare({"a \"ü\"", quench::kInt8, {3}, 0});
  writer.declare({"none", quench::kFloat64, {0}, 0});
  const float floats[] = {1, 2, 3, 4};
  writer.write(floats, 5);  // pieces need not fall on elements
  writer.write(reinterpret_cast<const char*>(floats) + 5, 11);
  writer.write("xyz", 3);
  CHECK_FALSE(fs::exists(path));
  writer.finish();

  const SafetensorsSource source(path);
  CHECK(source.metadata().at("format") == "pt");
  CHECK(source.count() == 3);
  CHECK(read_float32(source, source.index_of("b")) == std::vector<float>{1, 2, 3, 4});
  char bytes[3];
  source.read(source.index_of("a \"ü\""), 0, 3, bytes);
  CHECK(std::string(bytes, 3) == "xyz");
  const std::string file = quench::test::read_file(path);
  CHECK((file.size() - 16 - 3) % 8 == 0);  // the data begins at a multiple of 8
}

TEST_CASE("SafetensorsWriter: an empty file is a file", "[core][checkpoint]") {
  const TemporaryDir folder;
  SafetensorsWriter(folder / "a.safetensors").finish();
  CHECK(SafetensorsSource(folder / "a.safetensors").count() == 0);
}

TEST_CASE("SafetensorsWriter: refuses what would be a bad file", "[core][checkpoint][bad]") {
  const TemporaryDir folder;
  SafetensorsWriter writer(folder / "a.safetensors");
  writer.declare({"w", quench::kFloat32, {2}, 0});
  const auto declare = [&](const std::string& name, quench_dtype dtype,
                           std::vector<int64_t> shape) {
    return message_of([&] { writer.declare({name, dtype, std::move(shape), 0}); }, folder.path());
  };
  CHECK(declare("w", quench::kInt8, {1}) == "a.safetensors: tensor 'w': name given twice");
  CHECK(declare("__metadata__", quench::kInt8, {1}) ==
        "a.safetensors: tensor '__metadata__': the name is reserved");
  CHECK(declare("x", quench::kInt8, {int64_t{1} << 62, 4}) ==
        "a.safetensors: tensor 'x': shape [4611686018427387904, 4] overflows");
  CHECK(declare("x", quench_dtype{QUENCH_DTYPE_UINT, 32, 1}, {1}) ==
        "a.safetensors: tensor 'x': unknown element type 'dtype(1,32,1)', wanted F64, F32, F16, "
        "BF16, I64, I32, I16, I8, U8 or BOOL");
  writer.write("1234", 4);
  CHECK(declare("y", quench::kInt8, {1}) ==
        "a.safetensors: tensor 'y': declared after the first write");
  CHECK(message_of([&] { writer.finish(); }, folder.path()) ==
        "a.safetensors: finished after 4 of 8 bytes declared");
  CHECK(message_of([&] { writer.write("12345", 5); }, folder.path()) ==
        "a.safetensors: 5 bytes after 4 of 8 declared");
}

TEST_CASE("content_hash: depends on content, not on order in the file", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto write = [&](const std::string& file, const std::string& first,
                         const std::string& second, std::vector<int64_t> shape, float value) {
    SafetensorsWriter writer(folder / file, {{"note", file}});
    writer.declare({first, quench::kFloat32, shape, 0});
    writer.declare({second, quench::kFloat32, shape, 0});
    const float values[] = {1, value};
    const float others[] = {3, 4};
    const bool swapped = second < first;
    writer.write(swapped ? others : values, 8);
    writer.write(swapped ? values : others, 8);
    writer.finish();
    return content_hash(SafetensorsSource(folder / file));
  };
  const std::string hash = write("a.safetensors", "x", "y", {2}, 2);
  CHECK(hash.size() == 64);
  CHECK(write("b.safetensors", "y", "x", {2}, 2) == hash);
  CHECK(write("c.safetensors", "x", "y", {2, 1}, 2) != hash);
  CHECK(write("d.safetensors", "x", "z", {2}, 2) != hash);
  CHECK(write("e.safetensors", "x", "y", {2}, 2.0000002F) != hash);
}
