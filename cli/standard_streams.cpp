#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "cli/answer.hpp"
#include "cli/terminal_text.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxLine = 65536;
constexpr std::string_view kWarning = "warning: ";

std::FILE* own_stream = nullptr;

void print_message(const std::string& line, Tone tone) {
  const std::optional<size_t> columns = terminal_columns(STDERR_FILENO);
  std::string out;
  for (size_t begin = 0; begin <= line.size();) {  // a message may have several lines
    const size_t end = std::min(line.find('\n', begin), line.size());
    const std::string text = printable(std::string_view(line).substr(begin, end - begin), kMaxLine);
    out += coloured(columns ? folded(text, *columns, 2, LongWord::kUncut) : text, tone) + '\n';
    begin = end + 1;
  }
  std::fputs(out.c_str(), stderr);
}

}  // namespace

std::FILE* results() {
  return own_stream != nullptr ? own_stream : stdout;
}

void divert_plugin_output() {
  if (own_stream != nullptr) {
    return;
  }
  std::fflush(stdout);
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (own < 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "standard output: no descriptor of its own for results: {}",
         std::strerror(errno));
  }
  own_stream = ::fdopen(own, "w");
  if (own_stream == nullptr) {
    ::close(own);  // descriptor 1 was closed at the start: what is printed goes nowhere
    return;
  }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

void guard_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this one. The wrong access mode makes every use fail.
      ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void print_error(const std::string& line) noexcept {
  print_message(line, Tone::kError);
}

void print_warning(const std::string& line) noexcept {
  answer_warning(line.starts_with(kWarning) ? line.substr(kWarning.size()) : line);
  print_message(line, Tone::kWarning);
}

bool reader_is_gone() noexcept {
  pollfd stream{::fileno(results()), 0, 0};
  return ::poll(&stream, 1, 0) > 0 && (stream.revents & POLLERR) != 0;
}

bool flush_output() noexcept {
  std::cout.flush();
  if (own_stream != nullptr) {
    std::fflush(stdout);  // a plugin's by now
  }
  errno = 0;
  const bool flushed = std::fflush(results()) == 0;
  if (flushed && std::ferror(results()) == 0 && (own_stream != nullptr || std::cout.good())) {
    return true;
  }
  if (reader_is_gone()) {
    return true;
  }
  print_error(std::string("standard output: write failed") +
              (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return false;
}

namespace {

bool colours_chosen = false;
bool dumb = false;

}  // namespace

void choose_colours(const std::optional<std::string>& no_color,
                    const std::optional<std::string>& terminal_type) {
  const std::string type = terminal_type.value_or("");
  dumb = type == "dumb";
  colours_chosen = no_color.value_or("").empty() && !type.empty() && type != "dumb" &&
                   ::isatty(STDERR_FILENO) == 1;
}

bool is_dumb_terminal() {
  return dumb;
}

std::string coloured(const std::string& text, Tone tone) {
  if (!colours_chosen || tone == Tone::kPlain || text.empty()) {
    return text;
  }
  return (tone == Tone::kError ? "\033[31m" : "\033[33m") + text + "\033[0m";
}

}  // namespace quench
