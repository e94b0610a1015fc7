#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/duration.hpp"
#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "quench/abi/host.h"

namespace quench {

Progress::Progress(Form form)
    : form_(form),
      terminal_(form == Form::kText && ::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      last_shown_(Clock::now()) {
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

void Progress::step(const std::string& what, uint64_t done, uint64_t total) {
  const std::lock_guard lock(mutex_);
  step_ = printable(what, 400);
  work_.clear();
  if (cells_total_ == 0) {
    first_cell_ = done;
  }
  if (done == first_cell_) {  // the time before the first cell says nothing about cells
    start_ = Clock::now();
  }
  cells_done_ = done;
  cells_total_ = total;
  if (form_ == Form::kJson) {
    write_json("", 0, 0);
  } else if (form_ == Form::kText && !terminal_) {
    write(cells_text() + step_ + "\n");
  }
}

std::string Progress::cells_text() const {
  if (cells_total_ == 0) {
    return "";
  }
  std::string out = fmt::format("[{}/{}] ", cells_done_, cells_total_);
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (cells_done_ > first_cell_) {
    const double each = elapsed / static_cast<double>(cells_done_ - first_cell_);
    out += duration_text(each * static_cast<double>(cells_total_ - cells_done_)) + " left, ";
  }
  return out;
}

void Progress::write_json(const std::string& what, uint64_t done, uint64_t total) const {
  nlohmann::json line = {
      {"cell", step_},
      {"cells_done", cells_done_},
      {"cells_total", cells_total_},
      {"elapsed_seconds", std::chrono::duration<double>(Clock::now() - start_).count()}};
  if (total > 0) {
    line.update({{"work", what}, {"done", done}, {"total", total}});
  }
  write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
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
  const double interval = form_ == Form::kJson ? 1.0 : terminal_ ? 0.1 : 30.0;
  if (form_ == Form::kQuiet || total == 0 || since_shown < interval) {
    return;
  }
  last_shown_ = now;
  if (form_ == Form::kJson) {
    write_json(printable(what), done, total);
    return;
  }
  const double elapsed = std::chrono::duration<double>(now - work_start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done - first_done_) / elapsed : 0;
  std::string line = fmt::format("{}{}: {} {:.0f} %", cells_text(), step_, printable(what),
                                 100.0 * static_cast<double>(done) / static_cast<double>(total));
  if (rate > 0 && done <= total) {
    line += fmt::format(", {:.3g}/s, {} left", rate,
                        duration_text(static_cast<double>(total - done) / rate));
  }
  write(terminal_ ? "\r\033[K" + line : line + "\n");
  line_shown_ = terminal_;
}

void Progress::log(int level, const std::string& line) {
  if (level < QUENCH_LOG_WARNING && form_ == Form::kQuiet) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (form_ == Form::kJson) {
    write(nlohmann::json{{"log", line}, {"level", level}}.dump() + "\n");
    return;
  }
  clear_line();
  const char* name = level >= QUENCH_LOG_ERROR     ? "error: "
                     : level >= QUENCH_LOG_WARNING ? "warning: "
                                                   : "";
  write(name + line + "\n");
}

}  // namespace quench
