// Against ml_dtypes, bit for bit, and blocks against numpy
// (tests/data/number_formats_reference.py).
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "shared/number_formats/number_format.hpp"
#include "shared/number_formats/scale_by_force.hpp"
#include "shared/number_formats/scale_chooser.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

using namespace number_formats;

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() /
                                     "tests/data/number_formats_reference.safetensors");
  return kFile;
}

struct Named {
  const char* name;
  FloatElement element;
};
constexpr Named kElements[] = {
    {"e2m1", kE2M1}, {"e2m3", kE2M3}, {"e3m2", kE3M2}, {"e4m3", kE4M3}, {"e5m2", kE5M2}};

std::string key(const char* name, const char* tensor) {
  return std::string(name) + "." + tensor;
}

// Equal to the bit but for the payload of a NaN.
bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Blocks in which every choice occurs: normal values, a few that are much larger, and blocks whose
// values lie where the rule's scale has no element.
std::vector<std::vector<double>> blocks_of(int64_t size, double times) {
  std::mt19937_64 engine(77);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> out;
  for (int i = 0; i < 150; ++i) {
    std::vector<double> block(static_cast<size_t>(size));
    for (double& x : block) {
      x = times * normal(engine) * (i % 3 == 1 ? std::fabs(normal(engine)) : 1);
    }
    if (i % 5 ==
        0) {  // half the rule's scale has elements where that has ties, and cuts off one value
      for (size_t k = 1; k < block.size(); ++k) {
        block[k] = std::copysign(times * (i % 2 == 0 ? 0.25 : (2 * (k % 8) + 1) / 16.0), block[k]);
      }
      block[0] = 4 * times;
    } else if (i % 5 == 1) {  // 7/8 of the rule's scale of nvfp4 has all of them but the largest
      const double fitting[] = {5.25, 2.625, 3.5, 1.75, 0.875};
      for (size_t k = 1; k < block.size(); ++k) {
        block[k] = std::copysign(times * fitting[k % 5], block[k]);
      }
      block[0] = 6 * times;
    }
    out.push_back(std::move(block));
  }
  return out;
}

int64_t size_with(const NumberFormat& format) {
  return format.block > 0 ? format.block : 48;
}

}  // namespace

TEST_CASE("a float element stands for the number that ml_dtypes has", "[shared][number_formats]") {
  for (const auto& [name, element] : kElements) {
    const auto numbers = reference().elements<double>(key(name, "numbers"));
    REQUIRE(numbers.size() == size_t{1} << element.bits());
    for (size_t code = 0; code < numbers.size(); ++code) {
      CAPTURE(name, code, numbers[code]);
      CHECK(same_number(decode(element, static_cast<uint8_t>(code)), numbers[code]));
    }
  }
}

TEST_CASE("a float element is encoded as ml_dtypes does it, saturating or not",
          "[shared][number_formats]") {
  for (const auto& [name, element] : kElements) {
    const auto inputs = reference().elements<double>(key(name, "inputs"));
    const auto codes = reference().elements<uint8_t>(key(name, "codes"));
    const auto saturated = reference().elements<uint8_t>(key(name, "saturated"));
    REQUIRE(inputs.size() > size_t{4} << element.bits());
    for (size_t i = 0; i < inputs.size(); ++i) {
      CAPTURE(name, i, inputs[i]);
      CHECK(int{encode(element, inputs[i], Overflow::kSpecial)} == int{codes[i]});
      CHECK(int{encode(element, inputs[i])} == int{saturated[i]});
    }
  }
}

TEST_CASE("a float element's largest numbers are those of its specification",
          "[shared][number_formats]") {
  const double largest[] = {6, 7.5, 28, 448, 57344};
  const int exponents[] = {2, 2, 4, 8, 15};
  for (size_t i = 0; i < std::size(kElements); ++i) {
    const FloatElement& element = kElements[i].element;
    CAPTURE(kElements[i].name);
    CHECK(decode(element, static_cast<uint8_t>(element.largest_code())) == largest[i]);
    CHECK(element.largest_exponent() == exponents[i]);
  }
}

TEST_CASE("a scale in E8M0 is a power of two, as ml_dtypes has it", "[shared][number_formats]") {
  const auto numbers = reference().elements<double>("e8m0.numbers");
  REQUIRE(numbers.size() == 256);
  for (size_t code = 0; code < 256; ++code) {
    CHECK(same_number(decode_e8m0(static_cast<uint8_t>(code)), numbers[code]));
  }
}

// E2M1: emax = 2. 8 = 2^3 and 15.9 give 2^1; 7.99 gives 2^0.
TEST_CASE("a scale in E8M0 is 2^(floor(log2 a) - emax), within its range",
          "[shared][number_formats]") {
  CHECK(decode_e8m0(e8m0_of(8, 2)) == 2);
  CHECK(decode_e8m0(e8m0_of(15.9, 2)) == 2);
  CHECK(decode_e8m0(e8m0_of(7.99, 2)) == 1);
  CHECK(decode_e8m0(e8m0_of(0.75, 2)) == 0.125);
  CHECK(int{e8m0_of(0, 2)} == 0);
  CHECK(int{e8m0_of(5e-324, 15)} == 0);
  CHECK(int{e8m0_of(1e300, 2)} == 254);
  CHECK(int{e8m0_of(std::numeric_limits<double>::quiet_NaN(), 2)} == 255);
}

TEST_CASE("a number format is found by its name", "[shared][number_formats]") {
  for (const NumberFormat& format : number_formats::number_formats()) {
    CHECK(find_number_format(format.name) == &format);
  }
  CHECK(find_number_format("fp4") == nullptr);
  CHECK(std::string(float_format_names()) ==
        "mxfp4|mxfp6_e2m3|mxfp6_e3m2|mxfp8_e4m3|mxfp8_e5m2|nvfp4|fp8_e4m3|fp8_e5m2|ternary|binary");
}

TEST_CASE("a number format rounds blocks as the reference in numpy does",
          "[shared][number_formats]") {
  const auto weight = reference().elements<float>("W.linear");
  const int64_t rows = reference().shape("W.linear")[0];
  const int64_t columns = reference().shape("W.linear")[1];
  double largest = 0;
  for (const float x : weight) {
    largest = std::max(largest, std::fabs(static_cast<double>(x)));
  }
  int compared = 0;
  for (const NumberFormat& format : number_formats::number_formats()) {
    const std::string name(format.name);
    if (!reference().has(name + ".weight")) {
      CHECK(format.type == ElementType::kInteger);
      continue;
    }
    CAPTURE(name);
    const auto wanted = reference().elements<double>(name + ".weight");
    const auto wanted_scales = reference().elements<double>(name + ".scales");
    const int64_t block = rows * columns / static_cast<int64_t>(wanted_scales.size());
    CHECK((format.block == 0 || format.block == block));
    const double tensor_scale = format.tensor_scale_of(largest);
    std::vector<double> values(weight.begin(), weight.end());
    std::vector<double> scales;
    for (int64_t first = 0; first < rows * columns; first += block) {
      scales.push_back(round_block(format, values.data() + first, block, tensor_scale));
    }
    CHECK(differences(scales, wanted_scales) == "");
    CHECK(differences(values, wanted) == "");
    ++compared;
  }
  CHECK(compared == 10);
}

// torchao 0.18 computes in float32. It stops at the exponent of float32's normal numbers, so a row
// of subnormal ones is left out where that matters (row 3, MX types of 8 bits).
TEST_CASE("an MX format rounds blocks as torchao does", "[shared][number_formats]") {
  const int64_t columns = reference().shape("W.linear")[1];
  for (const NumberFormat& format : number_formats::number_formats()) {
    if (format.scale != ScaleType::kE8M0) {
      continue;
    }
    const std::string name(format.name);
    CAPTURE(name);
    auto values = reference().elements<float>("W.linear");
    const auto wanted = reference().elements<float>(name + ".torchao");
    const auto scales = reference().elements<uint8_t>(name + ".torchao_scales");
    for (size_t b = 0; b < scales.size(); ++b) {
      const auto first = static_cast<int64_t>(b) * format.block;
      const double scale = round_block(format, values.data() + first, format.block);
      if (format.element_bits == 8 && first / columns == 3) {
        continue;
      }
      CAPTURE(b);
      CHECK(int{format.scale_code(scale)} == int{scales[b]});
      for (int64_t i = first; i < first + format.block; ++i) {
        CHECK(values[static_cast<size_t>(i)] == wanted[static_cast<size_t>(i)]);
      }
    }
  }
}

// torchao multiplies by a reciprocal in float32 and lets no scale be below 2^-6, the least normal
// E4M3; here subnormal ones are used, down to 2^-9.
TEST_CASE("nvfp4 rounds blocks as torchao does where its scales are normal",
          "[shared][number_formats]") {
  const NumberFormat& format = *find_number_format("nvfp4");
  const auto weight = reference().elements<float>("W.linear");
  const auto wanted = reference().elements<float>("nvfp4.torchao");
  const auto scales = reference().elements<uint8_t>("nvfp4.torchao_scales");
  float largest = 0;
  for (const float x : weight) {
    largest = std::max(largest, std::fabs(x));
  }
  const double tensor_scale = format.tensor_scale_of(largest);
  constexpr int kLeastNormal = 8;
  int normal = 0;
  for (size_t b = 0; b < scales.size(); ++b) {
    const auto first = static_cast<int64_t>(b) * format.block;
    std::vector<double> values(weight.begin() + first, weight.begin() + first + format.block);
    const double scale = round_block(format, values.data(), format.block, tensor_scale);
    const int code = format.scale_code(scale, tensor_scale);
    CAPTURE(b, code);
    CHECK(std::max(code, kLeastNormal) == int{scales[b]});
    if (code < kLeastNormal) {
      continue;
    }
    ++normal;
    for (size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] == Approx(wanted[static_cast<size_t>(first) + i]).epsilon(1e-6));
    }
  }
  CHECK(normal > 100);
}

TEST_CASE("a number format's codes stand for its elements, and a stored scale for itself",
          "[shared][number_formats]") {
  for (const NumberFormat& format : number_formats::number_formats()) {
    CAPTURE(std::string(format.name));
    const std::array<double, 256> elements = elements_of(format);
    for (int64_t code = 0; code < format.entries(); ++code) {
      const double element = elements[static_cast<size_t>(code)];
      if (!std::isfinite(element)) {
        continue;
      }
      CAPTURE(code, element);
      CHECK(int64_t{format.code_of(element * 0.375, 0.375)} == code);
      CHECK(std::fabs(element) <= format.largest());
    }
    CHECK(format.element_of(format.code_of(1e300, 1)) == format.largest());
    CHECK(format.element_of(format.code_of(-1e300, 1)) == -format.largest());
    const double tensor_scale = format.tensor_scale_of(3);
    const double scale = format.scale_of(0.7, tensor_scale);
    if (format.scale == ScaleType::kE8M0) {
      CHECK(decode_e8m0(format.scale_code(scale)) == scale);
    } else if (format.scale == ScaleType::kTwoLevel) {
      CHECK(tensor_scale * decode(kE4M3, format.scale_code(scale, tensor_scale)) == scale);
    } else {
      CHECK(static_cast<double>(static_cast<float>(scale)) == scale);
    }
  }
}

// amax = 1: the tensor's scale is 1 / (6 · 448). A block whose largest is 1e-9 of it would have the
// scale 0 in E4M3; it gets 2^-9, so it becomes 0 and nothing is divided by 0.
TEST_CASE("nvfp4 gives a block that is too small the least scale", "[shared][number_formats]") {
  const NumberFormat& format = *find_number_format("nvfp4");
  const double tensor_scale = format.tensor_scale_of(1);
  CHECK(tensor_scale == static_cast<double>(static_cast<float>(1.0 / 2688)));
  double values[2] = {1e-9, -1e-9};
  CHECK(round_block(format, values, 2, tensor_scale) == tensor_scale / 512);
  CHECK(values[0] == 0);
  CHECK(values[1] == 0);
}

TEST_CASE("a number format counts its scales", "[shared][number_formats]") {
  const auto bits = [](const char* name, double values, double scales) {
    return find_number_format(name)->bits_per_value(values, scales);
  };
  CHECK(bits("mxfp4", 1024, 32) == 4.25);
  CHECK(bits("mxfp6_e3m2", 1024, 32) == 6.25);
  CHECK(bits("mxfp8_e5m2", 1024, 32) == 8.25);
  CHECK(bits("nvfp4", 1024, 64) == 4.5 + 32.0 / 1024);
  CHECK(bits("fp8_e4m3", 1024, 8) == 8.25);
  CHECK(bits("ternary", 1024, 8) == Approx(1.6 + 0.25));
  CHECK(bits("binary", 1024, 8) == 1.25);
}

TEST_CASE("a number format keeps zeros and does not hide what is not finite",
          "[shared][number_formats]") {
  for (const NumberFormat& format : number_formats::number_formats()) {
    CAPTURE(std::string(format.name));
    double zeros[3] = {0, 0, 0};
    round_block(format, zeros, 3, format.tensor_scale_of(1));
    CHECK((zeros[0] == 0 && zeros[1] == 0 && zeros[2] == 0));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      double values[3] = {1, bad, 1};
      CHECK_FALSE(std::isfinite(round_block(format, values, 3)));
    }
  }
}

TEST_CASE("a scale of the least squared error is the best of all that its format stores",
          "[shared][number_formats]") {
  for (const NumberFormat& format : number_formats::number_formats()) {
    if (format.type == ElementType::kInteger) {
      continue;
    }
    CAPTURE(std::string(format.name));
    int less = 0;
    int more = 0;
    for (const double times : {1.0, 5e-4, 3e-5}) {
      const double tensor_scale = format.tensor_scale_of(30);
      ScaleChooser usual(format, ScaleRule::kOfFormat, tensor_scale);
      ScaleChooser chooser(format, ScaleRule::kLeastSquares, tensor_scale);
      for (const std::vector<double>& block : blocks_of(size_with(format), times)) {
        const auto count = static_cast<int64_t>(block.size());
        const double rule = usual.scale_of(block.data(), count);
        REQUIRE(rule == format.scale_of(statistic_of(format, block.data(), count), tensor_scale));
        const double found = chooser.scale_of(block.data(), count);
        REQUIRE(found == by_force::least_squares_scale(format, block, tensor_scale));
        less += found < rule ? 1 : 0;
        more += found > rule ? 1 : 0;
      }
    }
    if (format.type == ElementType::kBinary) {
      CHECK((less == 0 && more == 0));
    } else if (format.type == ElementType::kTernary) {
      CHECK(more > 300);
    } else {
      // With more bits of exponent a lesser scale gains too little where elements are subnormal.
      CHECK((format.block == 0 || (less > 0) == (format.element.exponent_bits == 2)));
      CHECK(more > 0);
    }
  }
}

// Against scales between all of those that the oracle tries, too.
TEST_CASE("no scale of ternary values has a lesser squared error than the mean of those it keeps",
          "[shared][number_formats]") {
  const NumberFormat& format = *find_number_format("ternary");
  ScaleChooser chooser(format, ScaleRule::kLeastSquares);
  const std::vector<double> elements = by_force::element_magnitudes(format);
  for (const std::vector<double>& block : blocks_of(48, 0.02)) {
    const double found = chooser.scale_of(block.data(), 48);
    const double least = by_force::squared_error(block, found, elements);
    const double largest = statistic_of(*find_number_format("fp8_e4m3"), block.data(), 48);
    for (int i = 0; i <= 1000; ++i) {
      REQUIRE(least <= by_force::squared_error(block, largest * i / 1000, elements) * (1 + 1e-12));
    }
    double kept = 0;
    double sum = 0;
    for (const double x : block) {
      const bool one = format.element_of(format.code_of(std::fabs(x), found)) == 1;
      kept += one ? 1 : 0;
      sum += one ? std::fabs(x) : 0;
    }
    REQUIRE(found == static_cast<double>(static_cast<float>(sum / kept)));
  }
}

// 4, 2, 1: 4^2 = 16, 6^2 / 2 = 18, 7^2 / 3 = 16.3, so two are kept. 3, 1, 1, 1: 3^2 = 6^2 / 4 = 9,
// of which the fewest are kept.
TEST_CASE("a ternary scale keeps the magnitudes that a sum by hand says",
          "[shared][number_formats]") {
  const NumberFormat& format = *find_number_format("ternary");
  ScaleChooser chooser(format, ScaleRule::kLeastSquares);
  const double three[] = {1, -4, 2};
  CHECK(chooser.scale_of(three, 3) == 3);
  const double tie[] = {1, 3, -1, 1};
  CHECK(chooser.scale_of(tie, 4) == 3);
  const double equal[] = {-0.5, 0.5, 0.5};
  CHECK(chooser.scale_of(equal, 3) == 0.5);
  const float strided[] = {1, 9, -4, 9, 2, 9};
  CHECK(chooser.scale_of(strided, 3, 2) == 3);
}

// t = 1. 7/8 has all but 6; of 4 and fifteen 3, a/4 = 1 has all.
TEST_CASE("an nvfp4 scale may lie on either side of the rule's", "[shared][number_formats]") {
  const NumberFormat& format = *find_number_format("nvfp4");
  ScaleChooser chooser(format, ScaleRule::kLeastSquares, 1);
  std::vector<double> block = {6,   5.25, 2.625, 3.5,  1.75,  0.875, 5.25, -2.625,
                               3.5, 1.75, 0.875, 5.25, 2.625, -3.5,  1.75, 0.875};
  CHECK(format.scale_of(6, 1) == 1);
  CHECK(chooser.scale_of(block.data(), 16) == 0.875);
  block.assign(16, 3.0);
  block[0] = 4;
  CHECK(chooser.scale_of(block.data(), 16) == 1);
  CHECK(format.scale_of(4, 1) < 1);
}

TEST_CASE("a scale of the least squared error keeps zeros and does not hide what is not finite",
          "[shared][number_formats]") {
  for (const NumberFormat& format : number_formats::number_formats()) {
    CAPTURE(std::string(format.name));
    ScaleChooser chooser(format, ScaleRule::kLeastSquares, format.tensor_scale_of(1));
    const double zeros[3] = {0, 0, 0};
    CHECK(chooser.scale_of(zeros, 3) == format.scale_of(0, format.tensor_scale_of(1)));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      const double values[3] = {1, bad, 1};
      CHECK_FALSE(std::isfinite(chooser.scale_of(values, 3)));
    }
  }
}

}  // namespace quench::test
