#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/checkpoint/dtype.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/plugins/formats/packed/written_folder.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// A linear of made-up codes, with what a quench_coded_linear points to.
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
      : out(rows),
        in(columns),
        groups(group_size == -1 ? 1 : (columns + group_size - 1) / group_size),
        bits(width) {
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

  quench_coded_linear coded(const char* name = "block.0.m") const {
    return {sizeof(quench_coded_linear),
            name,
            out,
            in,
            groups,
            bits,
            codes.data(),
            scales.data(),
            zeros.data(),
            g_idx.data()};
  }
};

// The weight that the file holds.
std::vector<float> store(Written& written, const MadeLinear& linear,
                         const char* name = "block.0.m") {
  return written.store(linear.coded(name), linear.codes.size());
}

std::string fault_of(const std::string& format, const MadeLinear& linear) {
  return format_message_of([&] {
    Written written(format);
    store(written, linear);
  });
}

}  // namespace

TEST_CASE("stored linears: read back with the bits that were promised, in every format",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  const auto [format, bits, group_size, symmetric] =
      GENERATE(table<std::string, int64_t, int64_t, bool>({
          {"gptq", 2, 32, true},
          {"gptq", 3, 32, true},
          {"gptq", 4, 32, true},
          {"gptq", 8, -1, true},
          {"gptq_v2", 2, 32, false},
          {"gptq_v2", 3, 32, false},
          {"gptq_v2", 4, -1, false},
          {"gptq_v2", 8, 32, false},
          {"awq", 4, 32, false},
          {"awq", 4, -1, true},
          {"bnb_int8", 8, -1, true},
          {"bnb_int8", 4, -1, true},
          {"compressed-tensors", 3, 32, true},
          {"compressed-tensors", 4, 32, false},
          {"compressed-tensors", 8, -1, true},
          {"compressed-tensors", 5, 32, false},
      }));
  CAPTURE(format, bits, group_size, symmetric);
  const MadeLinear made(64, 96, group_size, bits, symmetric);
  Written written(format);
  const std::vector<float> stored = store(written, made);
  const TemporaryDir folder;
  const nlohmann::json scheme = written.write(folder);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  REQUIRE(checkpoint.quantization.is_object());
  CHECK(checkpoint.quantization.at("format") == format);
  CHECK(checkpoint.quantization.at("symmetric") == (format == "awq" ? false : symmetric));
  CHECK(scheme.at("group_size") == group_size);
  const std::vector<float> back =
      read_float32(*checkpoint.source, checkpoint.source->index_of("block.0.m.weight"));
  REQUIRE(back.size() == stored.size());
  CHECK(std::memcmp(back.data(), stored.data(), back.size() * sizeof(float)) == 0);
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

TEST_CASE("stored linears: an order of quantization comes back",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  const std::string format = GENERATE("gptq", "compressed-tensors");
  MadeLinear made(64, 96, 32, 4, true);
  for (size_t c = 0; c < made.g_idx.size(); ++c) {
    made.g_idx[c] = static_cast<int32_t>(c % 3);
  }
  Written written(format);
  const std::vector<float> stored = store(written, made);
  const TemporaryDir folder;
  CHECK(written.write(folder).at("ordered") == true);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  CHECK(checkpoint.quantization.at("ordered") == true);
  CHECK(differences(read_float32(*checkpoint.source, 0), stored) == "");
}

TEST_CASE("stored linears: beside one with an order, one with a single group has its groups too",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  MadeLinear ordered(64, 96, 32, 4, true);
  std::swap(ordered.g_idx.front(), ordered.g_idx.back());
  const MadeLinear single(64, 32, -1, 4, true);
  Written both("compressed-tensors");
  store(both, ordered, "a");
  const size_t first = both.tensors().size();
  store(both, single, "b");
  const size_t with = both.tensors().size() - first;
  both.finish();
  CHECK(both.tensors().size() == first + with);
  Written alone("compressed-tensors");
  store(alone, single);
  CHECK(alone.tensors().size() == with);
  alone.finish();
  CHECK(alone.tensors().size() == with - 1);
}

TEST_CASE("stored linears: what a format cannot hold is refused by what it is",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  const std::string m = "block.0.m: ";
  CHECK(fault_of("awq", {64, 96, 32, 3, true}) == m + "3 bits; awq holds 4");
  CHECK(fault_of("gptq", {64, 96, 32, 5, true}) == m + "5 bits; gptq holds 2, 3, 4 and 8");
  CHECK(fault_of("gptq", {64, 96, 32, 4, false}) ==
        m + "an asymmetric grid; gptq holds zero points less one, and 0 does not fit: gptq_v2 "
            "does");
  CHECK(fault_of("bnb_int8", {64, 96, 32, 8, true}) ==
        m + "groups of 32; bnb_int8 has one scale for a row");
  CHECK(fault_of("bnb_int8", {64, 96, -1, 8, false}) ==
        m + "an asymmetric grid; bnb_int8 has no zero points");
  CHECK(fault_of("gptq", {60, 96, 32, 4, true}) ==
        m + "60 output rows; gptq of 4 bits wants a multiple of 8");
  CHECK(fault_of("gptq_v2", {64, 48, -1, 3, true}) ==
        m + "48 input columns; gptq_v2 of 3 bits wants a multiple of 32");
  for (const std::string format : {"awq", "compressed-tensors", "gptq"}) {
    // 5 groups of 32 columns and one of 20, which are no 6 of 30.
    CHECK(fault_of(format, {64, 180, 32, 4, true}) ==
          m + "180 input columns; " + format + " wants a multiple of the group size, 32");
  }
  MadeLinear uneven(64, 96, 32, 4, true);
  std::fill(uneven.g_idx.begin(), uneven.g_idx.begin() + 48, 0);
  CHECK(fault_of("gptq", uneven) ==
        m + "3 groups of up to 48 columns for 96; formats hold groups of one size");
  MadeLinear ordered(64, 96, 32, 4, true);
  std::swap(ordered.g_idx.front(), ordered.g_idx.back());
  CHECK(fault_of("awq", ordered) ==
        m + "groups in the order of quantization; awq has groups of neighbours");
  MadeLinear zero(64, 96, 32, 4, false);
  zero.zeros[5] = 0.5;
  CHECK(fault_of("gptq_v2", zero) == m + "zero point 0.5, formats hold integers of 0 to 15");
  MadeLinear large(64, 96, 32, 4, true);
  large.scales[3] = 1e6;
  CHECK(fault_of("gptq", large) == m + "scale 1000000 of row 1 is beyond float16");
}

TEST_CASE("stored linears: scales that float16 has are not changed",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  MadeLinear made(64, 96, 32, 4, true);
  std::fill(made.scales.begin(), made.scales.end(), 0.0078125);
  const auto scales_of = [](const MadeLinear& linear) {
    Written written("gptq");
    store(written, linear);
    return written.scales();
  };
  const nlohmann::json same = scales_of(made);
  CHECK(same.at("rounded_scales") == 0);
  CHECK(same.at("largest_scale_change") == 0);
  made.scales[0] = 0.01;
  const nlohmann::json rounded = scales_of(made);
  CHECK(rounded.at("rounded_scales") == 1);
  CHECK(rounded.at("largest_scale_change") > 0);
  CHECK(rounded.at("largest_scale_change") < std::ldexp(1.0, -11));
}

TEST_CASE("stored linears: linears of several schemes have none in common",
          "[formats][packed][awq][bnb_int8][compressed-tensors][gptq][gptq_v2]") {
  const auto scheme = [](const MadeLinear& a, const MadeLinear& b) {
    Written written("gptq");
    store(written, a, "a");
    store(written, b, "b");
    return written.finish().quantization;
  };
  const auto made = [](int64_t in, int64_t group_size, int64_t bits) {
    return MadeLinear(64, in, group_size, bits, true);
  };
  CHECK(scheme(made(96, 32, 4), made(64, 32, 4)).at("group_size") == 32);
  CHECK(scheme(made(32, -1, 4), made(96, 32, 4)).at("group_size") == 32);
  CHECK_THAT(message_of([&] { scheme(made(96, 32, 4), made(96, 32, 3)); }),
             Catch::Contains("differ in their grids (4 and 3 bits)"));
  CHECK_THAT(message_of([&] { scheme(made(96, -1, 4), made(96, 32, 4)); }),
             Catch::Contains("differ in their groups"));
}

}  // namespace quench::test
