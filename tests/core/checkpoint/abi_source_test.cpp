#include "core/checkpoint/abi_source.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/safetensors.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"

using quench::test::TemporaryDir;

TEST_CASE("AbiSource: gives a plugin names, shapes, elements and errors", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto path = folder.write(
      "a.safetensors", quench::test::safetensors(
                           R"({"w":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}})", "abcd"));
  const quench::AbiSource adapter(std::make_shared<quench::SafetensorsSource>(path));
  const quench_source* source = adapter.get();
  quench_error error{sizeof(quench_error), 0, ""};
  CHECK(source->struct_size == sizeof(quench_source));
  CHECK(source->count(source) == 1);
  quench_tensor_info info{};
  info.struct_size = sizeof info;
  REQUIRE(source->info(source, 0, &info, &error) == QUENCH_OK);
  CHECK(std::string(info.name) == "w");
  CHECK(info.dimensions == 2);
  CHECK(info.shape[1] == 2);
  CHECK(info.dtype.bits == 8);
  CHECK(info.shared_with == 0);
  uint64_t index = 7;
  CHECK(source->find(source, "w", &index, &error) == QUENCH_OK);
  CHECK(index == 0);
  char out[2];
  CHECK(source->read(source, 0, 1, 2, out, &error) == QUENCH_OK);
  CHECK(std::string(out, 2) == "bc");

  CHECK(source->find(source, "x", &index, nullptr) == QUENCH_NOT_FOUND);
  CHECK(source->info(source, 1, &info, &error) == QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(error.message)
            .ends_with("a.safetensors: got tensor index 1, there are 1 tensors"));
  info.struct_size = 0;
  CHECK(source->info(source, 0, &info, &error) == QUENCH_INVALID_ARGUMENT);
  std::filesystem::resize_file(path, 10);
  CHECK(source->read(source, 0, 0, 4, out, &error) == QUENCH_DATA_LOSS);
  CHECK(error.code == QUENCH_DATA_LOSS);
}

TEST_CASE("AbiSource: a long message is cut between characters", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto path = folder.write("a.safetensors", quench::test::safetensors("{}"));
  const quench::AbiSource adapter(std::make_shared<quench::SafetensorsSource>(path));
  // printable() keeps 120 bytes of a name, so only a long path fills the record.
  std::string name;
  for (int i = 0; i < 400; ++i) {
    name += "ü";
  }
  quench_error error{sizeof(quench_error), 0, ""};
  uint64_t index = 0;
  CHECK(adapter.get()->find(adapter.get(), name.c_str(), &index, &error) == QUENCH_NOT_FOUND);
  CHECK(std::string(error.message).size() < sizeof error.message);
  CHECK(std::string(error.message).ends_with("ü...'"));
}

TEST_CASE("AbiSource: an answer ends where the caller's struct ends", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto path = folder.write(
      "a.safetensors", quench::test::safetensors(
                           R"({"w":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}})", "abcd"));
  const quench::AbiSource adapter(std::make_shared<quench::SafetensorsSource>(path));
  quench_error error{sizeof(quench_error), 0, ""};
  quench_tensor_info info{};
  info.struct_size = offsetof(quench_tensor_info, shared_with);
  info.shared_with = 77;  // memory of somebody else
  REQUIRE(adapter.get()->info(adapter.get(), 0, &info, &error) == QUENCH_OK);
  CHECK(std::string(info.name) == "w");
  CHECK(info.shape[1] == 2);
  CHECK(info.shared_with == 77);
  CHECK(info.struct_size == offsetof(quench_tensor_info, shared_with));
}
