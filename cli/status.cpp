// quench status RUN: what is running, what is done, and how long the rest will take.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <thread>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/cluster_status.hpp"
#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/or_null.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/json_members.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_folder.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxCell = 4096;

struct StatusOptions {
  std::string run;
  bool watch = false;
};

// Counts evaluations from the records alone, as a resumed run would find them.
struct Done {
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t damaged = 0;
  uint64_t of_other_text = 0;  // of the done, measured on another text than the manifest's
};

// Tells lines whose text is another one than what the manifest measures on now.
class OtherTexts {
 public:
  explicit OtherTexts(const nlohmann::json& texts) : current_(texts) {}

  bool has(const RecordLine& line) {
    const std::string_view metric = json_member(line.field("parts"), "metric");
    const auto [text, is_new] = known_.try_emplace(metric);  // few for many lines
    if (is_new && !metric.empty()) {
      text->second = metric_text({{"metric", parsed(metric)}}, nullptr);
    }
    return current_.is_other(parsed(line.field("job")).get<uint64_t>(),
                             parsed(line.field("metric")).get<std::string>(), text->second);
  }

 private:
  static nlohmann::json parsed(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  }

  CurrentTexts current_;
  std::map<std::string_view, nlohmann::json> known_;
};

Done count_records(const RunScan& scan, const nlohmann::json& description) {
  const auto texts = description.find("texts");
  const bool knows_texts = texts != description.end();
  OtherTexts others(knows_texts ? *texts : nlohmann::json());
  Done out;
  out.damaged = scan.damaged.size();
  for (const size_t i : scan.counted) {
    const RecordLine& line = scan.lines[i];
    if (line.index == 0) {
      ++(line.failed ? out.failed : out.done);
      out.of_other_text += knows_texts && !line.failed && others.has(line) ? 1 : 0;
    }
  }
  return out;
}

// The folders of weights that the run is to write. What is there may be outdated: `quench plan`
// knows.
struct WeightsFolders {
  uint64_t written = 0;
  uint64_t owed = 0;
};

WeightsFolders count_folders(const fs::path& run, const nlohmann::json& description) {
  WeightsFolders out;
  std::error_code unreadable;
  const auto names = description.find("folders");
  if (names == description.end() || !names->is_array()) {
    return out;  // an earlier version wrote it
  }
  for (const nlohmann::json& name : *names) {
    const std::string inside = name.is_string() ? name.get<std::string>() : "";
    const bool there = is_plain_path(inside) && fs::exists(run / inside / kFolderSeal, unreadable);
    ++(there ? out.written : out.owed);
  }
  return out;
}

// The attempts of interest: running ones, and the last one of each job.
std::vector<HeartbeatState> shown(const std::vector<HeartbeatState>& all,
                                  HeartbeatWatcher& watcher) {
  std::map<std::string, std::string> last;
  for (const HeartbeatState& state : all) {
    last[state.job] = state.attempt;
  }
  std::vector<HeartbeatState> out;
  for (const HeartbeatState& state : all) {
    if (last[state.job] == state.attempt || watcher.liveness(state) == Pulse::kRunning) {
      out.push_back(state);
    }
  }
  return out;
}

nlohmann::json describe(const HeartbeatState& state, Pulse life) {
  const uint64_t ended = state.done + state.failed;
  return {{"job", state.job},
          {"attempt", state.attempt},
          {"state", liveness_text(life)},
          {"pid", state.process.pid},
          {"host", state.host},
          {"started", state.started},
          {"cell", state.cell},
          {"done", state.done},
          {"failed", state.failed},
          {"to_do", state.total > ended ? state.total - ended : 0},
          {"total", state.total},
          {"elapsed_seconds", state.elapsed_seconds},
          {"rate", or_null(state.rate)},
          {"eta_seconds", or_null(state.eta_seconds)}};
}

std::string line_of(const HeartbeatState& state, Pulse life) {
  const uint64_t ended = state.done + state.failed;
  std::string out = fmt::format("job {:<4} {}, {}/{} done, {} failed, {} to do", state.job,
                                liveness_text(life), state.done, state.total, state.failed,
                                state.total > ended ? state.total - ended : 0);
  if (life == Pulse::kRunning || life == Pulse::kElsewhere) {
    out += fmt::format("; pid {} on {}", state.process.pid, printable(state.host));
    if (state.eta_seconds) {
      out += fmt::format("; about {} left", duration_text(*state.eta_seconds));
    }
    if (!state.cell.empty()) {
      out += "; " + printable(state.cell, kMaxCell);
    }
  }
  return out + "\n";
}

// Returns true while something runs, or may run.
bool show(const StatusOptions& options, HeartbeatWatcher& watcher, ClusterWatcher& cluster) {
  const RunScan scan = scan_run(options.run);
  const std::vector<HeartbeatState> states = shown(read_heartbeats(options.run), watcher);
  const nlohmann::json description = last_description(options.run);
  const Done records = count_records(scan, description);
  const WeightsFolders folders = count_folders(options.run, description);
  bool alive = false;
  nlohmann::json jobs = nlohmann::json::array();
  std::string text;
  for (const HeartbeatState& state : states) {
    const Pulse life = watcher.liveness(state);
    alive = alive || life == Pulse::kRunning || life == Pulse::kElsewhere;
    jobs.push_back(describe(state, life));
    text += fitted_lines(line_of(state, life));
  }
  const ClusterStatus& tasks = cluster.look();
  alive = alive || tasks.active;
  if (answers()) {
    answer_line({{"run", options.run},
                 {"jobs", jobs},
                 {"cluster", tasks.jobs},
                 {"records",
                  {{"done", records.done},
                   {"failed", records.failed},
                   {"of_other_text", records.of_other_text},
                   {"damaged", records.damaged},
                   {"conflicts", scan.conflicts.size()}}},
                 {"folders", {{"written", folders.written}, {"owed", folders.owed}}}});
  } else {
    fmt::print(
        "{}{}{}", fitted_lines(tasks.text), text,
        fitted_lines(fmt::format(
            "records  {} done{}, {} failed, {} damaged lines, {} conflicts\n", records.done,
            records.of_other_text > 0 ? fmt::format(" ({} of another text)", records.of_other_text)
                                      : "",
            records.failed, records.damaged, scan.conflicts.size())));
    if (folders.written + folders.owed > 0) {
      fmt::print("folders  {} written, {} owed\n", folders.written, folders.owed);
    }
  }
  std::fflush(stdout);
  return alive;
}

int status(StatusOptions options, const Context& context) {
  options.run = folder_with_run(options.run).string();
  HeartbeatWatcher watcher;
  ClusterWatcher cluster(options.run, context);
  while (show(options, watcher, cluster) && options.watch) {
    for (int i = 0; i < 20; ++i) {
      stop_if_asked();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  return kExitOk;
}

}  // namespace

void add_status(Verb& verb, Context& context) {
  auto options = std::make_shared<StatusOptions>();
  verb.examples({"quench status runs/m --watch"});
  verb.option("run", options->run, "Folder of the run, or its name below runs/").required();
  verb.flag("--watch", options->watch, "Repeat every two seconds until nothing runs");
  verb.json("Print JSON, one document per line");
  verb.does([&context, options] { return status(*options, context); });
}

}  // namespace quench
