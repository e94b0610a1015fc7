// The exception of the host. One type: what a caller can do about a failure depends on its code
// alone.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "quench/abi/status.h"

namespace quench {

// A failure with a message for the user: what, where, got, wanted, on one line.
class Error : public std::runtime_error {
 public:
  Error(quench_status code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  // One of QUENCH_* in quench/abi/status.h.
  quench_status code() const { return code_; }

 private:
  quench_status code_;
};

// Throws Error(code, formatted message).
template <typename... Args>
[[noreturn]] void fail(quench_status code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error(CANCELLED) once the flag is set; nullptr: there is none.
void stop_if_asked(const std::atomic<bool>* asked);

// The exception that is being handled, as an Error: RESOURCE_EXHAUSTED where no memory was left,
// FAILED_PRECONDITION where a file system refused, INTERNAL for what was not expected.
Error current_error();

// The name of a code in messages and records: "data loss".
const char* status_name(quench_status code);

// Fills a plugin's error record, cutting the message to fit between characters, and returns `code`.
// The record may be NULL; one that says it is too small is left alone.
quench_status report_error(quench_error* error, quench_status code,
                           std::string_view message) noexcept;

// Runs `body` for a plugin that called the host. What it throws becomes `error`, and its code:
// RESOURCE_EXHAUSTED where no memory was left, INTERNAL for what is not an Error.
template <typename Body>
quench_status guarded(quench_error* error, Body&& body) noexcept {
  try {
    body();
    return QUENCH_OK;
  } catch (const Error& failure) {
    return report_error(error, failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return report_error(error, QUENCH_RESOURCE_EXHAUSTED, "no memory left");
  } catch (const std::exception& failure) {
    return report_error(error, QUENCH_INTERNAL, failure.what());
  } catch (...) {
    return report_error(error, QUENCH_INTERNAL, "unknown exception");
  }
}

// A C function for plugins: Method(arguments...) of the object behind `context`, guarded.
template <auto Method>
struct Called;
template <typename Object, typename... Args, void (Object::*Method)(Args...)>
struct Called<Method> {
  static quench_status call(void* context, Args... args, quench_error* error) noexcept {
    return guarded(error, [&] { (static_cast<Object*>(context)->*Method)(args...); });
  }
};

// Text as it may appear in a one-line message: control characters, those that change the direction
// of text and invalid UTF-8 escaped, cut at `limit` bytes.
std::string printable(std::string_view text, size_t limit = 120);

// Offset of the first byte that is not UTF-8, or npos.
size_t first_invalid_utf8(std::string_view text);

// Of `candidates`, the nearest to a misspelt `word` of up to 256 bytes (at most two edits, or a
// third of its length), or "". Of very many candidates the last are not looked at.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace quench
