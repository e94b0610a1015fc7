#include "tests/regression/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <stdexcept>

#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

// "NAME=value" of all variables that the child sees.
std::vector<std::string> environment_of(const std::map<std::string, std::string>& given) {
  const fs::path home = binary_dir() / "tests" / "regression_home";
  std::map<std::string, std::string> all = {
      {"PATH", "/usr/bin:/bin"}, {"HOME", home.string()}, {"QUENCH_HOME", home.string()}};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) {
      all[name] = value;
    }
  }
  for (const auto& [name, value] : given) {
    all[name] = value;
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : all) {
    out.push_back(name + "=" + value);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace

Finished run_quench(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment,
                    const std::string& input) {
  const std::string program = (binary_dir() / "bin" / "quench").string();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(environment);
  // Files instead of pipes: nobody has to read while the child writes.
  const TemporaryDir folder;
  const std::string in = folder.write("in", input).string();
  const std::string out = (folder / "out").string();
  const std::string err = (folder / "err").string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    throw std::runtime_error(program + " could not be started");
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    throw std::runtime_error(program + " was lost");
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
          read_file(err)};
}

nlohmann::json quench_json(std::vector<std::string> arguments,
                           const std::map<std::string, std::string>& environment) {
  arguments.push_back("--json");
  const Finished finished = run_quench(arguments, environment);
  INFO(finished.err);
  REQUIRE(finished.code == 0);
  return nlohmann::json::parse(finished.out);
}

void make_home(const fs::path& folder) {
  fs::create_directory(folder);
  const fs::path probes = binary_dir() / "tests/regression_home/plugins.json";
  if (fs::exists(probes)) {
    fs::copy(probes, folder / "plugins.json");
  }
}

nlohmann::json run_manifest(const std::string& yaml, std::vector<std::string> arguments,
                            const std::map<std::string, std::string>& environment) {
  const TemporaryDir folder;
  const fs::path manifest = folder.write("manifest.yaml", yaml);
  arguments.insert(arguments.begin(),
                   {"run", manifest.string(), "--out", (folder / "results").string()});
  // A store of its own: a record of an earlier build would answer for this one.
  const fs::path home = folder / "home";
  make_home(home);
  std::map<std::string, std::string> all = environment;
  all.emplace("QUENCH_HOME", home.string());
  return quench_json(std::move(arguments), all);
}

std::vector<nlohmann::json> records_of(const nlohmann::json& document, const std::string& metric) {
  std::vector<nlohmann::json> out;
  for (const nlohmann::json& record : document.at("records")) {
    if (record.at("metric") == metric) {
      out.push_back(record);
    }
  }
  return out;
}

fs::path template_plugins() {
  return binary_dir() / "template";
}
fs::path test_plugins() {
  return binary_dir() / "tests" / "regression_plugins";
}

}  // namespace quench::test
