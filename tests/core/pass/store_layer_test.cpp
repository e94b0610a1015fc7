#include "core/pass/store_layer.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/dtype.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

constexpr int64_t kOut = 8;
constexpr int64_t kIn = 32;

quench_linear_info linear(const char* role) {
  return {sizeof(quench_linear_info), 0, "block.m", role, "block.m.weight", nullptr, kOut, kIn};
}

// What a quantizer of 4 bits leaves: every code 9, every zero 8, every scale 1/4.
void fill(QuantizeSink& sink, HostTensor& dequantized) {
  HostTensor& codes = sink.tensors["codes"] = HostTensor(kUInt8, {kOut, kIn});
  std::fill(codes.as<uint8_t>().begin(), codes.as<uint8_t>().end(), uint8_t{9});
  for (const char* name : {"scales", "zeros"}) {
    HostTensor& grid = sink.tensors[name] = HostTensor(kFloat64, {kOut, 1});
    const double value = name[0] == 's' ? 0.25 : 8;
    std::fill(grid.as<double>().begin(), grid.as<double>().end(), value);
  }
  sink.numbers["bits"] = 4;
  std::fill(dequantized.as<float>().begin(), dequantized.as<float>().end(), 0.25F);
}

// GPTQ files.
FormatWriter written() {
  return FormatWriter(FormatHandle(built_catalog(), built_catalog().require("format", "gptq")));
}

std::string fault_of(QuantizeSink& sink, HostTensor& dequantized, const char* role = "m") {
  return message_of([&] {
    FormatWriter writer = written();
    store_layer(writer, linear(role), sink, dequantized);
  });
}

}  // namespace

TEST_CASE("store_layer: packs what is in the sink, and gives the weight that is read back",
          "[core][run]") {
  QuantizeSink sink;
  HostTensor dequantized(kFloat32, {kOut, kIn});
  fill(sink, dequantized);
  sink.tensors["scales"].as<double>()[0] = 0.1;  // which float16 does not have
  for (int64_t c = 0; c < kIn; ++c) {
    dequantized.as<float>()[static_cast<size_t>(c)] = 0.1F;
  }
  FormatWriter stored = written();
  store_layer(stored, linear("m"), sink, dequantized);
  CHECK(stored.linears().size() == 1);
  CHECK(stored.linears().contains("block.m"));
  CHECK(stored.tensors().size() == 4);
  CHECK(stored.scales().at("rounded_scales") == 1);
  CHECK(dequantized.as<float>()[0] == 0.0999755859375F);  // 0.1 as float16
  CHECK(dequantized.as<float>()[kIn] == 0.25F);
}

TEST_CASE("store_layer: a weight that is not what its codes stand for is refused", "[core][run]") {
  QuantizeSink sink;
  HostTensor dequantized(kFloat32, {kOut, kIn});
  fill(sink, dequantized);
  dequantized.as<float>()[kIn + 3] = 0.26F;
  CHECK(fault_of(sink, dequantized).find("block.m: element [1, 3] is ") == 0);
}

TEST_CASE("store_layer: results without codes are refused, linears in float are left out",
          "[core][run]") {
  QuantizeSink sink;
  HostTensor dequantized(kFloat32, {kOut, kIn});
  CHECK(fault_of(sink, dequantized) == "block.m: the quantizer gives no codes, which a file needs");
  sink.texts["skipped"] = "kept in float";
  FormatWriter nothing = written();
  store_layer(nothing, linear("m"), sink, dequantized);
  CHECK(nothing.linears().empty());
  fill(sink, dequantized);
  CHECK(fault_of(sink, dequantized, "embedding") ==
        "block.m: an embedding; files hold codes of linears");
  sink.tensors.erase("zeros");
  CHECK(fault_of(sink, dequantized) ==
        "block.m: the quantizer gives no zeros [out, groups], which a file needs");
}

}  // namespace quench::test
