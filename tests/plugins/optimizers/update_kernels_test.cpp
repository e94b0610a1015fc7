// Updates as kernels for GPUs, run on the host: held against the loops for processors, to the bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "optimizers/device/entries.hpp"
#include "optimizers/shared/flat_arithmetic.hpp"
#include "quench/kit/error.hpp"
#include "shared/cuda/device_memory.hpp"
#include "shared/cuda/entries.h"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

namespace {

using namespace quench::optimizers;
using Values = std::vector<float>;

constexpr size_t kSizes[] = {0, 1, 255, 1024, 1025, 5003};
constexpr cuda::Order kOrders[] = {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst};

// Numbers in (-1, 1) of many sizes, with zeros and subnormals between them.
Values numbers(uint64_t seed, size_t count) {
  Values out(count);
  uint64_t state = seed * 2 + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 40) / (1 << 23) - 1;
    out[i] = static_cast<float>(unit * std::exp2(-static_cast<double>(i % 30)));
    if (i % 17 == 5) {
      out[i] = i % 2 == 0 ? -0.0F : std::numeric_limits<float>::denorm_min();
    }
  }
  return out;
}

Values squares(uint64_t seed, size_t count) {
  Values out = numbers(seed, count);
  for (float& value : out) {
    value *= value;
  }
  return out;
}

template <typename Rule>
void run(const Rule& rule, size_t count, cuda::Order order) {
  const cuda::ForEach<Rule> kernel{rule, static_cast<int64_t>(count)};
  cuda::run_on_host(kernel, kernel.blocks(), order);
}

// Tensors of one size, on which a rule is applied in both ways.
struct Tensors {
  explicit Tensors(size_t size)
      : weight(numbers(1, size)),
        gradient(numbers(2, size)),
        first(numbers(3, size)),
        second(squares(4, size)),
        other(size) {}
  Values weight;
  Values gradient;
  Values first;
  Values second;
  Values other;
};

void check_equal(const Tensors& got, const Tensors& wanted) {
  CHECK(differences(got.weight, wanted.weight) == "");
  CHECK(differences(got.gradient, wanted.gradient) == "");
  CHECK(differences(got.first, wanted.first) == "");
  CHECK(differences(got.second, wanted.second) == "");
  CHECK(differences(got.other, wanted.other) == "");
}

// `by_processor` and `by_kernel` change tensors of `size` elements.
template <typename ByProcessor, typename ByKernel>
void check(const ByProcessor& by_processor, const ByKernel& by_kernel, bool changes = true) {
  for (const size_t size : kSizes) {
    CAPTURE(size);
    Tensors wanted(size);
    by_processor(wanted, size);
    for (const cuda::Order order : kOrders) {
      Tensors got(size);
      by_kernel(got, size, order);
      check_equal(got, wanted);
    }
    if (size > 0 && changes) {
      CHECK(wanted.weight != Tensors(size).weight);
    }
  }
}

}  // namespace

TEST_CASE("update kernels: adamw's has the bits of the processor's loop", "[optimizers][cuda]") {
  const uint64_t step = GENERATE(1u, 700u);
  const AdamWStep numbers = adamw_step(step, 0.01, 1e-3, 0.9, 0.95, 1e-8, 0.37);
  check(
      [&](Tensors& t, size_t size) {
        adamw_update(numbers, t.weight.data(), t.gradient.data(), t.first.data(), t.second.data(),
                     size);
      },
      [&](Tensors& t, size_t size, cuda::Order order) {
        run(AdamWElements{numbers, t.weight.data(), t.gradient.data(), t.first.data(),
                          t.second.data()},
            size, order);
      });
}

TEST_CASE("update kernels: sgd's has the bits of the processor's loop", "[optimizers][cuda]") {
  const SgdStep numbers = {0.37F, 0.999F, 0.9F, GENERATE(0.0F, 1.0F), 0.01F};
  check(
      [&](Tensors& t, size_t size) {
        sgd_update(numbers, t.weight.data(), t.gradient.data(), t.first.data(), size);
      },
      [&](Tensors& t, size_t size, cuda::Order order) {
        run(SgdElements{numbers, t.weight.data(), t.gradient.data(), t.first.data()}, size, order);
      });
}

TEST_CASE("update kernels: sgd's two halves have the bits of the processor's loops",
          "[optimizers][cuda]") {
  const MomentumStep numbers = {0.37F, 0.95F, GENERATE(false, true)};
  check(
      [&](Tensors& t, size_t size) {
        momentum_direction(numbers, t.gradient.data(), t.first.data(), size);
        take_direction(0.999F, 0.02F, t.weight.data(), t.gradient.data(), size);
      },
      [&](Tensors& t, size_t size, cuda::Order order) {
        run(MomentumElements{numbers, t.gradient.data(), t.first.data()}, size, order);
        run(DirectionElements{0.999F, 0.02F, t.weight.data(), t.gradient.data()}, size, order);
      });
}

TEST_CASE("update kernels: schedule_free_adamw's have the bits of the processor's loops",
          "[optimizers][cuda]") {
  const ScheduleFreeStep numbers = {0.37F, 0.95F, 0.05F, 3.2F, 1e-8F, GENERATE(0.0F, 0.01F),
                                    1e-3F, 0.25F, 2e-3F};
  check(
      [&](Tensors& t, size_t size) {
        schedule_free_update(numbers, t.weight.data(), t.gradient.data(), t.first.data(),
                             t.second.data(), size);
        schedule_free_average(0.9, t.weight.data(), t.first.data(), t.other.data(), size);
      },
      [&](Tensors& t, size_t size, cuda::Order order) {
        run(ScheduleFreeElements{numbers, t.weight.data(), t.gradient.data(), t.first.data(),
                                 t.second.data()},
            size, order);
        run(ScheduleFreeAverageElements{1 - 1 / 0.9, t.weight.data(), t.first.data(),
                                        t.other.data()},
            size, order);
      });
}

TEST_CASE("update kernels: those of moved weights have the bits of the processor's loops",
          "[optimizers][cuda]") {
  const double factor = GENERATE(0.0, -0.37, 1e4);
  FlatArithmetic flat;
  check(
      [&](Tensors& t, size_t) {
        flat.move(t.weight, factor, t.gradient, t.other);
        flat.add_second_difference(factor, t.gradient, t.first, t.weight);
      },
      [&](Tensors& t, size_t size, cuda::Order order) {
        run(MovedElements{t.weight.data(), factor, t.gradient.data(), t.other.data()}, size, order);
        run(PenalizedElements{factor, t.gradient.data(), t.first.data(), t.weight.data()}, size,
            order);
      },
      factor != 0);
}

TEST_CASE(
    "update kernels: sums of squares have the bits of the processor's loop, for chunks of any "
    "length",
    "[optimizers][cuda]") {
  // 33 tensors are more chunks than a block has threads; one has several chunks, one none.
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < 33; ++i) {
    sizes.push_back(i == 7 ? 70'001 : i * 37 % 101);
  }
  std::vector<quench_parameter_info> infos;
  std::vector<Chunk> chunks;
  uint64_t offset = 3;
  for (const int64_t& size : sizes) {
    infos.push_back(
        {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "w", 1, &size, offset, 0, nullptr});
    for (int64_t first = 0; first < size; first += 1 << 15) {
      chunks.push_back(
          {static_cast<int64_t>(offset) + first, std::min<int64_t>(size - first, 1 << 15)});
    }
    offset += static_cast<uint64_t>(size) + 5;
  }
  REQUIRE(chunks.size() > 32);
  const Values values = numbers(6, offset);
  FlatArithmetic flat;
  flat.begin(infos, true, {QUENCH_DEVICE_CPU, 0});
  const std::vector<double> wanted = flat.squared_norms(values);
  for (const cuda::Order order : kOrders) {
    std::vector<double> sums(chunks.size(), -1);
    const ChunkSquares kernel{values.data(), chunks.data(), static_cast<int64_t>(chunks.size()),
                              sums.data()};
    cuda::run_on_host(kernel, kernel.blocks(), order);
    size_t chunk = 0;
    for (size_t t = 0; t < sizes.size(); ++t) {
      double total = 0;
      for (int64_t first = 0; first < sizes[t]; first += 1 << 15) {
        total += sums[chunk++];
      }
      CAPTURE(t);
      CHECK(total == wanted[t]);
    }
  }
}

TEST_CASE("update kernels: rounded groups have the bits of the processor's loop",
          "[optimizers][cuda]") {
  const auto [columns, group_size, bits, sym] =
      GENERATE(table<int64_t, int64_t, int64_t, bool>({{201, 64, 2, true},
                                                       {201, 64, 4, false},
                                                       {37, -1, 3, true},
                                                       {300, 128, 8, false},
                                                       {5, 1, 4, true}}));
  const int64_t rows = 13;
  Values wanted = numbers(9, static_cast<size_t>(rows * columns));
  std::fill_n(wanted.begin(), columns, 0.0F);  // a row of zeros
  const Values before = wanted;
  const quantizers::GridKind kind{bits, sym, 0};
  FlatArithmetic().round_rows(wanted, static_cast<size_t>(columns), group_size, kind);
  CHECK(wanted != before);
  for (const cuda::Order order : kOrders) {
    Values got = before;
    const int64_t group = group_size < 0 ? columns : group_size;
    const RoundGroups kernel{got.data(), rows, columns, group, (columns + group - 1) / group, kind};
    cuda::run_on_host(kernel, kernel.blocks(), order);
    CHECK(differences(got, wanted) == "");
  }
}

TEST_CASE("update kernels: without a GPU each says so, and there is no memory of one",
          "[optimizers][cuda]") {
  const std::filesystem::path kernels = binary_dir() / "lib/quench/cuda/kernels.so";
  skip_unless(std::filesystem::exists(kernels), "this build has no kernels for GPUs: no nvcc");
  char why[256] = {};
  auto* count = reinterpret_cast<decltype(quench_cuda_devices)*>(
      cuda::kernel_function(kernels, "quench_cuda_devices"));
  skip_unless(count(why, sizeof why) <= 0, "there is a GPU");
  const auto refuses = [&]<typename Rule>(const Rule& rule) {
    CHECK_THROWS_WITH(cuda::run_on_gpu(kUpdate<Rule>, cuda::ForEach<Rule>{rule, 1}, 2, kernels),
                      Catch::StartsWith("device cuda:2: no such device: "));
  };
  refuses(AdamWElements{});
  refuses(SgdElements{});
  refuses(MomentumElements{});
  refuses(DirectionElements{});
  refuses(ScheduleFreeElements{});
  refuses(ScheduleFreeAverageElements{});
  refuses(MovedElements{});
  refuses(PenalizedElements{});
  CHECK_THROWS_WITH(cuda::run_on_gpu(kChunkSquares, ChunkSquares{}, 2, kernels),
                    Catch::StartsWith("device cuda:2: no such device: "));
  CHECK_THROWS_WITH(cuda::run_on_gpu(kRoundGroups, RoundGroups{}, 2, kernels),
                    Catch::StartsWith("device cuda:2: no such device: "));
  CHECK_THROWS_WITH(cuda::DeviceMemory(1, 4096, kernels),
                    Catch::StartsWith("device cuda:1: 4096 bytes: no such device: "));
  float one = 1;
  CHECK_THROWS_WITH(cuda::copy_bytes(0, &one, &one, sizeof one, kernels),
                    Catch::StartsWith("device cuda:0: no such device: "));
}

}  // namespace quench::test
