#include "cli/run_attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/death_note.hpp"
#include "core/version.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxPath = 4096;
constexpr int kBeatsInLease = 6;

// What the manifest states of learning rates, for figures: a line of a branch once for all jobs
// that have it.
nlohmann::json schedules_of(const std::vector<Experiment>& experiments) {
  using Line = std::vector<std::pair<int64_t, double>>;
  std::map<std::pair<std::string, Line>, std::vector<size_t>> jobs;
  for (const Experiment& experiment : experiments) {
    for (const Branch& branch : experiment.branches) {
      if (!branch.schedule.empty()) {
        jobs[{branch.name, branch.schedule}].push_back(experiment.job);
      }
    }
  }
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [line, of] : jobs) {
    out.push_back({{"branch", line.first}, {"jobs", of}, {"points", line.second}});
  }
  return out;
}

// Everything besides the manifest that the numbers depend on.
nlohmann::json run_description(const LoadedRun& run, const nlohmann::json& texts,
                               Context& context) {
  const Experiment& experiment = run.experiments.front();
  nlohmann::json plugins = nlohmann::json::array();
  for (const PluginDescription& item : context.catalog().items()) {
    plugins.push_back({{"kind", item.kind},
                       {"id", item.id},
                       {"version", item.version},
                       {"sha256", item.sha256},
                       {"code", item.code}});
    if (!item.interpreter.empty()) {
      plugins.back()["interpreter"] = item.interpreter.string();
    }
  }
  nlohmann::json share;
  if (run.share) {
    share = {{"number", run.share->number}, {"of", run.share->of}, {"split", run.split_id}};
  }
  return {{"quench", kVersion},
          {"name", experiment.name},
          {"manifest",
           printable(fs::absolute(run.manifest.file).lexically_normal().string(), kMaxPath)},
          {"seed", experiment.seed},
          {"dtype", dtype_text(experiment.dtype)},
          {"device", device_text(experiment.device)},
          {"threads", HostServices::instance().threads()},
          {"share", share},
          {"folders", run.folders},
          {"texts", texts},
          {"schedules", schedules_of(run.experiments)},
          {"plugins", plugins}};
}

// Creates the results folder with the files that describe the run.
void prepare_folder(const LoadedRun& run, const nlohmann::json& texts, Context& context) {
  make_folders(run.folder);
  write_file_atomically(run.folder / "manifest.yaml", run.manifest.text);
  write_file_atomically(run.folder / "manifest.json",
                        yaml_to_json(run.manifest.resolved).dump(1) + "\n");
  write_file_atomically(run.folder / "run.json",
                        run_description(run, texts, context).dump(1) + "\n");
}

// By key, the error of a cell at work when the process of an earlier attempt died.
std::map<std::string, std::string> deaths_by_key(const std::vector<DeathNote>& notes) {
  std::map<std::string, std::string> out;
  for (const DeathNote& note : notes) {
    for (const std::string& key : note.keys) {
      out[key] = fmt::format("{} (attempt {})", note.cause, note.attempt);
    }
  }
  return out;
}

// Reports attempts that could not record their end: killed, or on a machine that crashed.
void warn_of_unfinished(const fs::path& folder) {
  HeartbeatWatcher watcher;
  std::map<std::string, HeartbeatState> last;  // last attempt of each job
  for (HeartbeatState& state : read_heartbeats(folder)) {
    last[state.job] = std::move(state);
  }
  for (const auto& [job, state] : last) {
    if (watcher.liveness(state) == Pulse::kDead) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("the last attempt ({}) did not finish: its process is gone{}", state.attempt,
                      state.cell.empty() ? "" : ", last at work on " + state.cell));
    }
  }
}

}  // namespace

Attempt::Attempt(const RunOptions& options, const LoadedRun& run, RunKnowledge& knowledge,
                 Context& context, nlohmann::json texts, uint64_t to_do, uint64_t total,
                 ExpectedRun expected, WeightsSupply* supply)
    : options_(options),
      run_(run),
      knowledge_(knowledge),
      context_(context),
      supply_(supply),
      texts_(std::move(texts)),
      to_do_(to_do),
      total_(total),
      eta_(std::move(expected.training), std::move(expected.cells), RunEta::Clock::now()),
      progress_(context, options.progress, &log_, &eta_) {}

std::vector<Record> Attempt::run() {
  RunnerOptions runner;
  runner.hub = hub_of(context_, options_.fresh);
  runner.home = context_.home();
  const std::vector<DeathNote> notes = read_death_notes(run_.folder);
  runner.knowledge = &knowledge_;
  runner.places = folder_places(run_.folder);
  runner.manifest = run_.manifest.text;
  runner.supply = supply_;
  runner.fresh = options_.fresh;
  runner.retry_failed = options_.retry == "failed";
  runner.fail_fast = options_.fail_fast;
  warn_of_unfinished(run_.folder);
  try {
    std::vector<Record> records =
        run_experiments(context_.catalog(), run_.experiments, runner, *this);
    progress_.clear();  // what follows is the results'
    write_processes();
    if (file_) {
      file_->close();
    }
    remove_death_notes(notes);
    if (heartbeat_) {
      heartbeat_->finish(total_ - std::min(total_, failed_), failed_);
    }
    return records;
  } catch (const Error& error) {
    if (!started_) {
      throw_if_usage(error);
    }
    write_processes();
    if (error.code() == QUENCH_CANCELLED) {
      fail(QUENCH_CANCELLED, "stopped on request; {} new records are in {}; continue with: {}",
           kept_.size(), run_.folder.string(), context_.command_line());
    }
    if (error.code() == QUENCH_RESOURCE_EXHAUSTED) {  // a disk, above all
      fail(error.code(), "{}; {} new records are in {}; make room, then continue with: {}",
           error.what(), kept_.size(), run_.folder.string(), context_.command_line());
    }
    throw;
  }
}

void Attempt::begin() {
  started_ = true;
  prepare_folder(run_, texts_, context_);
  if (to_do_ > 0) {
    open_file();
  }
}

std::map<std::string, std::string> Attempt::deaths() {
  return deaths_by_key(read_death_notes(run_.folder));
}

void Attempt::step(const std::string& what, uint64_t done, uint64_t total) {
  progress_.step(what, done, total);
  if (heartbeat_) {
    heartbeat_->cell(what, done - std::min(done, failed_), failed_);
  }
}

void Attempt::tell_unwritten(const std::string& line) {
  HostServices::instance().log(QUENCH_LOG_ERROR, "", line);
  unwritten_.push_back(line);
}

void Attempt::open_file() {
  file_.emplace(run_.folder, job_);
  log_.open(run_.folder / fmt::format("log-{}-{}.jsonl", job_, file_->attempt()));
  const std::chrono::seconds lease(options_.lease);
  heartbeat_.emplace(run_.folder, job_, file_->attempt(), total_, total_ - to_do_,
                     std::chrono::milliseconds(lease) / kBeatsInLease);
  heartbeat_->estimate_by([this] { return eta_.left(RunEta::Clock::now()); });
  if (!options_.fresh) {  // each process that is asked to computes all of it again
    claims_.emplace(run_.folder, job_, file_->attempt(), lease, [](const std::string& line) {
      HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
    });
  }
  set_death_note(fs::absolute(death_note_path(run_.folder, job_, file_->attempt()))
                     .lexically_normal()
                     .string());
}

// What ran elsewhere, and with which libraries, beside the attempt's records.
void Attempt::write_processes() {
  const nlohmann::json processes = context_.processes();
  if (!file_ || processes.empty()) {
    return;
  }
  try {
    AtomicFile file(run_.folder / fmt::format("processes-{}-{}.json", job_, file_->attempt()));
    file.write(processes.dump(1) + "\n");
    file.commit();
  } catch (const Error& failure) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", failure.what());
  }
}

void Attempt::keep(const std::vector<Record>& values) {
  if (!file_) {
    open_file();
  }
  std::vector<Record> records = values;
  for (Record& record : records) {
    if (!record.error.empty()) {
      record.details["log"] = log_.last_lines();
    }
  }
  file_->append(records);
  failed_ += records.front().error.empty() ? 0 : 1;
  kept_.insert(kept_.end(), records.begin(), records.end());
}

}  // namespace quench
