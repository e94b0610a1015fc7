#include "core/checkpoint/overlay_source.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/torch_archive.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::OverlaySource;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace p = quench::test::pickle;

TEST_CASE("OverlaySource: replaces tensors and unties them", "[core][checkpoint]") {
  const TemporaryDir folder;
  const std::string tensor = p::tensor(p::storage("HalfStorage", "0", 2), 0, {2}, {1});
  const std::string body =
      p::dict({p::text("a"), tensor, p::text("b"), tensor, p::text("c"), tensor});
  const std::vector<uint16_t> ones{0x3C00, 0x4000};  // 1, 2
  const auto base = std::make_shared<quench::TorchArchive>(
      folder.write("a.bin", quench::test::torch_file(body, {quench::test::bytes_of(ones)})));
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
  CHECK(message_of(
            [&] {
              OverlaySource(base, {{"a", {1}}});
            },
            folder.path()) == "a.bin: tensor 'a' replaced by 1 values, its shape is [2]");
  CHECK(message_of(
            [&] {
              OverlaySource(base, {{"aa", {1}}});
            },
            folder.path()) == "a.bin: no tensor 'aa', nearest is 'a'");
}
