// What a kernel's body may count on, in the form that runs on the host.
#include "shared/cuda/block.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

namespace quench::test {

namespace {

constexpr int kThreads = 2 * cuda::kWarp;

// Each thread passes its value on to the next one of the block, `times` times.
struct PassOn {
  static constexpr int kThreads = test::kThreads;
  struct Shared {
    int passed[kThreads];
  };
  int times;
  int* out;  // [blocks, kThreads]

  void run(cuda::Block& block, Shared& shared) const {
    cuda::PerThread<int, kThreads> own;
    block.each([&](int thread) { own[thread] = static_cast<int>(block.index()) * 1000 + thread; });
    for (int i = 0; i < times; ++i) {
      block.each([&](int thread) { shared.passed[(thread + 1) % kThreads] = own[thread]; });
      block.each([&](int thread) { own[thread] = shared.passed[thread]; });
    }
    block.each([&](int thread) { out[block.index() * kThreads + thread] = own[thread]; });
  }
};

// The same with the phase in the middle forgotten: threads read what others write.
struct PassOnInOnePhase {
  static constexpr int kThreads = test::kThreads;
  struct Shared {
    int passed[kThreads];
  };
  int* out;

  void run(cuda::Block& block, Shared& shared) const {
    block.each([&](int thread) { shared.passed[thread] = thread; });
    block.each([&](int thread) {
      const int from = shared.passed[thread];
      shared.passed[(thread + 1) % kThreads] = from;
      out[thread] = from;
    });
  }
};

struct LargestOfWarp {
  static constexpr int kThreads = test::kThreads;
  struct Shared {};
  const int* values;
  int* out;

  void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<int, kThreads> own;
    block.each([&](int thread) { own[thread] = values[thread]; });
    cuda::combine_warps(block, own, [](int a, int b) { return std::max(a, b); });
    block.each([&](int thread) { out[thread] = own[thread]; });
  }
};

struct ReadsUnwritten {
  static constexpr int kThreads = test::kThreads;
  struct Shared {
    double value;
  };
  double* out;

  void run(cuda::Block& block, Shared& shared) const {
    block.each([&](int thread) {
      if (thread == 0) {
        out[block.index()] = shared.value;
        shared.value = 1;
      }
    });
  }
};

}  // namespace

TEST_CASE("a kernel's phase begins when all threads have ended the one before", "[shared][cuda]") {
  const auto order = GENERATE(cuda::Order::kFirstToLast, cuda::Order::kLastToFirst);
  std::vector<int> out(3 * kThreads);
  cuda::run_on_host(PassOn{5, out.data()}, 3, order);
  for (int i = 0; i < 3 * kThreads; ++i) {
    CHECK(out[static_cast<size_t>(i)] ==
          i / kThreads * 1000 + (i % kThreads + kThreads - 5) % kThreads);
  }
}

TEST_CASE("a kernel whose threads race gives two results", "[shared][cuda]") {
  std::vector<int> forward(kThreads);
  std::vector<int> backward(kThreads);
  cuda::run_on_host(PassOnInOnePhase{forward.data()}, 1, cuda::Order::kFirstToLast);
  cuda::run_on_host(PassOnInOnePhase{backward.data()}, 1, cuda::Order::kLastToFirst);
  CHECK(forward != backward);
}

TEST_CASE("a kernel's warps combine their own values only", "[shared][cuda]") {
  std::vector<int> values(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    values[static_cast<size_t>(i)] = i * 37 % 101;
  }
  std::vector<int> out(kThreads);
  cuda::run_on_host(LargestOfWarp{values.data(), out.data()}, 1);
  for (int warp = 0; warp < 2; ++warp) {
    const auto first = values.begin() + warp * cuda::kWarp;
    const int wanted = *std::max_element(first, first + cuda::kWarp);
    for (int lane = 0; lane < cuda::kWarp; ++lane) {
      CHECK(out[static_cast<size_t>(warp * cuda::kWarp + lane)] == wanted);
    }
  }
  CHECK(out.front() != out.back());
}

TEST_CASE("a kernel's shared memory holds nothing when a block begins", "[shared][cuda]") {
  std::vector<double> out(2);
  cuda::run_on_host(ReadsUnwritten{out.data()}, 2);
  CHECK(std::isnan(out[0]));
  CHECK(std::isnan(out[1]));
}

}  // namespace quench::test
