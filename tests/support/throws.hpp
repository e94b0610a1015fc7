// The message and code of the Error that something throws, for exact comparison.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "core/error.hpp"

namespace quench::test {

// "" when nothing is thrown. Every occurrence of `folder` with its slash is taken out, so that
// messages can be written down.
template <typename Body>
std::string message_of(Body body, const std::filesystem::path& folder = {}) {
  try {
    body();
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string prefix = folder.string() + "/";
    for (size_t at = message.find(prefix); !folder.empty() && at != std::string::npos;
         at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
    return message;
  }
  return "";
}

// QUENCH_OK when nothing is thrown.
template <typename Body>
quench_status code_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return QUENCH_OK;
}

}  // namespace quench::test
