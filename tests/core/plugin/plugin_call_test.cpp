#include "core/plugin/calls/plugin_call.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/service_tables.hpp"

using quench::CallFrame;
using quench::innermost_call;
using quench::PluginCall;

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

TEST_CASE("plugin call: what was made of a lost answer is thrown away", "[core][plugin]") {
  const auto dimensions = [](bool lost) {
    if (lost) {
      quench::wire::lost_answer = std::make_exception_ptr(std::runtime_error("its process ended"));
    }
    return lost ? 0 : 3;
  };
  CHECK(quench::guarded_call("metric m", "open", {}, dimensions, false) == 3);
  CHECK_THROWS_WITH(quench::guarded_call("metric m", "open", {}, dimensions, true),
                    "its process ended");
  CHECK(quench::guarded_call("metric m", "open", {}, dimensions, false) == 3);
}
