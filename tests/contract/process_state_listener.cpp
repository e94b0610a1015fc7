// No plugin leaves the process changed after any of the cases here: how its threads round, the
// current folder, the locale, how signals are taken, the umask. The host does not look.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/plugin/calls/process_state.hpp"

namespace quench::test {

namespace {

mode_t current_umask() {
  const mode_t now = ::umask(0);
  ::umask(now);
  return now;
}

class ProcessStateListener final : public Catch::TestEventListenerBase {
 public:
  using Catch::TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override { keep_process_state(); }

  void testCaseEnded(const Catch::TestCaseStats& ended) override {
    std::string changes = process_state_changes();
    changes += current_umask() == umask_ ? "" : "the umask is another one";
    if (!changes.empty()) {
      std::fprintf(stderr, "%s: a plugin left the process changed: %s\n",
                   ended.testInfo.name.c_str(), changes.c_str());
      std::_Exit(1);
    }
  }

 private:
  const mode_t umask_ = current_umask();
};

CATCH_REGISTER_LISTENER(ProcessStateListener)

}  // namespace

}  // namespace quench::test
