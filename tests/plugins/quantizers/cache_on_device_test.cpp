// Rounding of keys and values by kernels, held to the bits of the loops for processors: in host
// memory, where the kernels are loops, too, and on a GPU where there is one.
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/cache/device/entries.hpp"
#include "quench/kit/error.hpp"
#include "shared/cuda/library.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/cached_rows.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test::cache_on_device {

namespace {

using quantizers::CacheRounding;
using quantizers::CacheSettings;

constexpr int64_t kHeads = 2;
constexpr int64_t kWidth = 32;
constexpr int64_t kTokens = 2 * 11;

bool agree(const CacheSettings& settings) {
  try {
    quantizers::check_cache("test", settings, {});
    return settings.acts() && (settings.format.starts_with("int") || settings.range == "min_max");
  } catch (const kit::Error&) {
    return false;
  }
}

// Every format as it can be grouped and rotated.
std::vector<CacheSettings> all_settings() {
  std::vector<CacheSettings> out;
  std::istringstream formats(quantizers::activation_choices());
  for (std::string format; std::getline(formats, format, '|');) {
    for (const char* range : {"min_max", "with_zero", "symmetric"}) {
      for (const char* by : {"token", "channel"}) {
        for (const int64_t size : {4, 32}) {
          for (const char* rotate : {"none", "keys"}) {
            const CacheSettings made{format, range, by, by, size, rotate, 0.95};
            if (agree(made)) {
              out.push_back(made);
            }
          }
        }
      }
    }
  }
  return out;
}

// Documents of 4, 7, 5 and 4 tokens, and two pads.
const std::vector<int32_t> kSegments = {0, 0, 0, 0, 1, 1, 1, 1,  1, 1, 1,
                                        2, 2, 2, 2, 2, 3, 3, -1, 3, 3, -1};

// Keys or values of type T; those of pads are not numbers.
at::Tensor numbers(at::ScalarType type) {
  const Matrix layer = random_matrix(kTokens, kHeads * kWidth, 11, true);
  std::vector<double> values = layer.values;
  for (int64_t i = 0; i < kHeads * kWidth; ++i) {
    const auto at = [&](int64_t token) -> double& {
      return values[static_cast<size_t>(token * kHeads * kWidth + i)];
    };
    at(1) = i % 3 == 0 ? -0.0 : 0.0;
    at(2) = 1.5;
    at(3) = 0.25 * static_cast<double>(i % 31 - 15);  // ties
    at(4) = static_cast<double>(i % 5 - 2) * std::numeric_limits<float>::denorm_min();
    at(5) = std::ldexp(i % 2 == 0 ? 1.1 : -1.7, static_cast<int>(i % 40) - 20);
    at(18) = std::nan("");
    at(21) = HUGE_VAL;
  }
  return at::from_blob(values.data(), {kTokens, kHeads, kWidth}, at::kDouble).clone().to(type);
}

std::vector<uint8_t> bytes_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU).contiguous();
  const auto* first = static_cast<const uint8_t*>(host.const_data_ptr());
  return {first, first + host.nbytes()};
}

// With the kernels.
void apply_on(at::Device device, const CacheRounding& rounding, const at::Tensor& keys,
              const at::Tensor& values, const Rows& rows) {
  std::optional<matrix::LibtorchAlone> as_on_a_gpu;
  if (device.is_cpu()) {
    as_on_a_gpu.emplace();
  }
  rounding.apply(keys, values, rows.batch());
}

void check_bits_on(at::Device device) {
  linked_item();  // installs the host
  const std::vector<CacheSettings> all = all_settings();
  CHECK(all.size() > 180);
  const Rows padded(2, 11, kSegments);
  const Rows whole(2, 9);
  for (const CacheSettings& settings : all) {
    CAPTURE(settings.format, settings.range, settings.keys, settings.group_size, settings.rotate);
    const CacheRounding rounding(settings, 3);
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (const bool pads : {true, false}) {
        const Rows& rows = pads ? padded : whole;
        const at::Tensor given = pads ? numbers(type) : numbers(type).narrow(0, 0, 18);
        const at::Tensor wanted[2] = {given.clone(), given.clone()};
        const at::Tensor got[2] = {given.clone().to(device), given.clone().to(device)};
        rounding.apply(wanted[0], wanted[1], rows.batch());
        apply_on(device, rounding, got[0], got[1], rows);
        CHECK(differences(bytes_of(got[0]), bytes_of(wanted[0])) == "");
        CHECK(differences(bytes_of(got[1]), bytes_of(wanted[1])) == "");
        CHECK((bytes_of(got[0]) != bytes_of(given) || !settings.rounds()));
      }
    }
  }
}

void check_refusals_on(at::Device device) {
  linked_item();
  const CacheRounding rounding({"int4", "min_max", "token", "channel", 8, "keys", 1}, 3);
  const Rows rows(2, 9);
  const at::Tensor given = numbers(at::kFloat).narrow(0, 0, 18);
  const at::Tensor broken = given.clone();
  broken[7][1][9] = HUGE_VAL;
  const auto there = [&](const at::Tensor& x) { return x.clone().to(device); };
  CHECK_THROWS_WITH(apply_on(device, rounding, there(broken), there(given), rows),
                    "block 3: keys: token 7, head 1: not finite");
  CHECK_THROWS_WITH(apply_on(device, rounding, there(given), there(broken), rows),
                    "block 3: values: token 7, head 1: not finite");
  const at::Tensor wide = given.to(at::kDouble);
  wide[7][1][9] = 1.7e308;
  wide[7][1][10] = -1.7e308;
  CHECK_THROWS_WITH(
      apply_on(device, CacheRounding({"int4", "min_max", "token", "token", 32, "none", 1}, 3),
               there(wide), there(wide), rows),
      "block 3: keys: token 7, head 1: its range overflows");
}

}  // namespace

TEST_CASE("cache on a device: kernels round to the bits of the loops for processors",
          "[quantizers][cache][on_device]") {
  check_bits_on(at::kCPU);
}

TEST_CASE("cache on a device: what the loops refuse is refused in their words",
          "[quantizers][cache][on_device]") {
  check_refusals_on(at::kCPU);
}

TEST_CASE("kernels: the library has those that round keys and values", "[quantizers][cuda]") {
  const auto kernels = binary_dir() / "lib/quench/cuda/kernels.so";
  skip_unless(std::filesystem::exists(kernels), "this build has no kernels for GPUs: no nvcc");
  for (const char* name : {quantizers::kRoundCachedFloat, quantizers::kRoundCachedDouble}) {
    CAPTURE(name);
    CHECK(cuda::kernel_function(kernels, name) != nullptr);
  }
}

TEST_CASE("kernels: on a GPU rounding of keys and values has the bits of the loops for processors",
          "[quantizers][cache][cuda]") {
  const at::Device gpu = gpu_or_skip();
  check_bits_on(gpu);
  check_refusals_on(gpu);
}

}  // namespace quench::test::cache_on_device
