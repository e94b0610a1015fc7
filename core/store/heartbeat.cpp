#include "core/store/heartbeat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/io/lease.hpp"
#include "core/base/io/utc_time.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLargestStatus = 1 << 20;
constexpr std::chrono::seconds kSilence{60};

template <typename Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::optional<double> optional_number(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

std::optional<double> if_finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

fs::path status_path(const fs::path& folder, const std::string& job, const std::string& attempt) {
  return folder / fmt::format("status-{}-{}.json", job, attempt);
}

HeartbeatState from_json(const nlohmann::json& document) {
  HeartbeatState out;
  out.job = document.at("job");
  out.attempt = document.at("attempt");
  out.state = document.at("state");
  for (const std::string& name : {out.job, out.attempt}) {  // they are in the name of its file
    if (name.find('/') != std::string::npos) {
      fail(QUENCH_DATA_LOSS, "status: {} is no name of a file", printable(name));
    }
  }
  if (out.state != "running" && out.state != "finished" && out.state != "stopped") {
    fail(QUENCH_DATA_LOSS, "status: {} is no state", printable(out.state));
  }
  const auto process = identity_from(document.at("process").get_ref<const std::string&>());
  if (!process) {
    fail(QUENCH_DATA_LOSS, "status: {} is no process", document.at("process").dump());
  }
  out.process = *process;
  out.host = document.at("host");
  out.started = document.at("started");
  out.sequence = document.at("sequence");
  out.cell = document.at("cell");
  out.done = document.at("done");
  out.failed = document.at("failed");
  out.total = document.at("total");
  out.elapsed_seconds = document.at("elapsed_seconds");
  out.rate = optional_number(document.at("rate"));
  out.eta_seconds = optional_number(document.at("eta_seconds"));
  return out;
}

nlohmann::json to_json(const HeartbeatState& state) {
  return {{"schema", 1},
          {"job", state.job},
          {"attempt", state.attempt},
          {"state", state.state},
          {"process", identity_text(state.process)},
          {"host", state.host},
          {"started", state.started},
          {"sequence", state.sequence},
          {"cell", state.cell},
          {"done", state.done},
          {"failed", state.failed},
          {"total", state.total},
          {"elapsed_seconds", state.elapsed_seconds},
          {"rate", or_null(state.rate)},
          {"eta_seconds", or_null(state.eta_seconds)}};
}

// Throws Error if no reader would take it for a sign of life.
std::string beat_text(const HeartbeatState& state, const fs::path& path) {
  const nlohmann::json document = to_json(state);
  from_json(document);
  return sealed_file_text(path.string(), "status", canonical_json(document), kLargestStatus);
}

}  // namespace

Heartbeat::Heartbeat(const fs::path& folder, const std::string& job, const std::string& attempt,
                     uint64_t total, uint64_t done, std::chrono::milliseconds interval)
    : path_(status_path(folder, job, attempt)),
      done_before_(done),
      start_(std::chrono::steady_clock::now()) {
  state_.job = job;
  state_.attempt = attempt;
  state_.state = "running";
  state_.process = this_process();
  state_.host = host_name();
  state_.started = utc_now();
  state_.total = total;
  state_.done = done;
  write();
  beat_.emplace(interval, [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    write();
  });
}

Heartbeat::~Heartbeat() {
  end("stopped");
}

void Heartbeat::cell(const std::string& what, uint64_t done, uint64_t failed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.cell = printable(what, 4096);
  state_.done = done;
  state_.failed = failed;
  write();
}

void Heartbeat::estimate_by(std::function<std::optional<double>()> left) {
  const std::lock_guard<std::mutex> lock(mutex_);
  left_ = std::move(left);
}

void Heartbeat::finish(uint64_t done, uint64_t failed) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.cell.clear();
    state_.done = done;
    state_.failed = failed;
  }
  end("finished");
}

void Heartbeat::end(const char* state) {
  if (beat_) {
    beat_.reset();
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.state = state;
    write();
  }
}

// Renames, so that a reader sees one state or the next. Never waits for the disk; a failure leaves
// the older state, which readers notice by its sequence number.
void Heartbeat::write() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  state_.elapsed_seconds = elapsed.count();
  ++state_.sequence;
  const uint64_t worked = state_.done + state_.failed - done_before_;
  if (state_.done + state_.failed > done_before_ && state_.elapsed_seconds > 0) {
    state_.rate = if_finite(static_cast<double>(worked) / state_.elapsed_seconds);
    const uint64_t ended = state_.done + state_.failed;
    state_.eta_seconds = state_.total <= ended ? std::optional(0.0)
                         : state_.rate
                             ? if_finite(static_cast<double>(state_.total - ended) / *state_.rate)
                             : std::nullopt;
  }
  if (left_ && state_.state == "running") {
    state_.eta_seconds = if_finite(left_());
  }
  const std::string text = beat_text(state_, path_);
  const fs::path temporary = temporary_beside(path_, ".tmp");
  const int descriptor =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) {
    return;
  }
  const bool written =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = ::close(descriptor) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    ::unlink(temporary.c_str());
  }
}

namespace {

std::optional<HeartbeatState> read_status(const std::string& path) {
  try {
    return from_json(parse_json(read_sealed_file(path, "status", kLargestStatus), path));
  } catch (const Error&) {  // torn, or removed meanwhile: no sign of life
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

}  // namespace

std::vector<HeartbeatState> read_heartbeats(const fs::path& folder) {
  std::vector<HeartbeatState> out;
  for (const AttemptName& name : find_attempts(folder, "status", ".json")) {
    if (std::optional<HeartbeatState> state = read_status(name.path.string())) {
      out.push_back(std::move(*state));
    }
  }
  return out;
}

std::optional<HeartbeatState> read_heartbeat(const fs::path& folder, const std::string& job,
                                             const std::string& attempt) {
  return read_status(status_path(folder, job, attempt).string());
}

const char* liveness_text(Pulse life) {
  switch (life) {
    case Pulse::kRunning:
      return "running";
    case Pulse::kFinished:
      return "finished";
    case Pulse::kStopped:
      return "stopped";
    case Pulse::kDead:
      return "dead";
    case Pulse::kElsewhere:
      return "on another host";
  }
  return "unknown";
}

Pulse HeartbeatWatcher::liveness(const HeartbeatState& state, Clock::time_point now) {
  if (state.state == "finished") {
    return Pulse::kFinished;
  }
  if (state.state == "stopped") {
    return Pulse::kStopped;
  }
  const Life life =
      watch_.look(state.job + "-" + state.attempt, state.process, state.sequence, now);
  if (state.host == host_name()) {
    return life.runs == true ? Pulse::kRunning : Pulse::kDead;
  }
  if (life.silence > kSilence) {
    return Pulse::kDead;
  }
  return life.moved ? Pulse::kRunning : Pulse::kElsewhere;
}

}  // namespace quench
