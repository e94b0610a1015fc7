#include "core/plugin/process/worker_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "core/plugin/process/control_socket.hpp"
#include "tests/support/temporary.hpp"

using quench::Descriptor;
using quench::receive_packet;
using quench::send_packet;
using quench::WorkerCommand;
using quench::WorkerEnd;
using quench::WorkerProcess;
using quench::test::TemporaryDir;

namespace fs = std::filesystem;

namespace {

WorkerCommand shell(const std::string& script, const fs::path& folder) {
  return {{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, folder};
}

// How a worker ends that runs a shell's script.
WorkerEnd end_of(const std::string& script) {
  const TemporaryDir folder;
  WorkerProcess worker(shell(script, folder.path()));
  while (!worker.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return worker.end();
}

size_t entries(const char* folder) {
  const fs::directory_iterator all(folder);
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Signals a process of this test's by the shell: only its owner may do it directly.
void signal_by_shell(pid_t id, const std::string& name) {
  quench::Command command;
  command.words = {"/bin/sh", "-c", "kill -" + name + " " + std::to_string(id)};
  CHECK(quench::ChildProcess::start(command).wait().code() == 0);
}

}  // namespace

TEST_CASE("worker process: how it ended is said in words", "[apart]") {
  const WorkerEnd exited = end_of("exit 3");
  CHECK(exited.exit_code == 3);
  CHECK(exited.text() == "exited with code 3");
  const WorkerEnd crashed = end_of("echo one; echo 'two\001' >&2; kill -SEGV $$");
  CHECK(crashed.signal == SIGSEGV);
  CHECK_FALSE(crashed.killed_from_outside);
  CHECK(crashed.last_words == "one\ntwo\\x01");
  CHECK(crashed.text() ==
        "was ended by signal 11 (Segmentation fault); its last words: one | two\\x01");
}

TEST_CASE("worker process: a death from outside is no fault of the plugin's", "[apart]") {
  const TemporaryDir folder;
  for (const char* name : {"KILL", "TERM", "HUP", "INT"}) {
    CAPTURE(name);
    WorkerProcess worker(shell("exec sleep 1000", folder.path()));
    signal_by_shell(worker.id(), name);
    const WorkerEnd end = worker.end();
    CHECK(end.killed_from_outside);
    CHECK_FALSE(end.killed_by_host);
    CHECK_THAT(end.text(), Catch::StartsWith(std::string("was killed from outside (SIG") + name));
  }
}

TEST_CASE("worker process: a death by the host is told apart", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker(shell("echo begun; exec sleep 1000", folder.path()));
  CHECK_FALSE(worker.has_ended());
  worker.kill_now();
  const WorkerEnd end = worker.end();
  CHECK(end.signal == SIGKILL);
  CHECK(end.killed_by_host);
  CHECK_FALSE(end.killed_from_outside);
  CHECK_THAT(end.text(), Catch::StartsWith("was killed by the host"));
  CHECK(worker.has_ended());
  CHECK(worker.end().text() == end.text());
  worker.kill_now();  // does nothing
  CHECK_FALSE(worker.memory());
}

TEST_CASE("worker process: one that does not end by itself is ended", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker(shell("trap '' TERM; while :; do sleep 1; done", folder.path()));
  worker.close_control();
  CHECK(worker.end().killed_by_host);
}

TEST_CASE("worker process: one whose control socket closes can end by itself", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  worker.close_control();
  while (!worker.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(worker.end().exit_code == 7);
}

TEST_CASE("worker process: the last of many lines are kept", "[apart]") {
  const WorkerEnd end = end_of("seq 1 200 >&2; exit 1");
  CHECK_THAT(end.last_words, Catch::StartsWith("151\n152\n"));
  CHECK_THAT(end.last_words, Catch::EndsWith("\n199\n200"));
  CHECK_THAT(end.text(), Catch::StartsWith("exited with code 1; its last words: "));
  CHECK_THAT(end.text(), Catch::EndsWith(" | 199 | 200"));
}

TEST_CASE("worker process: a flood of output stops neither side", "[apart]") {
  const WorkerEnd end = end_of("head -c 10000000 /dev/zero >&2; echo; echo after; exit 4");
  CHECK(end.exit_code == 4);
  CHECK_THAT(end.last_words, Catch::EndsWith("\nafter"));
}

TEST_CASE("worker process: one that closes its output, or leaves it to others, is no trouble",
          "[apart]") {
  CHECK(end_of("exec >&- 2>&-; sleep 0.1; exit 5").exit_code == 5);
  // Holds the pipe, in another group, until the folder is removed.
  CHECK(end_of("touch go; setsid sh -c 'while [ -e go ]; do sleep 0.1; done' & exit 6").exit_code ==
        6);
}

TEST_CASE("worker process: messages and descriptors go both ways", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  const Descriptor memory(::memfd_create("memory", MFD_CLOEXEC));
  const std::array<int, 1> sent = {memory.get()};
  send_packet(worker.control(), "hello", sent);
  CHECK(receive_packet(worker.control(), 60000)->text == "5 1");
  char bytes[6] = {};
  CHECK(::pread(memory.get(), bytes, 5, 0) == 5);
  CHECK(std::string(bytes) == "hello");
}

TEST_CASE("worker process: the end of the process is the end of the socket", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  worker.kill_now();
  CHECK_FALSE(receive_packet(worker.control(), 60000));
}

TEST_CASE("worker process: it has the streams, folder and environment it was given, and no more",
          "[apart]") {
  const TemporaryDir folder;
  const Descriptor bystander(::open("/dev/null", O_RDONLY));  // not closed on exec
  WorkerCommand command = shell(
      "ls /proc/self/fd > names; tr '\\n' ' ' < names > open; cat > input; env > variables; pwd > "
      "here; ulimit -c > core",
      folder.path());
  command.environment.emplace_back("NAME=value");
  {
    WorkerProcess worker(command);
    while (!worker.has_ended()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(worker.end().text() == "exited with code 0");
  }
  using quench::test::read_file;
  CHECK(read_file(folder / "open") == "0 1 2 3 4 ");  // 4: the folder that ls reads
  CHECK(read_file(folder / "input").empty());
  CHECK_THAT(read_file(folder / "variables"), Catch::Contains("NAME=value\n"));
  CHECK_THAT(read_file(folder / "variables"), !Catch::Contains("HOME="));
  CHECK(read_file(folder / "here") == folder.path().string() + "\n");
  CHECK(read_file(folder / "core") == "0\n");
}

TEST_CASE("worker process: it ends with the host, whatever it is doing", "[apart]") {
  const TemporaryDir folder;
  quench::ChildProcess host = quench::ChildProcess::start_copy([&] {
    const WorkerProcess worker(
        shell("echo $$ > id.new; mv id.new id; exec sleep 1000", folder.path()));
    while (true) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    return 0;
  });
  while (!fs::exists(folder / "id")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const fs::path process =
      "/proc/" + std::to_string(std::stoi(quench::test::read_file(folder / "id")));
  CHECK(fs::exists(process));
  host.end();
  // Whoever inherits orphans may take its time to bury it.
  const auto runs = [&] {
    const std::string status = quench::test::read_file(process / "status");
    return !status.empty() && status.find("State:\tZ") == std::string::npos;
  };
  for (int i = 0; i < 1000 && runs(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK_FALSE(runs());
}

TEST_CASE("worker process: it does not end with the thread that made it", "[apart]") {
  const TemporaryDir folder;
  std::optional<WorkerProcess> worker;
  std::thread([&] { worker.emplace(shell("exec sleep 1000", folder.path())); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(worker->has_ended());
}

TEST_CASE("worker process: its memory is known while it lives", "[apart]") {
  const TemporaryDir folder;
  WorkerProcess worker({{QUENCH_ECHOING_WORKER}, {}, folder.path()});
  send_packet(worker.control(), "hold 33554432");
  REQUIRE(receive_packet(worker.control(), 60000));
  CHECK(worker.memory().value_or(0) > 33554432);
}

TEST_CASE("worker process: a program that is not there is an error that names it", "[apart]") {
  const size_t before = entries("/proc/self/fd");
  const TemporaryDir folder;
  try {
    WorkerProcess({{"/nowhere/worker"}, {}, folder.path()});
    FAIL("it was started");
  } catch (const quench::Error& error) {
    CHECK(error.code() == QUENCH_FAILED_PRECONDITION);
    CHECK_THAT(error.what(), Catch::StartsWith("worker: /nowhere/worker cannot be started in ") &&
                                 Catch::EndsWith("No such file or directory"));
  }
  CHECK(entries("/proc/self/fd") == before);
}

TEST_CASE("worker process: a hundred workers leave nothing behind", "[apart]") {
  const TemporaryDir folder;
  const size_t descriptors = entries("/proc/self/fd");
  const size_t threads = entries("/proc/self/task");
  for (int i = 0; i < 100; ++i) {
    WorkerProcess worker(shell(i % 2 == 0 ? "echo x; exit 0" : "exec sleep 1000", folder.path()));
    if (i % 4 == 0) {
      worker.end();
    }
  }
  CHECK(entries("/proc/self/fd") == descriptors);
  CHECK(entries("/proc/self/task") == threads);
  CHECK_FALSE(quench::has_children());
}
