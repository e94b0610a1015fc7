// Which hub to ask, and as whom.
#pragma once

#include <string>

#include "core/hub/environment.hpp"

namespace quench {

struct HubAccess {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a slash at its end
  std::string token;                                // "": none
  std::string token_from;                           // "HF_TOKEN", or the token's file
  bool offline = false;                             // HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE
  double silence_seconds = 10;                      // HF_HUB_DOWNLOAD_TIMEOUT
  double whole_seconds = 600;              // for a list of files with all its pages, or a file ...
  double slowest_bytes_per_second = 1024;  // ... beside the time of its bytes
};

// Reads these variables and HF_TOKEN, HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH, else the
// file `token` in HF_HOME, as the Python client does. Throws Error(INVALID_ARGUMENT), which never
// shows a token.
HubAccess hub_access_from_process(const HubEnvironment& environment);

// The text with every occurrence of the token taken out: a server may answer with what it was sent.
std::string without_token(std::string text, const HubAccess& access);

}  // namespace quench
