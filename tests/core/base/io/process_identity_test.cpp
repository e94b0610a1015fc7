// Who runs, told from files that vanish with their process.
#include "core/base/io/process_identity.hpp"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/base/process/child_process.hpp"

namespace {

using quench::process_start;

// Ids of children that begin, end and are reaped one after the other.
class ShortLives {
 public:
  ShortLives() : thread_([this] { live(); }) {}
  ~ShortLives() {
    over_ = true;
    thread_.join();
  }
  ShortLives(const ShortLives&) = delete;
  ShortLives& operator=(const ShortLives&) = delete;

  pid_t newest() const { return newest_; }

 private:
  void live() {
    while (!over_) {
      quench::Command command;
      command.words = {"/bin/true"};
      quench::ChildProcess child = quench::ChildProcess::start(command);
      newest_ = child.id();
      child.wait();
    }
  }

  std::atomic<bool> over_ = false;
  std::atomic<pid_t> newest_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("process identity: this process runs, an id that nobody has does not", "[io]") {
  CHECK(process_start(::getpid()) > 0);
  CHECK(quench::is_running(quench::this_process()) == true);
  CHECK(process_start(0) == 0);
}

TEST_CASE("process identity: a process that ends while it is asked for counts as ended", "[io]") {
  const ShortLives others;
  int seen = 0;
  for (int ask = 0; ask < 20000 || seen == 0; ++ask) {
    seen += process_start(others.newest()) > 0 ? 1 : 0;  // an exception ends the test
  }
  CHECK(seen > 0);
}
