#include "core/plugin/worker/scratch_folder.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "core/base/process/child_process.hpp"
#include "tests/support/temporary.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// In a process of its own, whose TMPDIR is the folder.
ProcessEnd in_child(const fs::path& folder, const std::function<int()>& body) {
  ChildProcess child = ChildProcess::start_copy([&] {
    ::setenv("TMPDIR", folder.c_str(), 1);
    return body();
  });
  return child.wait();
}

}  // namespace

TEST_CASE("scratch folder: it goes with its owner, and with what was written there", "[apart]") {
  const test::TemporaryDir temporary;
  CHECK(in_child(temporary.path(), [&] {
          const ScratchFolder one;
          const ScratchFolder two;
          std::ofstream(one.path() / "file") << "text";
          return one.path() != two.path() && entries(temporary.path()) == 2 ? 0 : 1;
        }).exit_code == 0);
  CHECK(entries(temporary.path()) == 0);
}

TEST_CASE("scratch folder: what a killed process left is removed by the next", "[apart]") {
  const test::TemporaryDir temporary;
  fs::create_directory(temporary.path() / "quench-worker");
  fs::create_directory(temporary.path() / "of somebody else");
  CHECK(in_child(temporary.path(), [&] {
          const ScratchFolder left;
          std::ofstream(left.path() / "file") << "text";
          return ::raise(SIGKILL);
        }).signal == SIGKILL);
  CHECK(entries(temporary.path()) == 3);
  CHECK(in_child(temporary.path(), [&] {
          const ScratchFolder next;
          return entries(temporary.path()) == 3 ? 0 : 1;
        }).exit_code == 0);
  CHECK(entries(temporary.path()) == 2);
}

TEST_CASE("scratch folder: one whose process lives stays, however long it was silent", "[apart]") {
  const test::TemporaryDir temporary;
  const fs::path in_use = temporary_beside(temporary.path() / "quench-worker", ".scratch");
  fs::create_directory(in_use);
  fs::last_write_time(in_use, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  CHECK(in_child(temporary.path(), [&] {
          const ScratchFolder next;
          return fs::exists(in_use) ? 0 : 1;
        }).exit_code == 0);
  CHECK(fs::exists(in_use));
}

}  // namespace quench
