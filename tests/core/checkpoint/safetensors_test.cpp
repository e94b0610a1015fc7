#include "core/checkpoint/safetensors.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/dtype.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::SafetensorsSource;
using quench::test::bytes_of;
using quench::test::little;
using quench::test::message_of;
using quench::test::safetensors;
using quench::test::TemporaryDir;

namespace {

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{" + entry("w", dtype, shape, offsets) + "}";
}

}  // namespace

TEST_CASE("SafetensorsSource: names lose what wrappers of torch put into them",
          "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto names = [&](const std::string& first, const std::string& second) {
    const SafetensorsSource source(
        folder.write("a.safetensors", safetensors("{" + entry(first, "U8", "[1]", "[0,1]") + "," +
                                                      entry(second, "U8", "[1]", "[1,2]") + "}",
                                                  "AB")));
    char value = 0;
    source.read(1, 0, 1, &value);
    CHECK(value == 'B');
    return std::vector<std::string>{source.info(0).name, source.info(1).name};
  };
  using Names = std::vector<std::string>;
  CHECK(names("_orig_mod.a.w", "_orig_mod.b") == Names{"a.w", "b"});
  CHECK(names("module._orig_mod.module.a", "_orig_mod.module.module.b") == Names{"a", "b"});
  CHECK(names("l.0._orig_mod.a", "b_orig_mod.c") == Names{"l.0.a", "b_orig_mod.c"});
  CHECK(names("module.a", "b") == Names{"module.a", "b"});
  CHECK(names("module.", "module.b") == Names{"module.", "module.b"});
  CHECK_THAT(message_of([&] { names("_orig_mod.a", "a"); }),
             Catch::Contains("tensor 'a': name given twice"));
}

TEST_CASE("SafetensorsSource: reads any slice of any type in file order", "[core][checkpoint]") {
  const TemporaryDir folder;
  const std::vector<float> floats{1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> integers{7, -8};
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"}," + entry("z", "F32", "[2,3]", "[0,24]") + "," +
      entry("a", "I64", "[2]", "[24,40]") + "," + entry("scalar", "BOOL", "[]", "[40,41]") + "," +
      entry("empty", "F16", "[0,4]", "[24,24]") + "}   ";
  const SafetensorsSource source(folder.write(
      "a.safetensors", safetensors(header, bytes_of(floats) + bytes_of(integers) + "\x01")));
  CHECK(source.count() == 4);
  CHECK(source.info(0).name == "z");
  CHECK(source.info(1).name == "empty");
  CHECK(source.info(2).name == "a");
  CHECK(source.info(0).shape == std::vector<int64_t>{2, 3});
  CHECK(quench::dtype_name(source.info(3).dtype) == "BOOL");
  CHECK(source.metadata().at("format") == "pt");
  float slice[2];
  source.read(source.index_of("z"), 3, 2, slice);
  CHECK(slice[0] == 4);
  CHECK(slice[1] == 5);
  int64_t whole[2];
  source.read(source.index_of("a"), 0, 2, whole);
  CHECK(whole[1] == -8);
  source.read(source.index_of("empty"), 0, 0, nullptr);
  CHECK_FALSE(source.find("b"));
  CHECK(message_of([&] { source.index_of("scaler"); }, folder.path()) ==
        "a.safetensors: no tensor 'scaler', nearest is 'scalar'");
  CHECK(message_of([&] { source.read(0, 5, 2, slice); }, folder.path()) ==
        "a.safetensors: tensor 'z': wanted 2 elements from 5, it has 6");
}

TEST_CASE("SafetensorsSource: bad files are refused with the reason", "[core][checkpoint][bad]") {
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::string spaces(1000, ' ');
  const auto [bytes, message] = GENERATE_COPY(values<Case>({
      // B1: header length
      {"", "f.safetensors: 0 bytes, a safetensors file has at least 8"},
      {"1234567", "f.safetensors: 7 bytes, a safetensors file has at least 8"},
      {little(0, 8), "f.safetensors: header does not begin with '{'"},
      {little(uint64_t{1} << 63, 8),
       "f.safetensors: header of 9223372036854775808 bytes, at most 100000000 are allowed: not a "
       "safetensors file, or a damaged one"},
      {little(UINT64_MAX, 8) + "{}",
       "f.safetensors: header of 18446744073709551615 bytes, at most 100000000 are allowed: not a "
       "safetensors file, or a damaged one"},
      {little(100'000'001, 8) + "{}",
       "f.safetensors: header of 100000001 bytes, at most 100000000 are allowed: not a safetensors "
       "file, or a damaged one"},
      {little(3, 8) + "{}",
       "f.safetensors: header of 3 bytes at offset 8, but the file has 10 bytes"},
      {safetensors("[]"), "f.safetensors: header does not begin with '{'"},
      {safetensors(" {}"), "f.safetensors: header does not begin with '{'"},
      {safetensors("{} x"),
       "f.safetensors: header:1:4: invalid JSON: syntax error while parsing value - invalid "
       "literal; last read: '{} x'; expected end of input"},
      // B2: duplicates and metadata
      {safetensors(
           "{" + entry("w", "U8", "[1]", "[0,1]") + "," + entry("w", "U8", "[1]", "[0,1]") + "}",
           "a"),
       "f.safetensors: header:1:56: invalid JSON: duplicate key 'w'"},
      {safetensors(R"({"__metadata__":{},"__metadata__":{}})"),
       "f.safetensors: header:1:33: invalid JSON: duplicate key '__metadata__'"},
      {safetensors(R"({"__metadata__":{"a":1}})"),
       "f.safetensors: __metadata__ 'a' is number, wanted a string"},
      {safetensors(R"({"__metadata__":[]})"),
       "f.safetensors: __metadata__ is array, wanted an object"},
      {safetensors(R"({"w":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "a"),
       "f.safetensors: header:1:26: invalid JSON: duplicate key 'dtype'"},
      // B3: layout
      {safetensors(
           "{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[4]", "[3,7]") + "}",
           "1234567"),
       "f.safetensors: overlap of 1 bytes in the data: tensor 'b' begins at byte 3, 'a' ends at "
       "byte 4"},
      {safetensors(
           "{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[2]", "[5,7]") + "}",
           "1234567"),
       "f.safetensors: hole of 1 bytes in the data: tensor 'b' begins at byte 5, 'a' ends at byte "
       "4"},
      {safetensors(
           "{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[4]", "[0,4]") + "}",
           "1234"),
       "f.safetensors: overlap of 4 bytes in the data: tensor 'b' begins at byte 0, 'a' ends at "
       "byte 4"},
      {safetensors(one("U8", "[4]", "[4,0]"), "1234"),
       "f.safetensors: tensor 'w': data_offsets [4, 0] are reversed"},
      {safetensors(one("U8", "[4]", "[0,4]"), "123"),
       "f.safetensors: tensor 'w': ends at byte 4 of the data, which has 3: the file is truncated "
       "or the header wrong"},
      {safetensors(one("U8", "[4]", "[0,4]"), "12345678"),
       "f.safetensors: 4 bytes after the last tensor"},
      {safetensors(one("U8", "[3]", "[1,4]"), "1234"),
       "f.safetensors: hole of 1 bytes in the data: tensor 'w' begins at byte 1, the header ends "
       "at byte 0"},
      {safetensors("{}", "1234"), "f.safetensors: 4 bytes after the last tensor"},
      // B4: shapes
      {safetensors(one("U8", "[4294967296,4294967296]", "[0,0]")),
       "f.safetensors: tensor 'w': shape [4294967296, 4294967296] overflows"},
      {safetensors(one("F64", "[2305843009213693952]", "[0,0]")),
       "f.safetensors: tensor 'w': shape [2305843009213693952] overflows"},
      {safetensors(one("U8", "[0,4294967296,4294967296]", "[0,0]")),
       "f.safetensors: tensor 'w': shape [0, 4294967296, 4294967296] overflows"},
      {safetensors(one("U8", "[-1]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': shape: -1, wanted a non-negative integer"},
      {safetensors(one("U8", "[1.0]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': shape: 1.0, wanted a non-negative integer"},
      {safetensors(one("U8", "[18446744073709551616]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': shape: 1.8446744073709552e+19, wanted a non-negative integer"},
      {safetensors(one("U8", "[18446744073709551615]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': dimension 18446744073709551615 is over 2^63"},
      {safetensors(one("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': 9 dimensions, at most 8 are read"},
      {safetensors(one("U8", "4", "[0,4]"), "1234"),
       "f.safetensors: tensor 'w': shape is number, wanted an array"},
      {safetensors(one("U8", "[4]", "[0]"), "1234"),
       "f.safetensors: tensor 'w': data_offsets is not an array of two numbers"},
      {safetensors(one("U8", "[4]", "[0,-4]"), "1234"),
       "f.safetensors: tensor 'w': data_offsets: -4, wanted a non-negative integer"},
      // B5: element types
      {safetensors(one("U3", "[1]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': unknown element type 'U3', wanted F64, F32, F16, BF16, I64, "
       "I32, I16, I8, U8 or BOOL"},
      {safetensors(one("F8_E5M2", "[1]", "[0,1]"), "1"),
       "f.safetensors: tensor 'w': unsupported element type 'F8_E5M2', wanted F64, F32, F16, "
       "BF16, I64, I32, I16, I8, U8 or BOOL; cast it in Python, value.to(torch.bfloat16), and save "
       "again"},
      {safetensors(one("F32", "[1]", "[0,2]"), "12"),
       "f.safetensors: tensor 'w': 2 bytes for F32 [1], wanted 4"},
      {safetensors(R"({"w":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", "a"),
       "f.safetensors: tensor 'w': dtype is number, wanted a string"},
      {safetensors(R"({"w":{"dtype":"U8","shape":[1]}})"),
       "f.safetensors: tensor 'w': no data_offsets, wanted dtype, shape and data_offsets"},
      {safetensors(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":0}})", "a"),
       "f.safetensors: tensor 'w': unknown key 'x', wanted dtype, shape and data_offsets"},
      {safetensors(R"({"w":1})"), "f.safetensors: tensor 'w': number, wanted an object"},
      {safetensors("{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "a"),
       "f.safetensors: tensor 'a\\x00b': name holds a NUL"},
      // B6: depth and spaces
      {safetensors("{\"a\":" + std::string(1'000'000, '[')),
       "f.safetensors: header:1:9: invalid JSON: nested deeper than 4 levels"},
      {safetensors("{" + spaces + "x"),
       "f.safetensors: header:1:1002: invalid JSON: syntax error while parsing object key - "
       "invalid literal; last read: '{                                                             "
       "                                                                     ..."},
      {safetensors("{\"\xff\":1}"),
       "f.safetensors: header:1:3: invalid JSON: syntax error while parsing object key - invalid "
       "string: ill-formed UTF-8 byte; last read: '\"\\xff'; expected string literal"},
  }));
  const TemporaryDir folder;
  const auto path = folder.write("f.safetensors", bytes);
  CHECK(message_of([&] { SafetensorsSource{path}; }, folder.path()) == message);
}

TEST_CASE("SafetensorsSource: a header of 50 MB of spaces is read in linear time",
          "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto path =
      folder.write("f.safetensors", safetensors("{" + std::string(50'000'000, ' ') + "}"));
  CHECK(SafetensorsSource(path).count() == 0);
}

TEST_CASE("SafetensorsSource: a file truncated while open is data loss", "[core][checkpoint]") {
  const TemporaryDir folder;
  const auto path = folder.write("f.safetensors", safetensors(one("U8", "[4]", "[0,4]"), "1234"));
  const SafetensorsSource source(path);
  std::filesystem::resize_file(path, 20);
  char out[4];
  CHECK(message_of([&] { source.read(0, 0, 4, out); }, folder.path()) ==
        "f.safetensors: file truncated while in use: ends at offset 61, had 65 bytes");
  CHECK(quench::test::code_of([&] { source.read(0, 0, 4, out); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("read_float32: converts every floating-point type", "[core][checkpoint]") {
  const TemporaryDir folder;
  // 1.5, the smallest subnormal, -0, infinity, the largest finite value
  const std::vector<uint16_t> half{0x3E00, 0x0001, 0x8000, 0x7C00, 0x7BFF};
  const std::vector<uint16_t> brain{0x3FC0, 0xC000};
  const std::vector<double> wide{0.1};
  const std::string header =
      "{" + entry("h", "F16", "[5]", "[0,10]") + "," + entry("b", "BF16", "[2]", "[10,14]") + "," +
      entry("d", "F64", "[1]", "[14,22]") + "," + entry("i", "I8", "[1]", "[22,23]") + "}";
  const SafetensorsSource source(
      folder.write("f.safetensors",
                   safetensors(header, bytes_of(half) + bytes_of(brain) + bytes_of(wide) + "x")));
  CHECK(read_float32(source, 0) == std::vector<float>{1.5F, 0x1p-24F, -0.0F, INFINITY, 65504.0F});
  CHECK(read_float32(source, 1) == std::vector<float>{1.5F, -2.0F});
  CHECK(read_float32(source, 2) == std::vector<float>{0.1F});
  CHECK(message_of([&] { read_float32(source, 3); }, folder.path()) ==
        "f.safetensors: tensor 'i' is I8, wanted a floating-point type");
}
