#include "core/pass/codebook.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr int64_t kOut = 2;
constexpr int64_t kIn = 4;
const quench_linear_info kLinear{sizeof kLinear,   0,       "block.m", "q",
                                 "block.m.weight", nullptr, kOut,      kIn};

template <typename T>
void put(QuantizeSink& sink, const char* name, quench_dtype dtype,
         const std::vector<int64_t>& shape, const std::vector<T>& values) {
  HostTensor tensor(dtype, shape);
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  sink.tensors.insert_or_assign(name, std::move(tensor));
}

// Eight weights of a table of four entries, a scale for each half row.
void fill(QuantizeSink& sink) {
  put<uint8_t>(sink, "indices", kUInt8, {kOut, kIn}, {0, 1, 2, 3, 3, 2, 1, 0});
  put<float>(sink, "table", kFloat32, {4}, {-1, -0.25F, 0.5F, 2});
  put<float>(sink, "scales", kFloat32, {kOut, 2}, {1, 10, 100, 1000});
}

std::vector<double> values(const Codebook& codebook) {
  std::vector<double> out;
  for (size_t i = 0; i < codebook.indices.size(); ++i) {
    out.push_back(codebook.value(i, kIn));
  }
  return out;
}

std::string fault(QuantizeSink& sink) {
  try {
    codebook_of(sink, kLinear);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("codebook: a weight is its scale times an entry of the table", "[pass]") {
  QuantizeSink sink(8);
  fill(sink);
  const auto codebook = codebook_of(sink, kLinear);
  REQUIRE(codebook);
  CHECK(values(*codebook) == std::vector<double>{-1, -0.25, 5, 20, 200, 50, -250, -1000});
  CHECK(codebook->block == 2);
  CHECK(codebook->scale_type == QUENCH_SCALES_FLOAT);
  CHECK(codebook->bits_per_weight() == 2 + 4 * 32.0 / 8 + 4 * 32.0 / 8);
  const quench_codebook_linear view = codebook->view("block.m", kLinear);
  CHECK(view.entries == 4);
  CHECK(view.blocks == 4);
  CHECK(view.tables == 1);
}

TEST_CASE("codebook: scales of bytes are powers of two, of blocks across rows", "[pass]") {
  QuantizeSink sink(8);
  fill(sink);
  put<uint8_t>(sink, "scales", kUInt8, {3}, {127, 128, 124});
  sink.numbers["block"] = 3;  // the last has two
  const auto codebook = codebook_of(sink, kLinear);
  REQUIRE(codebook);
  CHECK(values(*codebook) == std::vector<double>{-1, -0.25, 0.5, 4, 4, 1, -0.25 / 8, -0.125});
  CHECK(codebook->scale_type == QUENCH_SCALES_POWERS_OF_TWO);
  CHECK(codebook->bits_per_weight() == 2 + 4 * 32.0 / 8 + 3 * 8.0 / 8);
}

TEST_CASE("codebook: each row may have its own table", "[pass]") {
  QuantizeSink sink(8);
  fill(sink);
  put<double>(sink, "table", kFloat64, {kOut, 4}, {0, 1, 2, 3, 10, 11, 12, 13});
  put<float>(sink, "scales", kFloat32, {kOut, 1}, {1, 2});
  const auto codebook = codebook_of(sink, kLinear);
  REQUIRE(codebook);
  CHECK(values(*codebook) == std::vector<double>{0, 1, 2, 3, 26, 24, 22, 20});
}

TEST_CASE("codebook: indices without a table are a quantizer's own affair", "[pass]") {
  QuantizeSink sink(8);
  put<uint8_t>(sink, "indices", kUInt8, {1}, {3});
  CHECK_FALSE(codebook_of(sink, kLinear));
}

TEST_CASE("codebook: what cannot be is refused with linear and tensor", "[pass]") {
  QuantizeSink sink(8);
  fill(sink);
  put<uint8_t>(sink, "indices", kUInt8, {kOut, kIn}, {0, 1, 2, 3, 3, 2, 4, 0});
  CHECK(fault(sink) == "block.m: index [1, 2] is 4, wanted one of the table's 4");
  fill(sink);
  put<float>(sink, "table", kFloat32, {3, 2}, {0, 1, 2, 3, 4, 5});
  CHECK(fault(sink) ==
        "block.m: table is F32 [3, 2], wanted [entries] or [out, entries], of 2 to 256 entries");
  fill(sink);
  put<float>(sink, "table", kFloat32, {4}, {0, 1, NAN, 3});
  CHECK(fault(sink) == "block.m: table[2] is not finite");
  fill(sink);
  put<uint8_t>(sink, "scales", kUInt8, {kOut, 1}, {127, 255});
  CHECK(fault(sink) == "block.m: scales[1] is not finite");
  fill(sink);
  put<float>(sink, "scales", kFloat32, {4}, {1, 1, 1, 1});
  CHECK_THAT(fault(sink), Catch::Contains("block.m: scales is F32 [4], wanted [out, groups]"));
  fill(sink);
  sink.tensors.erase("scales");
  CHECK(fault(sink) == "block.m: the quantizer gives a table and no scales");
}

}  // namespace quench
