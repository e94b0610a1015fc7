#include "core/checkpoint/sharded_source.hpp"

#include <catch2/catch.hpp>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::ShardedSource;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

std::string shard(const std::string& name, const std::string& data) {
  return quench::test::safetensors(
      "{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[2]," + "\"data_offsets\":[0,2]}}", data);
}

}  // namespace

TEST_CASE("ShardedSource: reads tensors from all shards", "[core][checkpoint]") {
  const TemporaryDir folder;
  folder.write("1.safetensors", shard("a", "AB"));
  folder.write("2.safetensors", shard("b", "CD"));
  const ShardedSource source(folder.write(
      "m.index.json",
      R"({"metadata":{"total_size":4},"weight_map":{"b":"2.safetensors","a":"1.safetensors"}})"));
  CHECK(source.count() == 2);
  CHECK(source.files().size() == 2);
  CHECK(source.info(1).shared_with == 1);
  char out[2];
  source.read(source.index_of("b"), 1, 1, out);
  CHECK(out[0] == 'D');
}

TEST_CASE("ShardedSource: index and shards lose what wrappers of torch put into names",
          "[core][checkpoint]") {
  const TemporaryDir folder;
  folder.write("1.safetensors", shard("module._orig_mod.a", "AB"));
  folder.write("2.safetensors", shard("module._orig_mod.l._orig_mod.b", "CD"));
  const ShardedSource source(folder.write(
      "m.index.json", R"({"weight_map":{"module._orig_mod.l._orig_mod.b":"2.safetensors",
                                                     "module._orig_mod.a":"1.safetensors"}})"));
  CHECK(source.find("a"));
  char out[2];
  source.read(source.index_of("l.b"), 0, 2, out);
  CHECK(out[0] == 'C');
  const auto twice = folder.write(
      "n.index.json", R"({"weight_map":{"_orig_mod.a":"1.safetensors","a":"1.safetensors"}})");
  CHECK_THAT(message_of([&] { ShardedSource{twice}; }),
             Catch::Contains("n.index.json: two tensors are called 'a' without"));
}

TEST_CASE("ShardedSource: a bad index is refused before any read", "[core][checkpoint][bad]") {
  struct Case {
    std::string index;
    std::string message;
  };
  const auto [index, message] = GENERATE(values<Case>({
      {R"({"weight_map":{"a":"../1.safetensors"}})",
       "m.index.json: tensor 'a' is in \"../1.safetensors\", wanted the plain name of a file in "
       "the same folder"},
      {R"({"weight_map":{"a":"/etc/passwd"}})",
       "m.index.json: tensor 'a' is in \"/etc/passwd\", wanted the plain name of a file in the "
       "same folder"},
      {R"({"weight_map":{"a":".."}})",
       "m.index.json: tensor 'a' is in \"..\", wanted the plain name of a file in the same "
       "folder"},
      {R"({"weight_map":{"a":""}})",
       "m.index.json: tensor 'a' is in \"\", wanted the plain name of a file in the same folder"},
      {R"({"weight_map":{"a":"x\u0000.safetensors"}})",
       "m.index.json: tensor 'a' is in \"x\\u0000.safetensors\", wanted the plain name of a file "
       "in the same folder"},
      {R"({"weight_map":{"a":"x\\y"}})",
       "m.index.json: tensor 'a' is in \"x\\\\y\", wanted the plain name of a file in the same "
       "folder"},
      {R"({"weight_map":{"a":3}})",
       "m.index.json: tensor 'a' is in number, wanted the plain name of a file in the same "
       "folder"},
      {R"({"weight_map":{}})",
       "m.index.json: no weight_map, wanted an object of tensor and file names"},
      {R"([])", "m.index.json: no weight_map, wanted an object of tensor and file names"},
      {R"({"weight_map":{"a":"1.safetensors","a":"2.safetensors"}})",
       "m.index.json:1:38: invalid JSON: duplicate key 'a'"},
      {R"({"weight_map":{"a":"1.safetensors","b":"3.safetensors"}})",
       "m.index.json: shard '3.safetensors' is missing"},
      {R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})",
       "m.index.json: tensor 'b' is listed in shard '1.safetensors', which lacks it"},
      {R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})",
       "m.index.json: tensor 'a' is in shard '1.safetensors', but listed in '2.safetensors'"},
      {R"({"weight_map":{"c":"1.safetensors"}})",
       "m.index.json: shard '1.safetensors' holds tensor 'a', which is not listed"},
      {R"({"weight_map":{"a":"1.safetensors","b":"again.safetensors"}})",
       "m.index.json: tensor 'a' is in shard 'again.safetensors', but listed in '1.safetensors'"},
  }));
  const TemporaryDir folder;
  folder.write("1.safetensors", shard("a", "AB"));
  folder.write("2.safetensors", shard("b", "CD"));
  folder.write("again.safetensors", shard("a", "AB"));
  const auto path = folder.write("m.index.json", index);
  CHECK(message_of([&] { ShardedSource{path}; }, folder.path()) == message);
}
