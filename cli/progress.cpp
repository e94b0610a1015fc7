#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal_text.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/host.h"
#include "run/grid/expected_run.hpp"

namespace quench {

namespace {

constexpr std::string_view kTraining = "training steps";  // as the training loop calls its work

}  // namespace

Progress::Progress(const Context& context, const std::string& form, RunLog* log, RunEta* eta)
    : levels_(context.log_levels()),
      form_(form == "json"                                    ? Form::kJson
            : answers() || !levels_.show(QUENCH_LOG_INFO, "") ? Form::kQuiet
                                                              : Form::kText),
      run_log_(log),
      eta_(eta),
      terminal_(form != "json" && !answers() && ::isatty(STDERR_FILENO) == 1),
      rewrites_(terminal_ && !is_dumb_terminal()),
      start_(Clock::now()),
      last_shown_(Clock::now()) {
  HostServices& services = HostServices::instance();
  services.set_progress_sink([this](std::string_view, std::string_view what, uint64_t done,
                                    uint64_t total) { update(std::string(what), done, total); });
  sink_before_ =
      services.set_log_sink([this](int level, std::string_view module, std::string_view line) {
        this->log(level, module, line);
      });
}

Progress::~Progress() {
  HostServices::instance().set_progress_sink(nullptr);
  HostServices::instance().set_log_sink(std::move(sink_before_));
  clear();
}

void Progress::step(const std::string& what, uint64_t done, uint64_t total) {
  const std::lock_guard lock(mutex_);
  step_ = printable(what, 400);
  work_.clear();
  if (eta_ != nullptr) {
    eta_->measured(done, Clock::now());
  }
  cells_done_ = done;
  cells_total_ = total;
  if (form_ == Form::kJson) {
    write_json("", 0, 0);
  } else if (form_ == Form::kText && !rewrites_) {
    ProgressState state;
    state.cells_done = done;
    state.cells_total = total;
    state.step = step_;
    write(progress_line(state, columns()) + "\n");
  }
}

size_t Progress::columns() const {
  return terminal_ ? terminal_columns(STDERR_FILENO).value_or(80) : 400;
}

void Progress::write_json(const std::string& what, uint64_t done, uint64_t total) const {
  nlohmann::json line = {
      {"cell", step_},
      {"cells_done", cells_done_},
      {"cells_total", cells_total_},
      {"elapsed_seconds", std::chrono::duration<double>(Clock::now() - start_).count()}};
  const std::optional<double> left = eta_ != nullptr ? eta_->left(Clock::now()) : std::nullopt;
  if (left) {
    line["eta_seconds"] = *left;
  }
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
  if (eta_ != nullptr && what == kTraining) {
    eta_->trained(done, total, now);
  }
  const auto since_shown = std::chrono::duration<double>(now - last_shown_).count();
  const double interval = form_ == Form::kJson ? 1.0 : rewrites_ ? 0.1 : 30.0;
  if (form_ == Form::kQuiet || total == 0 || since_shown < interval) {
    return;
  }
  last_shown_ = now;
  if (form_ == Form::kJson) {
    write_json(printable(what), done, total);
    return;
  }
  const double elapsed = std::chrono::duration<double>(now - work_start_).count();
  ProgressState state;
  state.cells_done = cells_done_;
  state.cells_total = cells_total_;
  state.step = step_;
  state.work = printable(what);
  state.done = done;
  state.total = total;
  state.rate = elapsed > 0 ? static_cast<double>(done - first_done_) / elapsed : 0;
  state.run_left = eta_ != nullptr ? eta_->left(now) : std::nullopt;
  const std::string line = progress_line(state, columns());
  write(rewrites_ ? "\r\033[K" + line : line + "\n");
  line_shown_ = rewrites_;
}

void Progress::log(int level, std::string_view module, std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (run_log_ != nullptr) {
    run_log_->add(level, module, step_, message);
  }
  if (!levels_.show(level, module)) {
    return;
  }
  const std::string line =
      module.empty() ? std::string(message) : fmt::format("{}: {}", module, message);
  if (level >= QUENCH_LOG_WARNING) {
    answer_warning(line);
  }
  if (form_ == Form::kJson) {
    write(nlohmann::json{{"log", line}, {"level", level}}.dump() + "\n");
    return;
  }
  clear_line();
  const char* name = level >= QUENCH_LOG_ERROR     ? "error: "
                     : level >= QUENCH_LOG_WARNING ? "warning: "
                                                   : "";
  const Tone tone = level >= QUENCH_LOG_ERROR     ? Tone::kError
                    : level >= QUENCH_LOG_WARNING ? Tone::kWarning
                                                  : Tone::kPlain;
  const std::string text = name + line;
  write(coloured(terminal_ ? folded(text, columns(), 2, LongWord::kUncut) : text, tone) + "\n");
}

}  // namespace quench
