#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "quench/kit/torch.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using Range = std::pair<int64_t, int64_t>;

// The blocks of a tensor's rows, in order.
std::vector<Range> blocks_of(const at::Tensor& tensor) {
  std::mutex mutex;
  std::vector<Range> blocks;
  kit::for_row_blocks(tensor, [&](int64_t first, int64_t count) {
    const std::lock_guard lock(mutex);
    blocks.emplace_back(first, count);
  });
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

}  // namespace

TEST_CASE("parallel_for: a loop inside another's body runs in order on its thread", "[sdk]") {
  const HostThreads threads(3);
  std::atomic<int> wrong = 0;
  kit::parallel_for(12, 1, [&](uint64_t, uint64_t) {
    const std::thread::id own = std::this_thread::get_id();
    uint64_t expected = 0;
    kit::parallel_for(10, 4, [&](uint64_t begin, uint64_t end) {
      wrong += std::this_thread::get_id() != own || begin != expected;
      expected = end;
    });
    wrong += expected != 10;
  });
  CHECK(wrong == 0);
}

TEST_CASE("parallel_for: what an inner body throws leaves both loops", "[sdk]") {
  const HostThreads threads(2);
  CHECK_THROWS_WITH(kit::parallel_for(8, 1,
                                      [](uint64_t, uint64_t) {
                                        kit::parallel_for(4, 1, [](uint64_t, uint64_t) {
                                          kit::fail(QUENCH_NUMERICAL, "an inner range fails");
                                        });
                                      }),
                    Catch::Contains("an inner range fails"));
  std::atomic<int> calls = 0;  // and the next loop is an outermost one again
  kit::parallel_for(4, 1, [&](uint64_t, uint64_t) { ++calls; });
  CHECK(calls == 4);
}

TEST_CASE("row blocks: they depend on the shape alone and cover every row", "[sdk]") {
  const at::Tensor tall = at::empty({1000, 300});
  const std::vector<Range> one = blocks_of(tall);
  CHECK(one.size() > 1);
  int64_t next = 0;
  for (const auto& [first, count] : one) {
    CHECK(first == next);
    next = first + count;
  }
  CHECK(next == 1000);
  const HostThreads threads(3);
  CHECK(blocks_of(tall) == one);
  CHECK(blocks_of(at::empty({0, 5})).empty());
  CHECK(blocks_of(at::empty({3, 1 << 20})) == std::vector<Range>{{0, 1}, {1, 1}, {2, 1}});
}

TEST_CASE("row blocks: operations run in the caller's modes", "[sdk]") {
  const HostThreads threads(3);
  const c10::InferenceMode inference;
  const at::Tensor values = at::arange(600000, at::TensorOptions(at::kFloat)).view({2000, 300});
  const at::Tensor doubled = at::empty(values.sizes());
  std::atomic<int> outside = 0;
  kit::for_row_blocks(values, [&](int64_t first, int64_t count) {
    outside += !c10::InferenceMode::is_enabled();
    at::Tensor rows = doubled.narrow(0, first, count);
    at::mul_out(rows, values.narrow(0, first, count), at::full({}, 2.0F));
  });
  CHECK(outside == 0);
  CHECK(doubled.equal(values.add(values)));
}

}  // namespace quench::test
