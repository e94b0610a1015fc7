#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "core/version.hpp"
#include "tests/core/cli/program.hpp"

using quench::test::Outcome;
using quench::test::Workplace;

namespace {

const Workplace::Arguments kEval = {"eval", "tiny", "--metric",
                                    "validation_loss:text=t.txt,block=16"};

// What the program writes to a terminal until `wanted` appears, at most 60 s; then it is stopped.
std::string on_terminal(const Workplace& here, Workplace::Arguments arguments,
                        const std::string& wanted) {
  arguments.insert(arguments.begin(), quench::test::program_path());
  std::vector<std::string> variables = quench::test::program_environment();
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& word : arguments) {
    argv.push_back(word.data());
  }
  for (std::string& variable : variables) {
    envp.push_back(variable.data());
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) {
    if (::chdir(here.folder().path().c_str()) == 0) {
      ::execve(argv[0], argv.data(), envp.data());
    }
    ::_exit(127);
  }
  std::string shown;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (shown.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < end) {
    pollfd ready{terminal, POLLIN, 0};
    poll(&ready, 1, 100);
    char buffer[4096];
    const ssize_t got =
        (ready.revents & (POLLIN | POLLHUP)) != 0 ? ::read(terminal, buffer, sizeof buffer) : 0;
    if (got < 0) {
      break;
    }
    shown.append(buffer, static_cast<size_t>(got));
  }
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  ::close(terminal);
  return shown;
}

}  // namespace

TEST_CASE("version: goes to stdout with exit code 0", "[cli]") {
  const Outcome got = Workplace().run({"--version"});
  CHECK(got.code == 0);
  CHECK(got.out == std::string("quench ") + quench::kVersion + "\n");
  CHECK(got.err.empty());
}

TEST_CASE("eval: the table goes to stdout, what is being done to stderr", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(kEval);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("checkpoint"));
  CHECK(got.err == "tiny\n");
}

TEST_CASE("eval: --json prints JSON and nothing else", "[cli]") {
  const Workplace here;
  Workplace::Arguments arguments = kEval;
  arguments.insert(arguments.end(), {"--json", "--quantizer", "template_quantizer:bits=3"});
  const Outcome got = here.run(arguments);
  CHECK(got.code == 0);
  CHECK(got.err.empty());
  const nlohmann::json out = nlohmann::json::parse(got.out);
  REQUIRE(out.at("records").size() == 3);  // float, quantized, error
  CHECK(out["records"][0].at("quantizer").is_null());
  CHECK(out["records"][1].at("quantizer").at("id") == "template_quantizer");
  CHECK(out["records"][2].at("metric") == "quantization_error");
}

TEST_CASE("output: that does not arrive is exit code 1 and one line", "[cli]") {
  const Workplace here;
  Workplace::Arguments json = kEval;
  json.push_back("--json");
  for (const Workplace::Arguments& arguments :
       {Workplace::Arguments{"--version"}, Workplace::Arguments{"plugins", "list"}, json}) {
    CAPTURE(arguments);
    const Outcome full = here.run(arguments, ">/dev/full");
    CHECK(full.code == 1);
    CHECK_THAT(full.err, Catch::StartsWith("standard output: write failed"));
    const Outcome closed = here.run(arguments, ">&-");
    CHECK(closed.code == 1);
    CHECK_THAT(closed.err, Catch::StartsWith("standard output: write failed"));
    CHECK(std::count(closed.err.begin(), closed.err.end(), '\n') == 1);
  }
}

TEST_CASE("output: a closed stderr loses the messages, not the results", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(kEval, "2>&-");
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("checkpoint"));
  CHECK(here.run({"frobnicate"}, "2>&-").code == 2);
}

TEST_CASE("progress: a terminal sees a line with rate and time left", "[cli]") {
  const Workplace here;
  here.write_long_text();
  const std::string shown = on_terminal(
      here, {"eval", "tiny", "--metric", "validation_loss:text=long.txt,block=1024"}, " left");
  CHECK_THAT(shown, Catch::Contains("\r\033[Ktiny: scoring tokens ") && Catch::Contains("/s, "));
}

TEST_CASE("progress: no carriage return where stderr is no terminal", "[cli]") {
  const Workplace here;
  here.write_long_text();
  const pid_t process =
      here.start({"eval", "tiny", "--metric", "validation_loss:text=long.txt,block=1024"});
  CHECK(here.wait_for_work());
  ::usleep(500'000);
  ::kill(process, SIGKILL);
  const Outcome got = here.wait(process);
  CHECK_THAT(got.err, Catch::StartsWith("tiny\n"));
  CHECK(got.err.find_first_of("\r\033") == std::string::npos);
}
