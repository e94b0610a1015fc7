#include "core/hub/fetch/hub_access.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "core/hub/fetch/url.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
  });
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

fs::path token_file(const HubEnvironment& environment) {
  std::string path = variable("HF_TOKEN_PATH");
  if (path.empty()) {
    if (!environment.hf_home.empty()) {
      path = environment.hf_home + "/token";
    } else if (!environment.xdg_cache_home.empty()) {
      path = environment.xdg_cache_home + "/huggingface/token";
    } else if (!environment.home.empty()) {
      path = "~/.cache/huggingface/token";
    }
  }
  if (path.starts_with("~/") && !environment.home.empty()) {
    path = environment.home + path.substr(1);
  }
  return path;
}

// A line break in a token would end the header that it is sent in.
void set_token(HubAccess& access, std::string token, const std::string& from) {
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  token.erase(0, token.find_first_not_of(" \t\r\n"));
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!plain || token.size() > 4096) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: got something else than a token, wanted one word", from);
  }
  access.token = std::move(token);
  access.token_from = access.token.empty() ? "" : from;
}

void find_token(HubAccess& access, const HubEnvironment& environment) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const std::string value = variable(name); !value.empty()) {
      set_token(access, value, name);
      return;
    }
  }
  const fs::path file = token_file(environment);
  std::error_code error;
  if (!file.empty() && fs::is_regular_file(file, error)) {
    set_token(access, read_file(file, 1u << 16), file.string());
  }
}

double seconds_of(const char* name, double otherwise) {
  const std::string text = variable(name);
  if (text.empty()) {
    return otherwise;
  }
  const auto out = parse_number<double>(text);
  if (!out || !(*out >= 1 && *out <= 86400)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: got '{}', wanted seconds from 1 to 86400", name,
         printable(text));
  }
  return *out;
}

}  // namespace

HubAccess hub_access_from_process(const HubEnvironment& environment) {
  HubAccess out;
  if (std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) {
    endpoint.erase(endpoint.find_last_not_of('/') + 1);
    try {
      out.endpoint = endpoint;
      const Url checked(endpoint);
      if (endpoint.find_first_of("?#") != std::string::npos) {
        fail(QUENCH_INVALID_ARGUMENT,
             "a URL has something behind a `?` or `#`, wanted one without");
      }
    } catch (const Error& error) {
      fail(QUENCH_INVALID_ARGUMENT, "HF_ENDPOINT: {}", error.what());
    }
  }
  out.offline = is_true(variable("HF_HUB_OFFLINE")) || is_true(variable("TRANSFORMERS_OFFLINE"));
  out.silence_seconds = seconds_of("HF_HUB_DOWNLOAD_TIMEOUT", out.silence_seconds);
  find_token(out, environment);
  return out;
}

std::string without_token(std::string text, const HubAccess& access) {
  for (size_t at = 0;
       !access.token.empty() && (at = text.find(access.token, at)) != std::string::npos;) {
    text.replace(at, access.token.size(), "[token]");
    at += 7;
  }
  return text;
}

}  // namespace quench
