#include "core/plugin/calls/at_work.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"

namespace quench {

struct AtWork {
  char command[2000] = {};
  char work[1000] = {};
  char note[4096] = {};
  CellsAtWork* cells = nullptr;
  CallFrame** calls = nullptr;  // the innermost call of the watched thread

  static std::span<const std::string> keys(const CellsAtWork& cells) { return cells.keys_; }
};

namespace {

AtWork at_work;

template <size_t N>
void copy(char (&to)[N], std::string_view from) {
  const size_t size = std::min(from.size(), N - 1);
  std::memcpy(to, from.data(), size);
  to[size] = '\0';
}

}  // namespace

void set_resume_command(std::string_view command) {
  copy(at_work.command, printable(command, sizeof at_work.command));
}

void set_work(std::string_view what) {
  copy(at_work.work, printable(what, sizeof at_work.work));
}

void set_death_note(std::string_view path) {
  copy(at_work.note, path.size() < sizeof at_work.note ? path : "");
}

CellsAtWork::CellsAtWork(std::span<const std::string> keys) noexcept
    : keys_(keys), outer_(at_work.cells) {
  at_work.cells = this;
}

CellsAtWork::~CellsAtWork() {
  at_work.cells = outer_;
}

SignalText& SignalText::operator<<(const char* text) noexcept {
  for (; *text != '\0' && size_ + 1 < sizeof text_; ++text) {
    text_[size_++] = *text;
  }
  return *this;
}

SignalText& SignalText::operator<<(int64_t number) noexcept {
  char digits[24];
  char* at = digits + sizeof digits - 1;
  *at = '\0';
  uint64_t rest =
      number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  return *this << (number < 0 ? "-" : "") << at;
}

void SignalText::write_to(int descriptor) const noexcept {
  for (size_t done = 0; done < size_;) {
    const ssize_t wrote = ::write(descriptor, text_ + done, size_ - done);
    if (wrote <= 0) {
      return;
    }
    done += static_cast<size_t>(wrote);
  }
}

void watch_calls_of_this_thread() noexcept {
  at_work.calls = &innermost_call;
}

bool describe_call(SignalText& text) noexcept {
  const CallFrame* call = innermost_call;
  if (call == nullptr && at_work.calls != nullptr) {
    call = *at_work.calls;
  }
  if (call == nullptr) {
    return false;
  }
  text << call->plugin << ": " << call->function;
  if (call->place.name != nullptr) {
    text << " (" << call->place.name << ")";
  } else if (call->place.block >= 0) {
    text << " (block " << call->place.block << ")";
  }
  return true;
}

void describe_work(SignalText& text) noexcept {
  if (at_work.work[0] != '\0') {
    text << "; at work on " << at_work.work;
  }
  if (at_work.command[0] != '\0') {
    text << "; continue with: " << at_work.command;
  }
}

void write_death_note(const SignalText& cause) noexcept {
  if (at_work.note[0] == '\0' || at_work.cells == nullptr) {
    return;
  }
  const int file =
      ::open(at_work.note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) {
    return;
  }
  cause.write_to(file);
  SignalText().operator<<("\n").write_to(file);
  for (const std::string& key : AtWork::keys(*at_work.cells)) {
    SignalText line;
    (line << key.c_str() << "\n").write_to(file);
  }
  SignalText().operator<<("end\n").write_to(file);
  ::fsync(file);
  ::close(file);
}

}  // namespace quench
