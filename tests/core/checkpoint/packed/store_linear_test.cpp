#include "core/checkpoint/packed/store_linear.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

// A linear of made-up codes, with what a CodedLinear points to.
struct MadeLinear {
  int64_t out;
  int64_t in;
  int64_t groups;
  int64_t bits;
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;

  MadeLinear(int64_t rows, int64_t columns, int64_t group_size, int64_t width, bool symmetric)
      : out(rows), in(columns), groups(group_size == -1 ? 1 : columns / group_size), bits(width) {
    uint32_t state = 7;
    const auto next = [&](uint32_t below) {
      state = state * 1664525U + 1013904223U;
      return (state >> 8) % below;
    };
    const auto levels = static_cast<uint32_t>(1U << width);
    for (int64_t i = 0; i < rows * columns; ++i) {
      codes.push_back(static_cast<uint8_t>(next(levels)));
    }
    for (int64_t i = 0; i < rows * groups; ++i) {
      scales.push_back(0.001 + 0.01 * static_cast<double>(next(1000)) / 997);
      zeros.push_back(symmetric ? levels / 2 : next(levels));
    }
    for (int64_t c = 0; c < columns; ++c) {
      g_idx.push_back(static_cast<int32_t>(group_size == -1 ? 0 : c / group_size));
    }
  }

  CodedLinear coded() const {
    return {"block.0.m", out, in, groups, bits, codes, scales, zeros, g_idx};
  }
};

// A folder of this one linear, as it would be written.
void write(StoredLinear linear, const TemporaryDir& folder) {
  std::vector<StoredLinear> linears = {std::move(linear)};
  const QuantizationConfig scheme = common_scheme(linears);
  drop_unused(scheme, linears);
  SafetensorsWriter writer(folder / "model.safetensors");
  for (const PackedTensor& tensor : linears[0].tensors) {
    writer.declare({tensor.name, tensor.dtype, tensor.shape, 0});
  }
  for (const PackedTensor& tensor : linears[0].tensors) {
    writer.write(tensor.bytes.data(), tensor.bytes.size());
  }
  writer.finish();
  const nlohmann::json config = quantization_config_of(scheme, {}, false);
  folder.write("config.json", nlohmann::json{{"quantization_config", config}}.dump());
}

std::string fault_of(PackedFormat format, const MadeLinear& linear) {
  return message_of([&] { store_linear(format, linear.coded()); });
}

}  // namespace

TEST_CASE("stored linears: read back with the bits that were promised, in every format",
          "[core][checkpoint][packed]") {
  const auto [format, bits, group_size, symmetric] =
      GENERATE(table<PackedFormat, int64_t, int64_t, bool>({
          {PackedFormat::kGptq, 2, 32, true},
          {PackedFormat::kGptq, 3, 32, true},
          {PackedFormat::kGptq, 4, 32, true},
          {PackedFormat::kGptq, 8, -1, true},
          {PackedFormat::kGptqV2, 2, 32, false},
          {PackedFormat::kGptqV2, 3, 32, false},
          {PackedFormat::kGptqV2, 4, -1, false},
          {PackedFormat::kGptqV2, 8, 32, false},
          {PackedFormat::kAwqGemm, 4, 32, false},
          {PackedFormat::kAwqGemm, 4, -1, true},
          {PackedFormat::kBitsandbytesInt8, 8, -1, true},
          {PackedFormat::kBitsandbytesInt8, 4, -1, true},
          {PackedFormat::kCompressedTensors, 3, 32, true},
          {PackedFormat::kCompressedTensors, 4, 32, false},
          {PackedFormat::kCompressedTensors, 8, -1, true},
          {PackedFormat::kCompressedTensors, 5, 32, false},
      }));
  CAPTURE(format_name(format), bits, group_size, symmetric);
  const MadeLinear made(64, 96, group_size, bits, symmetric);
  const StoredLinear stored = store_linear(format, made.coded());
  const TemporaryDir folder;
  write(stored, folder);
  const CheckpointFolder checkpoint = open_checkpoint_folder(folder.path());
  REQUIRE(checkpoint.quantization);
  CHECK(checkpoint.quantization->format == format);
  CHECK(checkpoint.quantization->symmetric ==
        (format == PackedFormat::kAwqGemm ? false : symmetric));
  const std::vector<float> back =
      read_float32(*checkpoint.source, checkpoint.source->index_of("block.0.m.weight"));
  REQUIRE(back.size() == stored.weight.size());
  CHECK(std::memcmp(back.data(), stored.weight.data(), back.size() * sizeof(float)) == 0);
  double worst = 0;  // against the weight that was quantized to
  for (size_t i = 0; i < back.size(); ++i) {
    const size_t group =
        i / 96 * static_cast<size_t>(made.groups) + static_cast<size_t>(made.g_idx[i % 96]);
    const double wanted = made.scales[group] * (made.codes[i] - made.zeros[group]);
    worst = std::max(worst, std::fabs(back[i] - wanted) / made.scales[group]);
  }
  // Half a unit of float16's last place, times the largest code.
  CHECK(worst <= std::ldexp(1.0, -11) * std::ldexp(1.0, static_cast<int>(bits)));
}

TEST_CASE("stored linears: an order of quantization comes back", "[core][checkpoint][packed]") {
  const PackedFormat format = GENERATE(PackedFormat::kGptq, PackedFormat::kCompressedTensors);
  MadeLinear made(64, 96, 32, 4, true);
  for (size_t c = 0; c < made.g_idx.size(); ++c) {
    made.g_idx[c] = static_cast<int32_t>(c % 3);
  }
  const StoredLinear stored = store_linear(format, made.coded());
  CHECK(stored.scheme.ordered);
  const TemporaryDir folder;
  write(stored, folder);
  const CheckpointFolder checkpoint = open_checkpoint_folder(folder.path());
  CHECK(checkpoint.quantization->ordered);
  CHECK(differences(read_float32(*checkpoint.source, 0), stored.weight) == "");
}

TEST_CASE("stored linears: beside one with an order, one with a single group has its groups too",
          "[core][checkpoint][packed]") {
  MadeLinear ordered(64, 96, 32, 4, true);
  std::swap(ordered.g_idx.front(), ordered.g_idx.back());
  const MadeLinear single(64, 32, -1, 4, true);
  std::vector<StoredLinear> linears = {
      store_linear(PackedFormat::kCompressedTensors, ordered.coded()),
      store_linear(PackedFormat::kCompressedTensors, single.coded())};
  const size_t with = linears[1].tensors.size();
  drop_unused(common_scheme(linears), linears);
  CHECK(linears[1].tensors.size() == with);
  linears.erase(linears.begin());
  drop_unused(common_scheme(linears), linears);
  CHECK(linears[0].tensors.size() == with - 1);
}

TEST_CASE("stored linears: what a format cannot hold is refused by what it is",
          "[core][checkpoint][packed]") {
  const std::string m = "block.0.m: ";
  CHECK(fault_of(PackedFormat::kAwqGemm, {64, 96, 32, 3, true}) == m + "3 bits; awq holds 4");
  CHECK(fault_of(PackedFormat::kGptq, {64, 96, 32, 5, true}) ==
        m + "5 bits; gptq holds 2, 3, 4 and 8");
  CHECK(fault_of(PackedFormat::kGptq, {64, 96, 32, 4, false}) ==
        m + "an asymmetric grid; gptq holds zero points less one, and 0 does not fit: gptq_v2 "
            "does");
  CHECK(fault_of(PackedFormat::kBitsandbytesInt8, {64, 96, 32, 8, true}) ==
        m + "groups of 32; bnb_int8 has one scale for a row");
  CHECK(fault_of(PackedFormat::kBitsandbytesInt8, {64, 96, -1, 8, false}) ==
        m + "an asymmetric grid; bnb_int8 has no zero points");
  CHECK(fault_of(PackedFormat::kGptq, {60, 96, 32, 4, true}) ==
        m + "60 output rows; gptq of 4 bits wants a multiple of 8");
  CHECK(fault_of(PackedFormat::kGptqV2, {64, 48, -1, 3, true}) ==
        m + "48 input columns; gptq_v2 of 3 bits wants a multiple of 32");
  MadeLinear ordered(64, 96, 32, 4, true);
  std::swap(ordered.g_idx.front(), ordered.g_idx.back());
  CHECK(fault_of(PackedFormat::kAwqGemm, ordered) ==
        m + "groups in the order of quantization; awq has groups of neighbours");
  MadeLinear zero(64, 96, 32, 4, false);
  zero.zeros[5] = 0.5;
  CHECK(fault_of(PackedFormat::kGptqV2, zero) ==
        m + "zero point 0.5, formats hold integers of 0 to 15");
  MadeLinear large(64, 96, 32, 4, true);
  large.scales[3] = 1e6;
  CHECK(fault_of(PackedFormat::kGptq, large) == m + "scale 1000000 of row 1 is beyond float16");
}

TEST_CASE("stored linears: scales that float16 has are not changed", "[core][checkpoint][packed]") {
  MadeLinear made(64, 96, 32, 4, true);
  std::fill(made.scales.begin(), made.scales.end(), 0.0078125);
  const StoredLinear same = store_linear(PackedFormat::kGptq, made.coded());
  CHECK(same.rounded_scales == 0);
  CHECK(same.largest_change == 0);
  made.scales[0] = 0.01;
  const StoredLinear rounded = store_linear(PackedFormat::kGptq, made.coded());
  CHECK(rounded.rounded_scales == 1);
  CHECK(rounded.largest_change > 0);
  CHECK(rounded.largest_change < std::ldexp(1.0, -11));
}

TEST_CASE("stored linears: linears of several schemes have none in common",
          "[core][checkpoint][packed]") {
  const auto stored = [](int64_t in, int64_t group_size, int64_t bits) {
    return store_linear(PackedFormat::kGptq, MadeLinear(64, in, group_size, bits, true).coded());
  };
  CHECK(common_scheme({stored(96, 32, 4), stored(64, 32, 4)}).group_size == 32);
  CHECK(common_scheme({stored(32, -1, 4), stored(96, 32, 4)}).group_size == 32);
  CHECK(message_of([&] {
          common_scheme({stored(96, 32, 4), stored(96, 32, 3)});
        }).find("differ in their grids (4 and 3 bits)") != std::string::npos);
  CHECK(message_of([&] {
          common_scheme({stored(96, -1, 4), stored(96, 32, 4)});
        }).find("differ in their groups") != std::string::npos);
}

}  // namespace quench::test
