#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/support/corpus_reader.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"

using namespace quench::test;
using nlohmann::json;
using Ids = std::vector<int32_t>;

namespace {

ReadCorpus read_tokens(const json& parameters) {
  return read_corpus(plugin_item(CORPORA_DIR "/tokens.so", "corpus"), parameters);
}

// A safetensors file with that header text, whatever it says.
std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

json entry(const char* dtype, const json& shape, size_t begin, size_t end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

template <typename T>
std::string two_rows(const char* dtype) {
  const std::string data = bytes_of(std::vector<T>{1, 2, 3, 4, 5, 127});
  return file_of(json{{"ids", entry(dtype, {2, 3}, 0, data.size())}}.dump(), data);
}

}  // namespace

TEST_CASE("tokens: rows of every integer dtype are documents", "[corpora][tokens]") {
  const TemporaryDir dir;
  const std::vector<std::string> files = {two_rows<int8_t>("I8"),   two_rows<uint8_t>("U8"),
                                          two_rows<int16_t>("I16"), two_rows<uint16_t>("U16"),
                                          two_rows<int32_t>("I32"), two_rows<uint32_t>("U32"),
                                          two_rows<int64_t>("I64"), two_rows<uint64_t>("U64")};
  for (const std::string& bytes : files) {
    const ReadCorpus corpus = read_tokens({{"path", dir.write("a.safetensors", bytes)}});
    CHECK(corpus.message == "");
    REQUIRE(corpus.documents.size() == 2);
    CHECK(corpus.documents[0].ids == Ids{1, 2, 3});
    CHECK(corpus.documents[1].ids == Ids{4, 5, 127});
  }
  const auto wide = dir.write(
      "u16.safetensors",
      file_of(json{{"ids", entry("U16", {1, 1}, 0, 2)}}.dump(), bytes_of<uint16_t>({65535})));
  CHECK(read_tokens({{"path", wide}}).documents.at(0).ids == Ids{65535});
}

TEST_CASE("tokens: floats beside the ids are no matter, a second integer tensor needs a name",
          "[corpora][tokens]") {
  const TemporaryDir dir;
  const std::string data = bytes_of<int32_t>({7, 8}) + bytes_of<float>({0.5F});
  json header = {{"ids", entry("I32", {1, 2}, 0, 8)}, {"loss", entry("F32", {1}, 8, 12)}};
  header["__metadata__"] = {{"format", "pt"}};
  const auto mixed = dir.write("mixed.safetensors", file_of(header.dump(), data));
  CHECK(read_tokens({{"path", mixed}}).documents.at(0).ids == Ids{7, 8});
  header["a/b~c"] = entry("I32", {2, 1}, 0, 8);
  const auto two = dir.write("two.safetensors", file_of(header.dump(), data));
  CHECK(read_tokens({{"path", two}}).message ==
        two.string() + ": got 2 integer tensors, wanted one, or its name in `tensor`");
  CHECK(read_tokens({{"path", two}, {"tensor", "a/b~c"}}).documents.size() == 2);
}

TEST_CASE("tokens: a file that is not what it says is refused by name", "[corpora][tokens]") {
  const TemporaryDir dir;
  const std::string eight(8, '\1');
  const auto header = [&](const json& tensors) { return file_of(tensors.dump(), eight); };
  struct Case {
    std::string bytes;
    std::string message;
    json tensor = nullptr;
  };
  const std::string big_header = std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  const std::vector<Case> cases = {
      {"", "safetensors: the file has 0 bytes, wanted at least 8"},
      {big_header + "{}",
       "safetensors: the header claims 9223372036854775807 bytes of a file of 10"},
      {file_of("garbage!", ""), "safetensors: the header is not a JSON object"},
      {file_of("{garbage", ""), "safetensors: the header is not JSON: "},
      {file_of("{\"a\": 1}", ""),
       "safetensors: tensor `a`: wanted dtype, shape and two data_offsets"},
      {header({{"a", entry("I33", {1, 2}, 0, 8)}}), "safetensors: tensor `a`: unknown dtype I33"},
      {header({{"a", entry("I32", {1, 2}, 0, 16)}}), "safetensors: tensor `a`: bytes 0 to 16 of 8"},
      {header({{"a", entry("I32", {1, 2}, 8, 0)}}), "safetensors: tensor `a`: bytes 8 to 0 of 8"},
      {header({{"a", entry("I32", {1, 3}, 0, 8)}}),
       "safetensors: tensor `a`: got 8 bytes, its shape and dtype need 12"},
      {header({{"a", entry("I32", {-1, -2}, 0, 8)}}),
       "safetensors: /a/shape/0: wanted a natural number"},
      {header({{"a", entry("I32", {1.5}, 0, 8)}}),
       "safetensors: /a/shape/0: wanted a natural number"},
      {header({{"a", entry("I64", {4294967296, 4294967296}, 0, 8)}}),
       "safetensors: tensor `a`: the shape overflows 64 bits"},
      {header({{"a", entry("F32", {1, 2}, 0, 8)}}),
       "got 0 integer tensors, wanted one, or its name in `tensor`"},
      {header({{"a", entry("F32", {1, 2}, 0, 8)}}), "tensor `a`: got dtype F32, wanted integers",
       "a"},
      {header({{"a", entry("I32", {1, 2}, 0, 8)}}), "no tensor `b`", "b"},
      {header({{"a", entry("I32", {2}, 0, 8)}}),
       "tensor `a`: got shape [2], wanted [N, T], N, T > 0"},
      {header({{"a", entry("I32", {0, 2}, 0, 0)}}),
       "tensor `a`: got shape [0, 2], wanted [N, T], N, T > 0"}};
  for (const Case& wanted : cases) {
    const auto path = dir.write("a.safetensors", wanted.bytes);
    const ReadCorpus corpus = read_tokens({{"path", path}, {"tensor", wanted.tensor}});
    CHECK_THAT(corpus.message, Catch::StartsWith(path.string() + ": " + wanted.message));
    CHECK(corpus.status != QUENCH_END);
    CHECK(corpus.status != QUENCH_INTERNAL);
  }
}

TEST_CASE("tokens: an id outside int32 is an error with row and column", "[corpora][tokens]") {
  const TemporaryDir dir;
  const auto read_ids = [&dir](const char* dtype, const std::string& data) {
    const auto path = dir.write(
        "a.safetensors", file_of(json{{"ids", entry(dtype, {2, 2}, 0, data.size())}}.dump(), data));
    const std::string message = read_tokens({{"path", path}}).message;
    return message.substr(std::min(message.size(), path.string().size()));
  };
  CHECK(read_ids("I64", bytes_of<int64_t>({1, 2, 3, 2147483648})) ==
        ": tensor `ids`, row 1, column 1: id 2147483648, wanted 0 to 2147483647");
  CHECK(read_ids("U32", bytes_of<uint32_t>({1, 2, 4294967295, 4})) ==
        ": tensor `ids`, row 1, column 0: id 4294967295, wanted 0 to 2147483647");
  CHECK(read_ids("I16", bytes_of<int16_t>({-1, 2, 3, 4})) ==
        ": tensor `ids`, row 0, column 0: id -1, wanted 0 to 2147483647");
  CHECK(read_ids("I64", bytes_of<int64_t>({1, 2, 3, 2147483647})) == "");
}
