// Weights that are larger than what is read at once, by several threads.
#include "models/decoder/weights.hpp"

#include <ATen/ops/arange.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "quench/kit/error.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// Two chunks of 2^22 elements and an odd rest; each element is its place, exact in float32.
constexpr int64_t kWeightRows = 1031;
constexpr int64_t kColumns = 8209;
constexpr int64_t kElements = kWeightRows * kColumns;

const MemorySource& places() {
  static const MemorySource* const made = [] {
    auto* source = new MemorySource;
    std::vector<float> values(kElements);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i);
    }
    source->add_bytes("w", {kWeightRows, kColumns},
                      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)},
                      kit::kFloat32);
    return source;
  }();
  return *made;
}

decoder::Weights read_as(at::ScalarType dtype, const quench_source& source) {
  const HostThreads threads(3);
  return {{{"w", {kWeightRows, kColumns}, QUENCH_ROLE_MATRIX}},
          kit::Source(source),
          {},
          dtype,
          at::kCPU};
}

constexpr uint64_t kTorn = uint64_t{5} << 20;

}  // namespace

TEST_CASE("weights: a tensor of several chunks has each element in its place", "[models]") {
  static_assert(kElements < 1 << 24);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const decoder::Weights weights = read_as(dtype, *places().source());
    const at::Tensor wanted = at::arange(kElements, at::TensorOptions(dtype));
    CHECK(weights.at("w").view({-1}).equal(wanted));
  }
}

TEST_CASE("weights: a read that fails on any thread fails the model", "[models]") {
  quench_source source = *places().source();
  source.read = [](const quench_source* self, uint64_t index, uint64_t first, uint64_t elements,
                   void* destination, quench_error* error) noexcept -> quench_status {
    if (first <= kTorn && kTorn < first + elements) {
      return kit::guard(error, [] { kit::fail(QUENCH_DATA_LOSS, "the file is torn"); });
    }
    return places().source()->read(self, index, first, elements, destination, error);
  };
  CHECK_THROWS_WITH(read_as(at::kFloat, source), "the file is torn");
}

}  // namespace quench::test
