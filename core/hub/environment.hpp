// The environment variables that tell the Hugging Face tools where their cache is.
#pragma once

#include <filesystem>
#include <string>

namespace quench {

// An empty string stands for a variable that is not set.
struct HubEnvironment {
  std::string hf_hub_cache;
  std::string huggingface_hub_cache;
  std::string hf_home;
  std::string xdg_cache_home;
  std::string home;
  // Where to remember which files of the cache are intact (check_blob): QUENCH_HOME. Empty:
  // nowhere.
  std::filesystem::path memory = {};
};

// The only function that reads them.
HubEnvironment hub_environment_from_process();

// HF_HUB_CACHE, else HUGGINGFACE_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub,
// else ~/.cache/huggingface/hub; a leading ~ is the home folder. Throws Error(FAILED_PRECONDITION)
// if none is set.
std::filesystem::path hub_cache_root(const HubEnvironment& environment);

}  // namespace quench
