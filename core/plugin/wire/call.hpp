// One call of a function of the other process.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/wire/crossing.hpp"
#include "core/plugin/wire/lost_answer.hpp"
#include "core/plugin/wire/thunk.hpp"

namespace quench::wire {

class Call {
 public:
  Call(std::shared_ptr<Peer> peer, uint64_t target, uint16_t function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Sending& out() { return out_; }
  std::span<const std::byte> body() const { return writer_.bytes(); }
  // Sends it and waits. Values of the reply are to lie in `keep`. Throws Error.
  Receiving& send(Keep& keep);
  Receiving& send() { return send(keep_); }
  // The first value of a reply whose function can fail; the message goes to `error`.
  quench_status status(quench_error* error);
  // A message that comes with a value.
  void message(quench_error* error);
  // Copies what interfaces of this call handed out meanwhile.
  void take_handed_out();
  void finish() {
    reader_->finish();
    in_->give_made();
  }

 private:
  std::shared_ptr<Peer> peer_;
  Channel& channel_;
  std::unique_lock<std::recursive_mutex> turn_;
  uint64_t target_;
  uint16_t function_;
  uint64_t from_;  // of own memory
  int exceptions_ = std::uncaught_exceptions();
  Writer writer_;
  Sending out_;
  Keep keep_;
  Message reply_;
  std::optional<Reader> reader_;
  std::optional<Receiving> in_;
};

// The number under which a function's results are kept.
inline uint64_t key_of(uint64_t target, uint16_t function) {
  return target << 16 | function;
}

// Runs the body of a generated call; what it throws becomes the status.
template <typename Body>
quench_status status_of(quench_error* error, Body&& body) noexcept {
  try {
    return body();
  } catch (const Error& failure) {
    return report_error(error, failure.code(), failure.what());
  } catch (const std::exception& failure) {
    return report_error(error, QUENCH_INTERNAL, failure.what());
  }
}
// The same for a function whose result is a number, which is then `otherwise`.
template <typename Value, typename Body>
Value value_of(Value otherwise, quench_error* error, Body&& body) noexcept {
  Value value = otherwise;
  status_of(error, [&] {
    value = body();
    return QUENCH_OK;
  });
  return value;
}
// The same for a function that cannot fail, which keeps what was thrown for the call's end.
template <typename Value, typename Body>
Value value_of(Value otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    lost_answer = std::current_exception();
    return otherwise;
  }
}
// The same for one without a value: the call after it says what has become of the process.
template <typename Body>
void attempt(Body&& body) noexcept {
  try {
    body();
  } catch (...) {
    return;
  }
}

// Asks an object for an extension; the answer is remembered.
const void* call_extension(const void* object, const char* id, uint16_t function) noexcept;

// The items whose functions without an object go to a numbered slot.
inline constexpr size_t kSlots = 96;
// Throws Error(RESOURCE_EXHAUSTED) where there are more.
size_t slot_of(RemoteItem* item);
template <typename Pointer, typename Stub>
Pointer in_slot(size_t slot) {
  static constexpr auto kThunks = thunks<Pointer, Stub>(std::make_index_sequence<kSlots>());
  return kThunks[slot];
}

// What this thread knows of the host's services.
Known& known_of_services();

}  // namespace quench::wire
