#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <catch2/catch.hpp>
#include <cstdint>

#include "quench/kit/torch.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

TEST_CASE("libtorch's own tensors lie in the host's memory", "[sdk]") {
  const int64_t before = live_allocations();
  {
    const at::Tensor made = at::ones({1000});
    const at::Tensor sum = made.add(made);
    CHECK(live_allocations() == before + 2);
    CHECK(sum.sum().item().toDouble() == 2000);
    CHECK(at::empty({0}).data_ptr() == nullptr);
  }
  CHECK(live_allocations() == before);
}

TEST_CASE("a tensor for which the host has no memory is an error that says so", "[sdk]") {
  limit_allocation(1 << 20);
  CHECK_THROWS_WITH(at::empty({1 << 20}, at::kFloat),
                    Catch::Contains("no memory for 4194304 bytes of a tensor"));
  limit_allocation(UINT64_MAX);
  CHECK(at::empty({1 << 20}, at::kFloat).numel() == 1 << 20);
}

TEST_CASE("without a host libtorch's tensors lie where it puts them", "[sdk]") {
  kit::current_host = nullptr;
  const int64_t before = live_allocations();
  const at::Tensor made = at::ones({1000});
  CHECK(live_allocations() == before);
  kit::current_host = test_host();  // a tensor of before is given back to whom it came from
}

}  // namespace quench::test
