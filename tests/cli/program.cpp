#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

std::string program_path() {
  return (binary_dir() / "bin/quench").string();
}

std::vector<std::string> program_environment() {
  // One cache of probes for all tests, or each would load every plugin.
  const char* path = std::getenv("PATH");
  std::vector<std::string> out = {"PATH=" + std::string(path != nullptr ? path : "/usr/bin:/bin"),
                                  "HOME=" + (binary_dir() / "tests/home").string(),
                                  "QUENCH_HOME=" + (binary_dir() / "tests/quench-home").string(),
                                  "QUENCH_PLUGIN_PATH=" + (binary_dir() / "template").string()};
  if (const char* isa = std::getenv("QUENCH_ISA"); isa != nullptr) {
    out.push_back("QUENCH_ISA=" + std::string(isa));
  }
  if (const std::filesystem::path driver = binary_dir() / "lib/libcuda.so.1";
      std::filesystem::exists(driver)) {
    out.push_back("LD_LIBRARY_PATH=" + driver.parent_path().string());
  }
  return out;
}

void need_plugin(const std::string& kind_and_id) {
  skip_unless(std::filesystem::exists(binary_dir() / "lib/quench" / (kind_and_id + ".so")),
              kind_and_id + " is not built");
}

Workplace::Workplace(Page page) : page_(page) {
  const std::string script = (source_dir() / "tests/sdk/tiny_checkpoint.pl").string();
  const Ended made =
      run_shell("perl '" + script + "' '" + (folder_ / "tiny").string() + "' template_model");
  if (made.code != 0) {
    throw std::runtime_error("no checkpoint: " + made.out);
  }
  std::string text;
  for (int i = 0; text.size() < 1000; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + "\n";
  }
  folder_.write("t.txt", text.substr(0, 1000));
  std::filesystem::create_directory(folder_ / "home");
  const std::filesystem::path probes = binary_dir() / "tests/quench-home/plugins.json";
  if (std::filesystem::exists(probes)) {  // else the program describes them itself
    std::filesystem::copy(probes, folder_ / "home/plugins.json");
  }
}

Command Workplace::command(const Arguments& arguments, const std::string& redirection) const {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  Command command;
  command.words = {program_path()};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.environment = program_environment();
  std::erase_if(*command.environment,
                [](const std::string& v) { return v.starts_with("QUENCH_HOME="); });
  command.environment->push_back("QUENCH_HOME=" + (folder_ / "home").string());
  if (page_ == Page::kNone && !arguments.empty() && arguments.front() == "run") {
    command.environment->push_back("QUENCH_PYTHON=/no/python3");
  }
  command.folder = folder_.path();
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::file(STDOUT_FILENO, folder_ / "out", kFlags),
                     ChildStream::file(STDERR_FILENO, folder_ / "err", kFlags)};
  if (redirection == ">&-") {
    command.streams.push_back(ChildStream::closed(STDOUT_FILENO));
  } else if (redirection == "2>&-") {
    command.streams.push_back(ChildStream::closed(STDERR_FILENO));
  } else if (redirection == ">/dev/full") {
    command.streams.push_back(ChildStream::file(STDOUT_FILENO, "/dev/full", O_WRONLY));
  } else if (redirection.starts_with("<>")) {
    command.streams.push_back(ChildStream::file(STDIN_FILENO, redirection.substr(2), O_RDWR));
  } else if (redirection.starts_with("<")) {
    command.streams.push_back(ChildStream::file(STDIN_FILENO, redirection.substr(1), O_RDONLY));
  }
  return command;
}

ChildProcess Workplace::start(const Arguments& arguments, const std::string& redirection) const {
  return ChildProcess::start(command(arguments, redirection));
}

Outcome Workplace::wait(ChildProcess& process) const {
  const int code = process.wait().code();
  return {code, read_file(folder_ / "out"), read_file(folder_ / "err")};
}

Outcome Workplace::run(const Arguments& arguments, const std::string& redirection) const {
  ChildProcess process = start(arguments, redirection);
  return wait(process);
}

bool Workplace::wait_for_work() const {
  for (int i = 0; i < 1200; ++i) {
    if (!read_file(folder_ / "err").empty()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void Workplace::write_long_text() const {
  const std::string line = "the quick brown fox jumps over the lazy dog and on\n";
  std::string text;
  while (text.size() < (8u << 20)) {
    text += line;
  }
  folder_.write("long.txt", text);
}

}  // namespace quench::test
