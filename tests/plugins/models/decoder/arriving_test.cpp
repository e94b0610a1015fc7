#include "models/decoder/arriving.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

constexpr auto kPieceElements = static_cast<int64_t>(decoder::Arriving::kElements);

// Pieces of `stored` numbers 0, 1, ... brought to a tensor of `type`, the last one shorter, as the
// processor finds it.
at::Tensor brought(at::Device device, at::ScalarType stored, at::ScalarType type) {
  const int64_t count = 2 * kPieceElements + 5;
  const at::Tensor to = at::empty({count}, at::TensorOptions(type).device(device));
  decoder::Arriving arriving(device);
  for (int64_t first = 0; first < count; first += kPieceElements) {
    const int64_t length = std::min(kPieceElements, count - first);
    arriving.bring(to.narrow(0, first, length), stored, [&](const at::Tensor& piece) {
      REQUIRE(piece.is_cpu());
      REQUIRE(piece.scalar_type() == stored);
      piece.copy_(at::arange(first, first + length, at::TensorOptions(at::kFloat)).remainder_(251));
    });
  }
  arriving.finish();
  return to.cpu();
}

void check_pieces_on(at::Device device) {
  const at::Tensor wanted =
      at::arange(2 * kPieceElements + 5, at::TensorOptions(at::kFloat)).remainder_(251);
  for (const at::ScalarType stored : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      CAPTURE(stored, type);
      CHECK(brought(device, stored, type).to(at::kFloat).equal(wanted));
    }
  }
}

}  // namespace

TEST_CASE("weights: pieces that arrive have each element in its place", "[models]") {
  check_pieces_on(at::kCPU);
}

TEST_CASE("weights: on a GPU pieces that arrive beside each other have each element in its place",
          "[models][cuda]") {
  check_pieces_on(gpu_or_skip());
}

TEST_CASE("weights: on a GPU a read that fails leaves no copy under way", "[models][cuda]") {
  const at::Device device = gpu_or_skip();
  const at::Tensor to =
      at::zeros({2 * kPieceElements}, at::TensorOptions(at::kFloat).device(device));
  const auto bring_both = [&] {
    decoder::Arriving arriving(device);
    arriving.bring(to.narrow(0, 0, kPieceElements), at::kFloat,
                   [](const at::Tensor& piece) { piece.fill_(7); });
    arriving.bring(to.narrow(0, kPieceElements, kPieceElements), at::kFloat,
                   [](const at::Tensor& piece) {
                     piece.fill_(9);
                     throw std::runtime_error("cut off");
                   });
  };
  CHECK_THROWS_WITH(bring_both(), "cut off");
  const at::Tensor found = to.cpu();
  CHECK(found.narrow(0, 0, kPieceElements).eq(7).all().item<bool>());
  CHECK(found.narrow(0, kPieceElements, kPieceElements).eq(0).all().item<bool>());
}

}  // namespace quench::test
