#include "core/hub/environment.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

HubEnvironment hub_environment_from_process() {
  const auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {get("HF_HUB_CACHE"), get("HUGGINGFACE_HUB_CACHE"),
          get("HF_HOME"),      get("XDG_CACHE_HOME"),
          get("HOME"),         {}};
}

fs::path hub_cache_root(const HubEnvironment& environment) {
  const auto expanded = [&](const std::string& path) {
    const bool tilde = path == "~" || path.starts_with("~/");
    return tilde && !environment.home.empty() ? fs::path(environment.home + path.substr(1))
                                              : fs::path(path);
  };
  if (!environment.hf_hub_cache.empty()) {
    return expanded(environment.hf_hub_cache);
  }
  if (!environment.huggingface_hub_cache.empty()) {
    return expanded(environment.huggingface_hub_cache);
  }
  if (!environment.hf_home.empty()) {
    return expanded(environment.hf_home) / "hub";
  }
  if (!environment.xdg_cache_home.empty()) {
    return expanded(environment.xdg_cache_home) / "huggingface/hub";
  }
  if (!environment.home.empty()) {
    return fs::path(environment.home) / ".cache/huggingface/hub";
  }
  fail(QUENCH_FAILED_PRECONDITION,
       "hub cache: neither HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME nor HOME is set");
}

}  // namespace quench
