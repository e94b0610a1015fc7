// Rounding of keys and values against tests/data/cache_reference.py, which rounds one number after
// the other in numpy's float64, and by hand.
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "quantizers/cache/cache_rounding.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/quantizers/cache_parameters.hpp"
#include "tests/plugins/quantizers/cached_rows.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

using quantizers::CacheRounding;

struct Cached {
  at::Tensor keys;
  at::Tensor values;
};

// Copies of both as the rounding leaves them.
Cached rounded(const nlohmann::json& parameters, const Cached& given, const Rows& rows) {
  linked_item();  // installs the host
  const Cached out{given.keys.clone(), given.values.clone()};
  CacheRounding(quantizers::cache_settings(cache_parameters(parameters)), 3)
      .apply(out.keys, out.values, rows.batch());
  return out;
}

// Keys and values [N, 1, columns] that are the same numbers.
Cached both(const std::vector<double>& numbers, int64_t columns) {
  const at::Tensor x = at::tensor(numbers, at::TensorOptions(at::kDouble))
                           .view({static_cast<int64_t>(numbers.size()) / columns, 1, columns});
  return {x, x.clone()};
}

std::vector<double> doubles_of(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kDouble).contiguous();
  return {wide.const_data_ptr<double>(), wide.const_data_ptr<double>() + wide.numel()};
}

double furthest(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).sub(b.to(at::kDouble)).abs().max().item<double>();
}

const SafetensorsFile& cache_reference() {
  static const SafetensorsFile kFile(source_dir() / "tests/data/cache_reference.safetensors");
  return kFile;
}

at::Tensor saved(const std::string& name) {
  const std::vector<float> values = cache_reference().elements<float>(name);
  return at::tensor(values, at::TensorOptions(at::kFloat)).view(cache_reference().shape(name));
}

std::string refusal(const nlohmann::json& more) {
  nlohmann::json all = {{"activations", "float"}};
  all.update(more);
  return create_error(all.dump());
}

}  // namespace

TEST_CASE("cache: keys and values become the reference's numbers in every format",
          "[quantizers][cache]") {
  const auto cases =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/cache_reference.json"))
          .at("rounded");
  REQUIRE(cases.size() == 25);
  const Rows rows(2, 10, cache_reference().elements<int32_t>("segments"));
  const Cached given{saved("K"), saved("V")};
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].dump());
    const at::Tensor keys = saved("keys." + std::to_string(i));
    const at::Tensor values = saved("values." + std::to_string(i));
    const Cached narrow = rounded(cases[i], given, rows);
    const Cached wide =
        rounded(cases[i], {given.keys.to(at::kDouble), given.values.to(at::kDouble)}, rows);
    // The order of sums of a rotation differs; both sides round to float32 at the end.
    const double bound = cases[i].contains("cache_rotate") ? 2e-6 : 0;
    CHECK(furthest(narrow.keys, keys) <= bound);
    CHECK(furthest(narrow.values, values) <= bound);
    CHECK(furthest(wide.keys, keys) < 1e-6);  // float32's rounding of the reference
    CHECK(furthest(wide.values, values) < 1e-6);
    CHECK(furthest(narrow.keys, given.keys) > 1e-3);
    CHECK(furthest(narrow.values, given.values) > 1e-3);
  }
}

TEST_CASE("cache: integers between extremes are those worked by hand", "[quantizers][cache]") {
  const Rows rows(1, 3);
  const nlohmann::json by_token = {{"cache", "int2"}, {"cache_group_size", 4}};
  const Cached given = both({1, 2, 3.4, 4,     // steps of 1 from 1
                             -6, -3, -1.5, 0,  // steps of 2 from -6: half to the even code
                             5, 5, 5, 5},      // no range
                            4);
  const Cached tokens = rounded(by_token, given, rows);
  const std::vector<double> wanted = {1, 2, 3, 4, -6, -2, -2, 0, 5, 5, 5, 5};
  CHECK(doubles_of(tokens.keys) == wanted);
  CHECK(doubles_of(tokens.values) == wanted);
  nlohmann::json by_channel = by_token;
  by_channel["cache_keys"] = "channel";
  by_channel["cache_group_size"] = 2;  // tokens 0 and 1, then token 2 alone; and halves of a head
  const Cached channels = rounded(by_channel, given, rows);
  // Two numbers are their own extremes.
  CHECK(furthest(channels.keys, given.keys) < 1e-14);
  by_channel["cache_group_size"] = 4;
  // 1, -6, 5: steps of 11/3; 2, -3, 5: 8/3; 3.4, -1.5, 5: 6.5/3; 4, 0, 5: 5/3.
  const std::vector<double> three = {-6 + 2 * 11.0 / 3,
                                     -3 + 2 * 8.0 / 3,
                                     -1.5 + 2 * 6.5 / 3,
                                     2 * 5.0 / 3,
                                     -6,
                                     -3,
                                     -1.5,
                                     0,
                                     5,
                                     5,
                                     5,
                                     5};
  const std::vector<double> got = doubles_of(rounded(by_channel, given, rows).keys);
  for (size_t i = 0; i < three.size(); ++i) {
    CHECK(got[i] == Approx(three[i]).margin(1e-14));
  }
}

TEST_CASE("cache: what is rotated and not rounded comes back", "[quantizers][cache]") {
  const Rows rows(2, 10, cache_reference().elements<int32_t>("segments"));
  const Cached given{saved("K").to(at::kDouble), saved("V").to(at::kDouble)};
  for (const char* what : {"keys", "both"}) {
    const Cached out = rounded({{"cache_rotate", what}}, given, rows);
    CHECK(furthest(out.keys, given.keys) < 1e-12);
    CHECK(furthest(out.keys, given.keys) > 0);  // it was somewhere else
    CHECK(furthest(out.values, given.values) < 1e-12);
  }
}

TEST_CASE("cache: neighbours of a sequence in its batch change none of its bits",
          "[quantizers][cache]") {
  const nlohmann::json parameters = {{"cache", "int3"},
                                     {"cache_keys", "channel"},
                                     {"cache_values", "channel"},
                                     {"cache_group_size", 8}};
  const Cached given{saved("K"), saved("V")};
  const Cached together = rounded(parameters, given, Rows(2, 10));
  for (int64_t row = 0; row < 2; ++row) {
    const Cached alone = rounded(
        parameters, {given.keys.narrow(0, 10 * row, 10), given.values.narrow(0, 10 * row, 10)},
        Rows(1, 10));
    CHECK(at::equal(alone.keys, together.keys.narrow(0, 10 * row, 10)));
    CHECK(at::equal(alone.values, together.values.narrow(0, 10 * row, 10)));
  }
  // A document in the middle of a row is what it is in a row of its own.
  const Cached packed =
      rounded(parameters, given,
              Rows(1, 20, {1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, -1, -2}));
  const Cached document =
      rounded(parameters, {given.keys.narrow(0, 5, 9), given.values.narrow(0, 5, 9)}, Rows(1, 9));
  CHECK(at::equal(packed.keys.narrow(0, 5, 9), document.keys));
  CHECK(at::equal(packed.keys.narrow(0, 18, 2), given.keys.narrow(0, 18, 2)));  // pads
}

TEST_CASE("cache: the number of threads changes no bit", "[quantizers][cache]") {
  const Cached given{saved("K").repeat({30, 1, 1}), saved("V").repeat({30, 1, 1})};
  for (const char* by : {"token", "channel"}) {
    const nlohmann::json parameters = {
        {"cache", "int4"}, {"cache_keys", by}, {"cache_rotate", "both"}};
    std::vector<Cached> made;
    for (const uint32_t threads : {1, 2, 3}) {
      const HostThreads host(threads);
      made.push_back(rounded(parameters, given, Rows(3, 200)));
    }
    for (const size_t other : {1, 2}) {
      CHECK(at::equal(made[0].keys, made[other].keys));
      CHECK(at::equal(made[0].values, made[other].values));
    }
  }
}

TEST_CASE("cache: 16-bit keys are rounded in float32 and once more to their type",
          "[quantizers][cache]") {
  const Rows rows(2, 10);
  const nlohmann::json parameters = {{"cache", "int4"}};
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const Cached given{saved("K").to(type), saved("V").to(type)};
    const Cached narrow = rounded(parameters, given, rows);
    const Cached wide =
        rounded(parameters, {given.keys.to(at::kFloat), given.values.to(at::kFloat)}, rows);
    CHECK(at::equal(narrow.keys, wide.keys.to(type)));
    CHECK(at::equal(narrow.values, wide.values.to(type)));
    CHECK(narrow.keys.scalar_type() == type);
  }
}

TEST_CASE("cache: what cannot be rounded is told by block, token and head", "[quantizers][cache]") {
  const auto told = [](const nlohmann::json& parameters, const Cached& given) {
    try {
      rounded(parameters, given, Rows(1, given.keys.size(0)));
    } catch (const kit::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Cached given{saved("K"), saved("V")};
  CHECK(told({{"cache", "int4"}, {"cache_group_size", 24}}, given) ==
        "block 3: keys: cache_group_size = 24 does not divide the 32 numbers of a head");
  CHECK(told({{"cache", "int4"}, {"cache_keys", "channel"}, {"cache_group_size", 24}}, given) ==
        "block 3: values: cache_group_size = 24 does not divide the 64 numbers of a head");
  given.values.select(0, 5).select(0, 1).select(0, 9).fill_(std::numeric_limits<float>::infinity());
  CHECK(told({{"cache", "int4"}}, given) == "block 3: values: token 5, head 1: not finite");
  given.keys = given.keys.narrow(2, 0, 23).contiguous();
  CHECK_THAT(told({{"cache", "int4"}, {"cache_keys", "channel"}, {"cache_rotate", "keys"}}, given),
             Catch::Contains("23"));  // no Hadamard matrix
}

TEST_CASE("cache: parameters that contradict each other are refused in one line",
          "[quantizers][cache]") {
  CHECK(create_error(R"({"activations":"float"})") ==
        "activations: activations = float rounds nothing; wanted a format, cache or rotate");
  CHECK(refusal({{"cache_keys", "channel"}}) ==
        "activations: cache_* has no effect without cache; wanted a format");
  CHECK(refusal({{"cache", "fp8_e4m3"}, {"cache_range", "symmetric"}}) ==
        "activations: cache_range is of integers, and other formats are symmetric; wanted cache = "
        "int2 to int8");
  CHECK(refusal({{"cache", "int4"}, {"cache_clip", 0.9}}) ==
        "activations: cache_clip is of ranges with zero in them; wanted cache_range = with_zero or "
        "symmetric");
  CHECK(refusal({{"cache", "mxfp4"}, {"cache_keys", "channel"}}) ==
        "activations: cache = mxfp4 has scales for blocks of 32 numbers of a head; wanted "
        "cache_keys and cache_values = token");
  CHECK(refusal({{"cache", "nvfp4"}, {"cache_group_size", 24}}) ==
        "activations: cache_group_size = 24, wanted a multiple of the 16 numbers of a block of "
        "cache = nvfp4");
  CHECK(refusal({{"cache", "int4"}}) == "");
  CHECK(refusal({{"cache_rotate", "keys"}}) == "");
}

TEST_CASE("cache: bits of a cached number count its part of the scales", "[quantizers][cache]") {
  const auto bits = [](const nlohmann::json& more) {
    nlohmann::json all = {{"activations", "float"}};
    all.update(more);
    QuantizerBench bench(all.dump(), 4, 2);
    CHECK((bench.needs() & QUENCH_MAKES_CACHE_OP) != 0);
    const Quantized first = bench.quantize(matrix({{1, 0, 0, 0}}));
    REQUIRE(first.error == "");
    REQUIRE(first.cache_op != nullptr);
    CHECK(first.op == nullptr);
    CHECK(first.numbers.at("bits_per_weight") == 16);
    CHECK(bench.quantize(matrix({{1, 0, 0, 0}}), 1).cache_op == nullptr);
    return first.numbers.at("cache_bits");
  };
  CHECK(bits({{"cache", "int4"}}) == 4 + 32.0 / 32);  // a scale and a zero point of 16 bits
  CHECK(bits({{"cache", "int2"}, {"cache_group_size", 128}}) == 2 + 32.0 / 128);
  CHECK(bits({{"cache", "int4"}, {"cache_range", "with_zero"}}) == 4 + 20.0 / 32);
  CHECK(bits({{"cache", "int4"}, {"cache_range", "symmetric"}}) == 4 + 16.0 / 32);
  CHECK(bits({{"cache", "fp8_e4m3"}}) == 8 + 32.0 / 32);
  CHECK(bits({{"cache", "mxfp4"}}) == 4.25);
  CHECK(bits({{"cache", "nvfp4"}}) == 4.5 + 32.0 / 32);
}

}  // namespace quench::test
