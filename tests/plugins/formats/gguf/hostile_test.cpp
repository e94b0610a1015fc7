// Files that are not what they say.
#include <catch2/catch.hpp>
#include <limits>
#include <memory>

#include "formats/gguf/header.hpp"
#include "quench/kit/error.hpp"
#include "tests/plugins/formats/gguf/gguf_file.hpp"
#include "tests/plugins/formats/gguf/memory_bytes.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

// The message of reading these bytes; "" where they are read.
std::string fault(const std::string& bytes) {
  const MemoryBytes file(bytes);
  try {
    gguf::read_header(file);
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

std::string fault(const GgufFile& file) {
  return fault(file.bytes());
}

GgufFile one_tensor(const std::vector<uint64_t>& shape, uint32_t type, uint64_t offset,
                    size_t data_bytes) {
  GgufFile file;
  file.tensor("before", {1}, kGgufF32, std::string(data_bytes, '\0'));
  file.tensor_at("t", shape, type, offset);
  return file;
}

}  // namespace

TEST_CASE("gguf: magic, version and byte order are checked", "[gguf][bad]") {
  CHECK(fault("") == "file: offset 0: magic: wanted 4 bytes, the file has 0 more");
  GgufFile file;
  CHECK(fault(file) == "");
  file.magic = "GGML";
  CHECK(fault(file) == "file: offset 0: got GGML, wanted GGUF");
  file.magic = "GGUF";
  file.version = 1;
  CHECK(fault(file) == "file: offset 4: version 1, wanted 2 or 3");
  file.version = 3U << 24;
  CHECK(fault(file) == "file: offset 4: a big-endian file, wanted a little-endian one");
}

TEST_CASE("gguf: counts that the file has no bytes for are refused before anything is made",
          "[gguf][bad]") {
  const GgufFile file = small_llama();
  CHECK_THAT(fault(file.bytes(kHuge, 8)), Catch::StartsWith("file: offset 8: 18446744073709551615 "
                                                            "tensors, wanted at most "));
  CHECK_THAT(fault(file.bytes(0, kHuge)),
             Catch::Contains("18446744073709551615 pairs of metadata"));
  CHECK_THAT(fault(file.bytes(0, 9)), Catch::EndsWith("a key of 0 bytes, wanted 1..65535"));
  CHECK_THAT(fault(file.bytes(1, 8)), Catch::EndsWith("a tensor's name of 0 bytes, wanted 1..255"));

  GgufFile array;
  array.pair("a", 9, GgufFile::bytes_of(uint32_t{12}) + GgufFile::bytes_of(kHuge / 4));
  CHECK(fault(array) ==
        "file: offset 41: a: array of 4611686018427387903 float64, the file has 15 more bytes");
  GgufFile strings;
  strings.pair("a", 9,
               GgufFile::bytes_of(uint32_t{8}) + GgufFile::bytes_of(uint64_t{3}) +
                   GgufFile::text_bytes("x") + GgufFile::bytes_of(kHuge));
  CHECK_THAT(fault(strings),
             Catch::Contains("string: wanted 18446744073709551615 bytes, the file has"));
  GgufFile text;
  text.pair("a", 8, GgufFile::bytes_of(kHuge));
  CHECK_THAT(fault(text), Catch::Contains("string: wanted 18446744073709551615 bytes"));
  text = {};
  text.pair(std::string(70000, 'k'), 8, GgufFile::text_bytes("x"));
  CHECK(fault(text) == "file: offset 24: a key of 70000 bytes, wanted 1..65535");
}

TEST_CASE("gguf: metadata of no type, in arrays of arrays, or twice is refused", "[gguf][bad]") {
  GgufFile file;
  file.pair("a", 13, "");
  CHECK(fault(file) == "file: offset 33: a: type 13, wanted 0..12");
  file = {};
  file.pair("a", 9, GgufFile::bytes_of(uint32_t{9}) + GgufFile::bytes_of(uint64_t{1}));
  CHECK_THAT(fault(file), Catch::EndsWith("a: an array of arrays, wanted an array of values"));
  file = {};
  file.add("a", uint32_t{1});
  file.add("a", uint32_t{1});
  CHECK_THAT(fault(file), Catch::EndsWith("key a is there twice"));
  file = {};
  file.pair("a", 7, "\x02");
  CHECK_THAT(fault(file), Catch::EndsWith("a bool of 2, wanted 0 or 1"));
}

TEST_CASE("gguf: alignment is a power of two, and data keep it", "[gguf][bad]") {
  for (const uint32_t alignment : {0U, 24U, 1U << 31}) {
    GgufFile file;
    file.add("general.alignment", alignment);
    CHECK(fault(file) == "file: general.alignment: " + std::to_string(alignment) +
                             ", wanted a power of two of at most 1048576");
  }
  CHECK_THAT(fault(one_tensor({1}, kGgufF32, 4, 8)),
             Catch::EndsWith("t: data at 4, wanted a multiple of 32"));
  GgufFile file;
  file.add("general.alignment", uint32_t{64});
  file.alignment = 64;
  file.tensor("a", {1}, kGgufF32, std::string(4, '\0'));
  file.tensor("b", {1}, kGgufF32, std::string(4, '\0'));
  CHECK(fault(file) == "");
}

TEST_CASE("gguf: tensors lie inside the file and share nothing", "[gguf][bad]") {
  CHECK(fault(one_tensor({8}, kGgufF32, 32, 64)) == "");
  CHECK_THAT(fault(one_tensor({9}, kGgufF32, 32, 64)),
             Catch::EndsWith("t: 36 bytes at 32 of the data, which has 64"));
  CHECK_THAT(fault(one_tensor({1}, kGgufF32, kHuge - 31, 64)),
             Catch::EndsWith("t: 4 bytes at 18446744073709551584 of the data, which has 64"));
  CHECK_THAT(fault(one_tensor({8}, kGgufF32, 0, 64)), Catch::EndsWith("share bytes"));
  GgufFile file;
  file.tensor("a", {1}, kGgufF32, std::string(4, '\0'));
  file.tensor("a", {1}, kGgufF32, std::string(4, '\0'));
  CHECK_THAT(fault(file), Catch::EndsWith("tensor a is there twice"));
}

TEST_CASE("gguf: shapes that overflow, are empty or too deep are refused", "[gguf][bad]") {
  CHECK_THAT(fault(one_tensor({}, kGgufF32, 32, 64)),
             Catch::EndsWith("t: 0 dimensions, wanted 1..4"));
  CHECK_THAT(fault(one_tensor({1, 1, 1, 1, 1}, kGgufF32, 32, 64)),
             Catch::EndsWith("t: 5 dimensions, wanted 1..4"));
  CHECK_THAT(fault(one_tensor({0}, kGgufF32, 32, 64)),
             Catch::EndsWith("t: dimension 0 of 0, wanted at least 1"));
  CHECK_THAT(fault(one_tensor({uint64_t{1} << 32, uint64_t{1} << 32}, kGgufF32, 32, 64)),
             Catch::EndsWith("t: dimension 1 of 4294967296: too many elements"));
  CHECK_THAT(fault(one_tensor({33}, kGgufQ8, 32, 128)),
             Catch::EndsWith("t: rows of 33 elements, wanted a multiple of 32 for Q8_0"));
  GgufFile file;
  file.tensor("", {1}, kGgufF32, std::string(4, '\0'));
  CHECK_THAT(fault(file), Catch::EndsWith("a tensor's name of 0 bytes, wanted 1..255"));
  file = {};
  file.tensor(std::string_view("a\0b", 3), {1}, kGgufF32, std::string(4, '\0'));
  CHECK_THAT(fault(file), Catch::EndsWith("a tensor's name has a NUL: a?b"));
}

TEST_CASE("gguf: types that are not read are refused by name", "[gguf][bad]") {
  CHECK_THAT(
      fault(one_tensor({256}, kGgufIq2, 32, 256)),
      Catch::Contains("t: type IQ2_XXS (16), wanted one of F32, F16, BF16, Q4_0, Q4_1, Q5_0, "
                      "Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K"));
  CHECK_THAT(fault(one_tensor({256}, 4711, 32, 256)), Catch::Contains("t: type unknown (4711)"));
}

TEST_CASE("gguf: a file that is cut anywhere is refused", "[gguf][bad]") {
  const std::string bytes = read_file(source_dir() / "tests/data/gguf/types.gguf");
  REQUIRE(fault(bytes) == "");
  for (size_t size = 0; size < bytes.size(); size += size < 2000 ? 1 : 97) {
    CAPTURE(size);
    REQUIRE(fault(bytes.substr(0, size)) != "");
  }
}

}  // namespace quench::test
