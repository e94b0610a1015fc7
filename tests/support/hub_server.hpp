// A hub of the test's own: tests/support/hub_server.py as a child process, with its repositories in
// a temporary folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/process/child_process.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

class HubServer {
 public:
  // Starts with start(); files may be added before and after.
  HubServer() = default;

  // "models/org/name/main/config.json"
  void add(const std::string& path, std::string_view content) const;
  // A model of two small files and one large one of `bytes` bytes that no pattern repeats.
  void add_model(const std::string& name_and_revision, size_t bytes = 300'000,
                 unsigned seed = 1) const;
  // `options`: as the script's usage says, {"--fault", "cut:safetensors:1000:2"}. A server that
  // runs is ended first; the next one has other ports. Skips the test where there is no Python.
  void start(const std::vector<std::string>& options = {});

  const std::string& endpoint() const { return endpoint_; }
  // What was asked so far, in order; {"host", "path", "status", "authorization", "range"}.
  std::vector<nlohmann::json> requests() const;
  size_t count(const std::string& part_of_path) const;
  nlohmann::json last(const std::string& part_of_path) const;  // null: none

 private:
  TemporaryDir folder_;
  std::optional<ChildProcess> process_;
  std::string endpoint_;
};

// All of a cache that readers see, path by path: links with their targets, files with their
// content. What is incomplete is left out.
std::string cache_listing(const std::filesystem::path& cache);

}  // namespace quench::test
