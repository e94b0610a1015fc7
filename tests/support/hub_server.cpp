#include "tests/support/hub_server.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"

namespace quench::test {

namespace fs = std::filesystem;

void HubServer::add(const std::string& path, std::string_view content) const {
  folder_.write("root/" + path, content);
}

void HubServer::add_model(const std::string& name_and_revision, size_t bytes, unsigned seed) const {
  const std::string folder = "models/" + name_and_revision + "/";
  add(folder + "config.json", R"({"model_type": "llama"})");
  add(folder + "tokenizer.json", R"({"version": "1.0"})");
  add(folder + "README.md", "nothing that quench reads");
  std::mt19937 random(seed);
  std::string weights(bytes, '\0');
  for (char& byte : weights) {
    byte = static_cast<char>(random());
  }
  add(folder + "model.safetensors", weights);
}

void HubServer::start(const std::vector<std::string>& options) {
  const std::string python = fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
  skip_unless(has_program(python), "there is no python3");
  process_.reset();
  const fs::path ready = folder_ / "ready";
  fs::remove(ready);
  fs::remove(folder_ / "log");
  Command command;
  command.words = {python,           (source_dir() / "tests/support/hub_server.py").string(),
                   folder_ / "root", "--ready",
                   ready.string(),   "--log",
                   folder_ / "log"};
  command.words.insert(command.words.end(), options.begin(), options.end());
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::file(STDOUT_FILENO, "/dev/null", O_WRONLY)};
  command.ends_with_starter = true;
  process_ = ChildProcess::start(command);
  for (int i = 0; i < 600 && !fs::exists(ready); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::istringstream(read_file(ready)) >> endpoint_;
  if (endpoint_.empty()) {
    throw std::runtime_error("the test's hub does not start");
  }
}

std::vector<nlohmann::json> HubServer::requests() const {
  std::vector<nlohmann::json> out;
  std::istringstream lines(read_file(folder_ / "log"));
  for (std::string line; std::getline(lines, line);) {
    out.push_back(nlohmann::json::parse(line));
  }
  return out;
}

size_t HubServer::count(const std::string& part_of_path) const {
  size_t out = 0;
  for (const nlohmann::json& request : requests()) {
    out += request["path"].get<std::string>().find(part_of_path) != std::string::npos ? 1 : 0;
  }
  return out;
}

nlohmann::json HubServer::last(const std::string& part_of_path) const {
  nlohmann::json out;
  for (const nlohmann::json& request : requests()) {
    if (request["path"].get<std::string>().find(part_of_path) != std::string::npos) {
      out = request;
    }
  }
  return out;
}

std::string cache_listing(const fs::path& cache) {
  std::map<std::string, std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(cache)) {
    const std::string name = entry.path().lexically_relative(cache).string();
    if (name.ends_with(".incomplete") || name.find("/.reference.") != std::string::npos) {
      continue;
    }
    if (entry.is_symlink()) {
      lines[name] = " -> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      lines[name] = ": " + std::to_string(std::hash<std::string>()(read_file(entry.path())));
    }
  }
  std::string out;
  for (const auto& [name, what] : lines) {
    out += name + what + "\n";
  }
  return out;
}

}  // namespace quench::test
