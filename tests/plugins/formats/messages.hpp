// What parts of formats throw, as the host would tell it.
#pragma once

#include "quench/kit/error.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

// Runs `body`; a plugin's failure becomes the host's.
template <typename Body>
auto as_host(Body body) {
  try {
    return body();
  } catch (const kit::Error& error) {
    throw Error(error.code(), error.what());
  }
}

// message_of() for parts of formats, without the "format ID: " that the host puts before it.
template <typename Body>
std::string format_message_of(Body body, const std::filesystem::path& folder = {}) {
  const std::string message = message_of([&] { as_host([&] { body(); }); }, folder);
  const size_t colon = message.find(": ");
  return message.starts_with("format ") && colon != std::string::npos ? message.substr(colon + 2)
                                                                      : message;
}

}  // namespace quench::test
