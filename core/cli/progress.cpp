#include "core/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "quench/abi/host.h"

namespace quench {

namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(bool quiet)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1), last_shown_(Clock::now()) {
  HostServices& services = HostServices::instance();
  services.set_progress_sink([this](std::string_view, std::string_view what, uint64_t done,
                                    uint64_t total) { update(std::string(what), done, total); });
  services.set_log_sink([this](int level, std::string_view module, std::string_view line) {
    log(level, module.empty() ? std::string(line) : fmt::format("{}: {}", module, line));
  });
}

Progress::~Progress() {
  HostServices::instance().set_progress_sink(nullptr);
  HostServices::instance().set_log_sink(nullptr);
  clear();
}

void Progress::step(const std::string& what) {
  const std::lock_guard lock(mutex_);
  step_ = printable(what, 400);
  work_.clear();
  if (!quiet_ && !terminal_) {
    write(step_ + "\n");
  }
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  clear_line();
}

void Progress::clear_line() {
  if (line_shown_) {
    write("\r\033[K");
    line_shown_ = false;
  }
}

void Progress::write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void Progress::update(const std::string& what, uint64_t done, uint64_t total) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (what != work_ || done < first_done_) {
    work_ = what;
    work_start_ = now;
    first_done_ = done;
  }
  const auto since_shown = std::chrono::duration<double>(now - last_shown_).count();
  if (quiet_ || total == 0 || since_shown < (terminal_ ? 0.1 : 30.0)) {
    return;
  }
  last_shown_ = now;
  const double elapsed = std::chrono::duration<double>(now - work_start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done - first_done_) / elapsed : 0;
  std::string line = fmt::format("{}: {} {:.0f} %", step_, printable(what),
                                 100.0 * static_cast<double>(done) / static_cast<double>(total));
  if (rate > 0 && done <= total) {
    line += fmt::format(", {:.3g}/s, {} left", rate,
                        duration(static_cast<double>(total - done) / rate));
  }
  write(terminal_ ? "\r\033[K" + line : line + "\n");
  line_shown_ = terminal_;
}

void Progress::log(int level, const std::string& line) {
  if (level < QUENCH_LOG_WARNING && quiet_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  clear_line();
  const char* name = level >= QUENCH_LOG_ERROR     ? "error: "
                     : level >= QUENCH_LOG_WARNING ? "warning: "
                                                   : "";
  write(name + line + "\n");
}

}  // namespace quench
