// Exceptions inside a plugin, and their translation to status codes at the border.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "quench/abi/status.h"

namespace quench::kit {

// A failure with its status code. The message is one line: what, where, got, wanted.
class Error : public std::runtime_error {
 public:
  Error(quench_status code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  quench_status code() const { return code_; }

 private:
  quench_status code_;
};

// Throws Error with a printf-formatted message.
[[noreturn]] __attribute__((format(printf, 2, 3))) inline void fail(quench_status code,
                                                                    const char* format, ...) {
  char message[480];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  throw Error(code, message);
}

// Throws INVALID_ARGUMENT with `message` unless `condition` holds.
inline void expects(bool condition, const char* message) {
  if (!condition) {
    throw Error(QUENCH_INVALID_ARGUMENT, message);
  }
}

// Fills the caller's error record, if there is one; cuts the message at its first line break.
inline quench_status report(quench_error* error, quench_status code, const char* message) noexcept {
  if (error != nullptr) {
    error->struct_size = sizeof(quench_error);
    error->code = code;
    const size_t length = std::strcspn(message, "\r\n");
    const size_t kept = length < sizeof error->message ? length : sizeof error->message - 1;
    std::memcpy(error->message, message, kept);
    error->message[kept] = '\0';
  }
  return code;
}

// Runs `body` and turns any exception into a status, so that none crosses the border.
template <typename Body>
quench_status guard(quench_error* error, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return QUENCH_OK;
  } catch (const Error& failure) {
    return report(error, failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return report(error, QUENCH_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& failure) {
    return report(error, QUENCH_INTERNAL, failure.what());
  } catch (...) {
    return report(error, QUENCH_INTERNAL, "an exception that is no std::exception");
  }
}

// The reverse: throws the error that a function of the host or of a model reported.
inline void check(quench_status status, const quench_error& error) {
  if (status != QUENCH_OK) {
    throw Error(status, error.message);
  }
}

}  // namespace quench::kit
