// A hub, a cache of its own, and fetches between them.
#pragma once

#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/hub/fetch/fetch.hpp"
#include "tests/support/hub_server.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

class FetchScene {
 public:
  FetchScene();

  // Fetches into cache(); waits are a hundred times shorter than usual. Throws what fetch throws.
  FetchPlan fetch(const std::string& spec, Purpose purpose = Purpose::kModel);
  FetchPlan plan(const std::vector<std::string>& specs, Purpose purpose = Purpose::kModel);
  // The message of the Error, or "": folder and endpoint are written "CACHE" and "HUB".
  std::string failure(const std::string& spec);

  std::filesystem::path cache() const { return folder_ / "cache"; }
  std::filesystem::path blobs(const std::string& repository = "models--org--name") const {
    return cache() / repository / "blobs";
  }
  HubEnvironment environment() const;
  // Whether the fetched model.safetensors is the hub's, through resolve().
  bool has_weights(const std::string& spec) const;

  HubServer server;
  HubAccess access;
  RetryPolicy policy;
  std::vector<std::string> waits;  // lines that people see
  std::atomic<bool> cancel = false;

 private:
  TemporaryDir folder_;
};

}  // namespace quench::test
