#include "core/base/process/child_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>
#include <thread>

#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/terminal.hpp"

using quench::ChildGroup;
using quench::ChildProcess;
using quench::ChildStream;
using quench::Command;
using quench::ProcessEnd;
using quench::test::TemporaryDir;
using quench::test::Terminal;

namespace {

Command shell(const std::string& script) {
  Command out;
  out.words = {"/bin/sh", "-c", script};
  return out;
}

// Is there a process of this number? Its zombie would count.
bool exists(pid_t id) {
  return std::filesystem::exists("/proc/" + std::to_string(id));
}

// Until a process of another owner is gone, at most 10 s.
bool goes_away(pid_t id) {
  for (int i = 0; i < 1000 && exists(id); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !exists(id);
}

}  // namespace

TEST_CASE("child process: tells how it ended as a shell does", "[process]") {
  CHECK(ChildProcess::start(shell("exit 7")).wait().code() == 7);
  const ProcessEnd killed = ChildProcess::start(shell("kill -TERM $$")).wait();
  CHECK(killed.signal == SIGTERM);
  CHECK(killed.code() == 128 + SIGTERM);
  CHECK(ChildProcess::start_copy([] { return 3; }).wait().code() == 3);
  CHECK(ChildProcess::start_copy([]() -> int { throw 1; }).wait().code() == 127);
}

TEST_CASE("child process: a program that is not there is an error, and no process", "[process]") {
  Command command;
  command.words = {"/nowhere/program"};
  try {
    ChildProcess::start(command);
    FAIL("it was started");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::no_such_file_or_directory);
  }
  CHECK_FALSE(quench::has_children());
}

TEST_CASE("child process: streams, folder and environment are those that were asked for",
          "[process]") {
  const TemporaryDir folder;
  Command command = shell("cat; echo \"$PWD $NAME ${HOME-none}\"; echo complaint >&2");
  command.environment = std::vector<std::string>{"NAME=value", "PATH=/usr/bin:/bin"};
  command.folder = folder.path();
  command.streams = {ChildStream::file(0, folder.write("in", "input\n"), O_RDONLY),
                     ChildStream::file(1, folder / "out", O_WRONLY | O_CREAT),
                     ChildStream::copy(2, 1)};
  CHECK(ChildProcess::start(command).wait().code() == 0);
  CHECK(quench::test::read_file(folder / "out") ==
        "input\n" + folder.path().string() + " value none\ncomplaint\n");
  Command closed = shell("echo x 2>/dev/null");
  closed.streams = {ChildStream::closed(1)};
  CHECK(ChildProcess::start(closed).wait().code() != 0);
}

TEST_CASE("child process: whoever destroys the owner ends the process", "[process]") {
  pid_t id = 0;
  {
    const ChildProcess child = ChildProcess::start(shell("exec sleep 1000"));
    id = child.id();
    CHECK(exists(id));
    CHECK_FALSE(child.has_ended());
  }
  CHECK_FALSE(exists(id));
  ChildProcess first = ChildProcess::start(shell("exec sleep 1000"));
  id = first.id();
  ChildProcess second = std::move(first);
  CHECK(second.id() == id);
  first.signal(SIGKILL);  // owns nothing any more
  CHECK_FALSE(second.has_ended());
  second = ChildProcess::start(shell("exit 0"));
  CHECK_FALSE(exists(id));
  CHECK(second.wait().code() == 0);
}

// A signal to -1 would reach every process of the user, one to 0 the test's own group.
TEST_CASE("child process: without a process nothing is signalled", "[process]") {
  ChildProcess child = ChildProcess::start(shell("exit 0"));
  child.wait();
  CHECK(child.id() == 0);
  CHECK(child.has_ended());
  ChildProcess bystander = ChildProcess::start(shell("exec sleep 1000"));
  child.signal(SIGKILL);
  CHECK_FALSE(bystander.has_ended());
  CHECK_THROWS_AS(child.end(), std::system_error);
  CHECK_FALSE(bystander.has_ended());
  ChildProcess moved = std::move(bystander);
  bystander.signal(SIGKILL);
  CHECK_FALSE(moved.has_ended());
}

TEST_CASE("child process: a copy that cannot be made is an error, and nothing is signalled",
          "[process]") {
  // In a copy of this process, which alone is limited; root, whom the limit does not bind, becomes
  // somebody else there.
  const auto starts_none = [] {
    rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (::geteuid() == 0 && ::setuid(65534) != 0)) {
      return 8;
    }
    try {
      ChildProcess::start_copy([] { return 0; });
    } catch (const std::system_error& error) {
      return error.code() == std::errc::resource_unavailable_try_again ? 5 : 6;
    }
    return 7;
  };
  const ProcessEnd end = ChildProcess::start_copy(starts_none).wait();
  CHECK(end.code() == 5);
}

TEST_CASE("child process: a group ends with its leader", "[process]") {
  const TemporaryDir folder;
  Command command = shell("sleep 1000 & echo $! > '" + (folder / "id").string() + "'");
  command.group = ChildGroup::kOwn;
  CHECK(ChildProcess::start(command).wait().code() == 0);
  CHECK(goes_away(std::stoi(quench::test::read_file(folder / "id"))));

  command = shell("sleep 1000 & echo $! > '" + (folder / "other").string() + "'; wait");
  command.group = ChildGroup::kOwn;
  {
    const ChildProcess child = ChildProcess::start(command);
    while (quench::test::read_file(folder / "other").empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  CHECK(goes_away(std::stoi(quench::test::read_file(folder / "other"))));
}

TEST_CASE("child process: it neither blocks nor ignores what its parent does", "[process]") {
  const auto handler = std::signal(SIGTERM, SIG_IGN);
  ChildProcess child = ChildProcess::start(shell("kill -TERM $$; exit 0"));
  std::signal(SIGTERM, handler);
  CHECK(child.wait().signal == SIGTERM);
}

TEST_CASE("child process: an ignored SIGCHLD, which is inherited, loses no ending", "[process]") {
  std::signal(SIGCHLD, SIG_IGN);
  ChildProcess child = ChildProcess::start(shell("exit 4"));
  CHECK(child.wait().code() == 4);
  std::signal(SIGCHLD, SIG_DFL);
}

TEST_CASE("child process: descriptors from a number on are closed", "[process]") {
  const TemporaryDir folder;
  const int file = ::open((folder / "kept").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(file >= 0);
  const int high = ::fcntl(file, F_DUPFD, 100);
  Command command = shell("echo given >&3; ls /proc/self/fd > names; tr '\\n' ' ' < names");
  command.folder = folder.path();
  command.streams = {ChildStream::file(1, folder / "out", O_WRONLY | O_CREAT),
                     ChildStream::copy(3, file)};
  command.closed_from = 4;
  CHECK(ChildProcess::start(command).wait().code() == 0);
  CHECK(quench::test::read_file(folder / "kept") == "given\n");
  CHECK(quench::test::read_file(folder / "out") == "0 1 2 3 4 ");  // 4: the folder that ls reads
  ::close(high);
  ::close(file);
}

TEST_CASE("child process: a descriptor that is copied to its own number stays open", "[process]") {
  const TemporaryDir folder;
  const int file = ::open((folder / "kept").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int seven = ::fcntl(file, F_DUPFD_CLOEXEC, 7);
  REQUIRE(seven >= 7);
  Command command = shell("echo given >&" + std::to_string(seven));
  command.streams = {ChildStream::copy(seven, seven)};
  CHECK(ChildProcess::start(command).wait().code() == (seven < 10 ? 0 : 2));
  ::close(seven);
  ::close(file);
}

TEST_CASE("child process: it ends with the thread that started it if it is asked to", "[process]") {
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    std::optional<ChildProcess> child;
    std::thread starter([&] {
      Command command = shell("exec sleep 1000");
      command.ends_with_starter = ends;
      child = ChildProcess::start(command);
    });
    starter.join();
    CHECK(child->ends_within(std::chrono::milliseconds(ends ? 10000 : 50)) == ends);
    child->signal(SIGTERM);
    CHECK(child->wait().signal == (ends ? SIGKILL : SIGTERM));
  }
}

TEST_CASE("child process: no core is left where none is wanted", "[process]") {
  const TemporaryDir folder;
  Command command = shell("ulimit -c");
  command.leaves_core = false;
  command.streams = {ChildStream::file(1, folder / "out", O_WRONLY | O_CREAT)};
  CHECK(ChildProcess::start(command).wait().code() == 0);
  CHECK(quench::test::read_file(folder / "out") == "0\n");
}

TEST_CASE("child process: a wait for the end is as long as it says and no longer than the process",
          "[process]") {
  ChildProcess running = ChildProcess::start(shell("exec sleep 1000"));
  CHECK_FALSE(running.ends_within(std::chrono::milliseconds(20)));
  running.signal(SIGKILL);
  CHECK(running.ends_within(std::chrono::seconds(60)));
  CHECK(running.wait().signal == SIGKILL);
  CHECK(running.ends_within(std::chrono::milliseconds(0)));
}

TEST_CASE("child process: a name is looked for on PATH, and found nowhere else", "[process]") {
  const TemporaryDir folder;
  Command command;
  command.words = {"sh", "-c", "exit 6"};
  CHECK(ChildProcess::start(command).wait().code() == 6);
  std::filesystem::create_symlink("/bin/sh", folder / "only-here");
  command.words[0] = "only-here";
  command.folder = folder.path();
  CHECK_THROWS_AS(ChildProcess::start(command), std::system_error);
  command.words[0] = "./only-here";
  CHECK(ChildProcess::start(command).wait().code() == 6);
}

TEST_CASE("child process: a folder or stream that cannot be had is an error", "[process]") {
  Command command = shell("exit 0");
  command.folder = "/nowhere";
  CHECK_THROWS_AS(ChildProcess::start(command), std::system_error);
  command.folder.clear();
  command.streams = {ChildStream::file(1, "/nowhere/file", O_WRONLY)};
  CHECK_THROWS_AS(ChildProcess::start(command), std::system_error);
  CHECK_FALSE(quench::has_children());
}

TEST_CASE("child process: a leader that leaves its group ends all the same", "[process]") {
  quench::test::skip_unless(quench::test::has_program("python3"), "there is no python3");
  const TemporaryDir folder;
  Command command;
  command.words = {"python3", "-c",
                   "import os, time\nos.setpgid(0, os.getpgid(os.getppid()))\n"
                   "open('left', 'w').close()\ntime.sleep(1000)"};
  command.folder = folder.path();
  command.group = ChildGroup::kOwn;
  ChildProcess child = ChildProcess::start(command);
  while (!std::filesystem::exists(folder / "left") && !child.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(child.end().signal == SIGKILL);
}

TEST_CASE("terminal: a program in it finds a terminal on all three streams", "[process]") {
  const std::optional<Terminal> terminal = Terminal::open();
  quench::test::skip_unless(terminal.has_value(),
                            "there is no pseudo-terminal (is /dev/pts mounted?)");
  ChildProcess child = terminal->start(
      shell("test -t 0 && test -t 1 && test -t 2 && echo yes > /dev/tty; echo done"));
  const std::string shown = terminal->read_until("done", std::chrono::seconds(20));
  CHECK_THAT(shown, Catch::StartsWith("yes\r\ndone"));
  CHECK(child.wait().code() == 0);
}
