#include "core/pass/copied_model.hpp"

#include <catch2/catch.hpp>

#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

TEST_CASE("copied model: what it says of itself ends where the caller's struct ends",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  quench::CopiedModel copied(model);
  quench_error error{sizeof error, 0, {}};
  quench_model_info info{};
  info.struct_size = offsetof(quench_model_info, dtype);
  info.dtype.bits = 77;  // memory of somebody else
  info.device.index = 77;
  REQUIRE(quench::CopiedModel::table().info(copied.get(), &info, &error) == QUENCH_OK);
  CHECK(info.width == 32);
  CHECK(info.dtype.bits == 77);
  CHECK(info.device.index == 77);
  CHECK(info.struct_size == offsetof(quench_model_info, dtype));
}
