#include "core/plugin/plugin_call.hpp"

#include <catch2/catch.hpp>
#include <cfenv>

#include "core/plugin/service_tables.hpp"
#include "core/plugin/table_call.hpp"
#include "tests/support/throws.hpp"

using quench::CallFrame;
using quench::innermost_call;
using quench::PluginCall;
using quench::table_call;
using quench::test::message_of;

namespace {

quench_status round_up(quench_error*) noexcept {
  std::fesetround(FE_UPWARD);
  return QUENCH_OK;
}

// The rounding mode that a call within a call finds.
int found_inside = -1;
quench_status look(quench_error*) noexcept {
  found_inside = std::fegetround();
  return QUENCH_OK;
}

quench_status round_up_and_call(quench_error*) noexcept {
  std::fesetround(FE_UPWARD);
  table_call("inner one", "look", look);
  std::fesetround(FE_TONEAREST);
  return QUENCH_OK;
}

}  // namespace

TEST_CASE("plugin call: one that leaves another rounding mode fails, and it is set back",
          "[core][plugin]") {
  CHECK(
      message_of([] { table_call("quantizer q", "quantize", round_up); }) ==
      "quantizer q: quantize: the rounding mode is now upward, wanted to nearest; it was set back");
  CHECK(std::fegetround() == FE_TONEAREST);
  CHECK(innermost_call == nullptr);
  CHECK(message_of([] { table_call("quantizer q", "look", look); }).empty());
}

TEST_CASE("plugin call: what an outer call changed reaches no inner one, even if it is put back",
          "[core][plugin]") {
  const std::string message =
      message_of([] { table_call("outer one", "evaluate", round_up_and_call); });
  CHECK(found_inside == FE_TONEAREST);
  CHECK(message ==
        "outer one: evaluate: the rounding mode is now upward, wanted to nearest; it was set back");
}

TEST_CASE("plugin call: tasks of a call carry its name, on every thread", "[core][plugin]") {
  const auto body = [](void* wrong, uint64_t, uint64_t) noexcept -> quench_status {
    const CallFrame* call = innermost_call;
    if (call == nullptr || std::string(call->plugin) != "quantizer q") {
      *static_cast<bool*>(wrong) = true;
    }
    return QUENCH_OK;
  };
  bool wrong = false;
  const PluginCall call("quantizer q", "quantize");
  CHECK(quench::parallel_for(4, 100, 1, body, &wrong) == QUENCH_OK);
  CHECK_FALSE(wrong);
}
