#include "tests/contract/built_plugin.hpp"

#include <catch2/catch.hpp>

#include "promises/promise.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

BuiltPlugin::BuiltPlugin(const quench_item& item) : item_(item) {
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    const quench_parameter& parameter = item.parameters[i];
    parameters_.push_back({parameter.name, parameter.type, std::nullopt});
    if (parameter.default_json != nullptr) {
      parameters_.back().preset = nlohmann::json::parse(parameter.default_json);
    }
  }
}

BuiltPlugin::~BuiltPlugin() {
  set_task_threads(1);
}

void BuiltPlugin::set_threads(uint32_t threads) {
  set_task_threads(threads);
}
void BuiltPlugin::request_cancel(bool requested) {
  test::request_cancel(requested);
}
std::optional<int64_t> BuiltPlugin::live_blocks() {
  return live_allocations();
}
std::optional<int64_t> BuiltPlugin::peak_during(const std::function<void()>& work) {
  const int64_t before = allocated_bytes();
  forget_peak_allocated_bytes();
  work();
  return peak_allocated_bytes() - before;
}

void check_promises(promises::Candidate& candidate) {
  const auto all = promises::promises_of(candidate.item().kind);
  REQUIRE(!all.empty());
  for (const promises::Promise& promise : all) {
    DYNAMIC_SECTION(candidate.item().id << ": " << promise.text) {
      const int64_t before = live_allocations();
      const promises::Verdict verdict = promises::try_promise(promise, candidate);
      INFO(verdict.why);
      CHECK(verdict.outcome != promises::Outcome::kBroken);
      CHECK(live_allocations() == before);
    }
  }
}

}  // namespace quench::test
