#include "core/checkpoint/overlay_source.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/dtype.hpp"
#include "tests/core/inputs/averaging/given_source.hpp"
#include "tests/support/throws.hpp"

using quench::OverlaySource;
using quench::test::GivenSource;
using quench::test::message_of;

TEST_CASE("OverlaySource: replaces tensors and unties them", "[core][checkpoint]") {
  const auto given = std::make_shared<GivenSource>("a.bin");
  given->tensor("a", quench::kFloat16, {2}, std::vector<uint16_t>{0x3C00, 0x4000});  // 1, 2
  given->tie("b", "a").tie("c", "a");
  const std::shared_ptr<const quench::TensorSource> base = given;
  CHECK(base->info(2).shared_with == 0);
  const OverlaySource overlay(base, {{"a", {5, 6}}});
  CHECK(overlay.count() == 3);
  CHECK(quench::dtype_name(overlay.info(0).dtype) == "F32");
  CHECK(quench::dtype_name(overlay.info(1).dtype) == "F16");
  CHECK(overlay.info(0).shared_with == 0);
  CHECK(overlay.info(1).shared_with == 1);
  CHECK(overlay.info(2).shared_with == 1);
  CHECK(read_float32(overlay, 0) == std::vector<float>{5, 6});
  CHECK(read_float32(overlay, 2) == std::vector<float>{1, 2});
  float last = 0;
  overlay.read(0, 1, 1, &last);
  CHECK(last == 6);
  CHECK(message_of([&] {
          OverlaySource(base, {{"a", {1}}});
        }) == "a.bin: tensor 'a' replaced by 1 values, its shape is [2]");
  CHECK(message_of([&] {
          OverlaySource(base, {{"aa", {1}}});
        }) == "a.bin: no tensor 'aa', nearest is 'a'");
}
