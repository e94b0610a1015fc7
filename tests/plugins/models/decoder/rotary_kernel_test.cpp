// The rotation of heads as a kernel, run as loops in host memory and on a GPU.
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

#include "models/decoder/rotary_by_kernel.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

using decoder::Angles;

// Operation by operation, each rounded on its own.
at::Tensor by_operations(const at::Tensor& x, const Angles& angles) {
  const int64_t half = angles.cos.size(3);
  const at::Tensor low = x.narrow(3, 0, half);
  const at::Tensor high = x.narrow(3, half, half);
  at::Tensor out = x.clone();
  out.narrow(3, 0, half).copy_(low.mul(angles.cos).sub(high.mul(angles.sin)));
  out.narrow(3, half, half).copy_(high.mul(angles.cos).add(low.mul(angles.sin)));
  return out;
}

void has_the_bits_of_operations(at::Device device) {
  struct Types {
    at::ScalarType values;
    at::ScalarType angles;
  };
  for (const auto& [type, angle] :
       {Types{at::kDouble, at::kDouble}, Types{at::kFloat, at::kFloat},
        Types{at::kBFloat16, at::kBFloat16}, Types{at::kBFloat16, at::kFloat}}) {
    for (const int64_t batches : {1, 2}) {  // angles for all rows, and for each
      for (const int64_t half : {3, 8}) {   // of 16 elements a head, some stay
        CAPTURE(at::toString(type), at::toString(angle), batches, half);
        const at::Tensor whole = at::randn({2, 5, 3, 20}).to(type);
        const Angles angles{at::randn({batches, 5, 1, half}).to(angle),
                            at::randn({batches, 5, 1, half}).to(angle)};
        const at::Tensor wanted = by_operations(whole.narrow(3, 2, 16), angles);
        const at::Tensor held = whole.to(device, type, false, /*copy=*/true);
        const at::Tensor part = held.narrow(3, 2, 16);  // with strides
        REQUIRE(decoder::rotate_by_kernel(part, {angles.cos.to(device), angles.sin.to(device)}));
        CHECK(part.cpu().equal(wanted));
        CHECK(held.cpu().narrow(3, 0, 2).equal(whole.narrow(3, 0, 2)));
        CHECK(held.cpu().narrow(3, 18, 2).equal(whole.narrow(3, 18, 2)));
      }
    }
  }
}

}  // namespace

TEST_CASE("rotary: the kernel as loops has the bits of libtorch's operations",
          "[models][decoder]") {
  has_the_bits_of_operations(at::kCPU);
}

TEST_CASE("rotary: on a GPU the kernel has the bits of libtorch's operations",
          "[models][decoder][cuda]") {
  has_the_bits_of_operations(gpu_or_skip());
}

TEST_CASE("rotary: other types are left to libtorch", "[models][decoder]") {
  const at::Tensor x = at::randn({1, 2, 1, 8}).to(at::kHalf);
  const Angles angles{at::randn({1, 2, 1, 4}), at::randn({1, 2, 1, 4})};
  const at::Tensor before = x.clone();
  CHECK(!decoder::rotate_by_kernel(x, angles));
  CHECK(x.equal(before));
}

}  // namespace quench::test
