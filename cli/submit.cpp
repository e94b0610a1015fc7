// quench submit MANIFEST --to slurm|htcondor: the shares of a run as tasks of a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/answer.hpp"
#include "cli/bytes.hpp"
#include "cli/duration.hpp"
#include "cli/hub_session.hpp"
#include "cli/manifest_options.hpp"
#include "cli/outlook.hpp"
#include "cli/standard_streams.hpp"
#include "run/cluster/cluster_resources.hpp"
#include "run/cluster/cluster_tools.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct SubmitOptions {
  ManifestOptions manifest;
  std::string to;
  uint64_t shares = 0;
  std::string retry;
  bool fetch = false;
  bool dry_run = false;
};

fs::path absolute_path(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

Scheduler scheduler_for(const SubmitOptions& options, const ManifestCluster& cluster) {
  const auto named = scheduler_of(options.to);
  if (!named && !cluster.to) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     "submit: --to is missing: wanted --to slurm or --to htcondor, or `to` under "
                     "`cluster` in the manifest");
  }
  return named ? *named : *cluster.to;
}

// The tasks that earlier submissions left in a queue, by share.
struct Queued {
  std::map<uint64_t, TaskState> shares;
  std::map<uint64_t, std::string> jobs;  // by share: "slurm job 12"
};

std::string job_text(const Submission& submission) {
  return fmt::format("{} job {}", scheduler_name(submission.scheduler), submission.job);
}

// Throws UsageError if a task is queued that has another part of the work, or if nobody knows.
Queued queued_tasks(const SubmitOptions& options, const fs::path& run, uint64_t count) {
  Queued out;
  for (const Submission& submission : read_submissions(run)) {
    const SubmissionStates states = ask_cluster(submission, Ask::kQueue);
    if (!states.asked) {
      const std::string what = fmt::format("submit: cannot ask whether {} of {} has ended: {}",
                                           job_text(submission), submission.time, states.unknown);
      if (!options.dry_run) {
        throw UsageError(QUENCH_FAILED_PRECONDITION,
                         fmt::format("{}; if it has, remove {}", what, submission.folder.string()));
      }
      print_warning("warning: " + what);
    }
    for (const auto& [share, state] : states.shares) {
      if (!state.active) {
        continue;
      }
      if (submission.of != count) {
        throw UsageError(
            QUENCH_FAILED_PRECONDITION,
            fmt::format("submit: {} has share {} of {} {}; wanted {} shares: wait for it, end it "
                        "with `{}`, or submit with --shares {}",
                        job_text(submission), share, submission.of, state.state, count,
                        cancel_command(submission), submission.of));
      }
      out.shares[share] = state;
      out.jobs[share] = job_text(submission);
    }
  }
  const std::vector<fs::path> unfinished = unfinished_submissions(run);
  if (!unfinished.empty() && !options.dry_run) {
    throw UsageError(
        QUENCH_FAILED_PRECONDITION,
        fmt::format("submit: {} has no submission.json: another `quench submit` is at work, or was "
                    "killed after the cluster may have taken the job; if it is not in the queue, "
                    "remove the folder",
                    unfinished.front().string()));
  }
  return out;
}

std::vector<std::string> run_arguments(const SubmitOptions& options, const LoadedRun& run,
                                       const Context& context) {
  std::vector<std::string> out = {"run", absolute_path(options.manifest.manifest).string(), "--out",
                                  absolute_path(run.folder).string()};
  const auto add = [&out](const std::string& name, const std::string& value) {
    out.push_back(name);
    out.push_back(value);
  };
  for (const std::string& set : options.manifest.sets) {
    add("--set", set);
  }
  if (!options.manifest.device.empty()) {
    add("--device", options.manifest.device);
  }
  if (options.manifest.job >= 0) {
    add("--job", std::to_string(options.manifest.job));
  }
  if (options.fetch) {
    out.emplace_back("--fetch");
  }
  if (!options.manifest.storage_limit.empty()) {
    add("--storage-limit", options.manifest.storage_limit);
  }
  if (!options.manifest.evict.empty()) {
    add("--evict", options.manifest.evict);
  }
  if (!options.retry.empty()) {
    add("--retry", options.retry);
  }
  for (const std::string& folder : context.plugin_path) {
    add("--plugin-path", absolute_path(folder).string());
  }
  for (const std::string& plugin : context.in_process) {
    add("--in-process", plugin);
  }
  const Context usual;
  if (context.sandbox != usual.sandbox) {
    add("--sandbox", context.sandbox);
  }
  if (context.worker_silence != usual.worker_silence) {
    add("--worker-silence", fmt::format("{}", context.worker_silence));
  }
  if (context.worker_time != usual.worker_time) {
    add("--worker-time", fmt::format("{}", context.worker_time));
  }
  if (context.worker_memory != usual.worker_memory) {
    add("--worker-memory", std::to_string(context.worker_memory));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> environment_of(Context& context) {
  std::vector<std::pair<std::string, std::string>> out = context.installation;
  out.emplace_back("QUENCH_HOME", context.home().string());
  try {
    out.emplace_back("HF_HUB_CACHE", absolute_path(hub_cache_root(context.hub())).string());
  } catch (const Error&) {  // no variable says where the cache is, here as little as there
  }
  return out;
}

// A line break would end the line of the script that it stands in.
void check_paths(const ClusterJob& job) {
  for (const fs::path& path : {job.program, job.working_folder, job.folder}) {
    if (path.string().find('\n') != std::string::npos) {
      throw UsageError(QUENCH_INVALID_ARGUMENT,
                       fmt::format("submit: {}: got a path with a line break, wanted one without",
                                   printable(path.string(), 4096)));
    }
  }
}

ClusterJob cluster_job(const SubmitOptions& options, const LoadedRun& run, Scheduler scheduler,
                       const Outlook& outlook, const std::vector<uint64_t>& to_send,
                       Context& context) {
  const ManifestCluster& cluster = run.manifest.cluster;
  ClusterJob job;
  job.run = run.manifest.name;
  job.program = context.executable;
  job.arguments = run_arguments(options, run, context);
  job.working_folder = fs::current_path();
  job.folder = absolute_path(next_submission(run.folder));
  job.environment = environment_of(context);
  job.before = cluster.before;
  job.shares = to_send;
  job.of = outlook.shares.size();
  job.at_once = cluster.at_once;
  job.cpus = cluster.cpus > 0 ? cluster.cpus : kUsualCpus;
  job.memory_bytes =
      cluster.memory_bytes > 0 ? cluster.memory_bytes : requested_memory(outlook.memory);
  double longest = 0;
  for (const uint64_t share : to_send) {
    longest = std::max(longest, outlook.shares[share - 1].seconds);
  }
  job.seconds_chosen = cluster.time_seconds > 0;
  job.seconds = job.seconds_chosen ? cluster.time_seconds : requested_seconds(longest);
  job.disk_bytes = cluster.disk_bytes;
  const bool on_gpu = std::any_of(
      run.experiments.begin(), run.experiments.end(),
      [](const Experiment& each) { return device_text(each.device).starts_with("cuda"); });
  job.gpus = cluster.gpus.value_or(on_gpu ? 1 : 0);
  job.gpu_type = cluster.gpu_type;
  job.grace_seconds = cluster.grace_seconds;
  job.requeue = cluster.requeue;
  job.retries = cluster.retries;
  job.partition = cluster.partition;
  job.account = cluster.account;
  job.qos = cluster.qos;
  job.lines = scheduler == Scheduler::kSlurm ? cluster.slurm : cluster.htcondor;
  if (scheduler == Scheduler::kHtcondor) {
    for (const auto& [key, value] :
         {std::pair("partition", cluster.partition), std::pair("qos", cluster.qos)}) {
      if (!value.empty()) {
        print_warning(
            fmt::format("warning: cluster: `{}` means nothing to HTCondor; use `htcondor: "
                        "[requirements = ...]`",
                        key));
      }
    }
  }
  check_paths(job);
  return job;
}

// "2 (running, slurm job 12), 5 (pending: Resources, slurm job 12)"
std::string queued_text(const Queued& queued) {
  constexpr size_t kShown = 6;
  std::string out;
  size_t shown = 0;
  for (const auto& [share, state] : queued.shares) {
    if (++shown > kShown) {
      return fmt::format("{} and {} more", out, queued.shares.size() - kShown);
    }
    out += fmt::format("{}{} ({}{}, {})", out.empty() ? "" : ", ", share, state.state,
                       state.reason.empty() ? "" : ": " + state.reason, queued.jobs.at(share));
  }
  return out;
}

struct Totals {
  uint64_t cells = 0;
  uint64_t open = 0;
  uint64_t folders = 0;
  uint64_t blocked = 0;
  uint64_t failed = 0;
};

Totals totals_of(const std::vector<OpenShare>& shares) {
  Totals out;
  for (const OpenShare& share : shares) {
    out.cells += share.cells;
    out.open += share.open;
    out.folders += share.folders;
    out.blocked += share.blocked;
    out.failed += share.failed;
  }
  return out;
}

void print_outlook(const LoadedRun& run, const std::vector<OpenShare>& shares,
                   const Queued& queued) {
  const Totals totals = totals_of(shares);
  const auto open = std::count_if(shares.begin(), shares.end(),
                                  [](const OpenShare& share) { return share.is_open(); });
  fmt::print(results(), "{}: {} of {} cells are open{}, in {} of {} shares\n", run.manifest.name,
             totals.open, totals.cells,
             totals.folders > 0 ? fmt::format(" and {} {} of weights owed", totals.folders,
                                              totals.folders == 1 ? "folder" : "folders")
                                : "",
             open, shares.size());
  if (totals.blocked > 0) {
    fmt::print(results(), "{} cells are blocked: files are missing; `quench plan` says which\n",
               totals.blocked);
  }
  if (totals.failed > 0) {
    fmt::print(results(), "{} cells failed; --retry failed tries them again\n", totals.failed);
  }
  if (!queued.shares.empty()) {
    fmt::print(results(), "already queued: share {}\n", queued_text(queued));
  }
}

void print_files(Scheduler scheduler, const ClusterJob& job) {
  for (const ClusterFile& file : cluster_files(scheduler, job)) {
    fmt::print(results(), "==> {} <==\n{}\n", (job.folder / file.name).string(), file.text);
  }
}

nlohmann::json job_json(Scheduler scheduler, const ClusterJob& job, const Submission* sent) {
  nlohmann::json files = nlohmann::json::object();
  for (const ClusterFile& file : cluster_files(scheduler, job)) {
    files[file.name] = file.text;
  }
  return {{"scheduler", scheduler_name(scheduler)},
          {"job", sent != nullptr ? nlohmann::json(sent->job) : nlohmann::json()},
          {"shares", job.shares},
          {"of", job.of},
          {"folder", job.folder.string()},
          {"cpus", job.cpus},
          {"memory_bytes", job.memory_bytes},
          {"seconds", job.seconds},
          {"gpus", job.gpus},
          {"files", files}};
}

void answer_submit(const LoadedRun& run, const std::vector<OpenShare>& shares, const Queued& queued,
                   const nlohmann::json& submission) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpenShare& share : shares) {
    const auto found = queued.shares.find(share.number);
    list.push_back(
        {{"share", fmt::format("{}/{}", share.number, shares.size())},
         {"cells", share.cells},
         {"open", share.open},
         {"blocked", share.blocked},
         {"failed", share.failed},
         {"folders", share.folders},
         {"seconds", share.seconds},
         {"queued",
          found == queued.shares.end() ? nlohmann::json() : nlohmann::json(found->second.state)}});
  }
  answer({{"name", run.manifest.name},
          {"folder", run.folder.string()},
          {"shares", list},
          {"submission", submission}});
}

void print_sent(const LoadedRun& run, const Submission& sent, const ClusterJob& job) {
  fmt::print(results(), "{}: {} {} of {}, each with {} CPUs, {}{}, {}\n", job_text(sent),
             job.shares.size() == 1 ? "share" : "shares", ranges_text(job.shares), job.of, job.cpus,
             bytes_text(job.memory_bytes), job.gpus > 0 ? fmt::format(", {} GPUs", job.gpus) : "",
             duration_text(static_cast<double>(job.seconds)));
  fmt::print(results(), "scripts and logs: {}\n", job.folder.string());
  fmt::print(results(), "follow it: quench status {}; end it: {}\n", run.folder.string(),
             cancel_command(sent));
}

int submit(const SubmitOptions& options, Context& context) {
  std::optional<HubSession> session;
  if (options.fetch) {
    session.emplace(context);
  }
  const LoadedRun run =
      session ? load_run(options.manifest, context,
                         [&](const Manifest& manifest) { return session->resolve(manifest); })
              : load_run(options.manifest, context);
  const ManifestCluster& cluster = run.manifest.cluster;
  const Scheduler scheduler = scheduler_for(options, cluster);
  const uint64_t count = options.shares > 0   ? options.shares
                         : cluster.shares > 0 ? cluster.shares
                                              : 1;
  context.apply_threads();
  const auto threads = static_cast<uint32_t>(cluster.cpus > 0 ? cluster.cpus : kUsualCpus);
  const Outlook outlook =
      look_ahead(run, {count, threads, options.retry == "failed", options.fetch}, context);
  if (outlook.unknown && cluster.memory_bytes == 0) {
    print_warning(
        "warning: submit: what weights take that are still on the hub is not known; say `memory` "
        "and `time` under `cluster`");
  }
  const Queued queued = queued_tasks(options, run.folder, count);
  std::vector<uint64_t> to_send;
  for (const OpenShare& share : outlook.shares) {
    if (share.is_open() && !queued.shares.contains(share.number)) {
      to_send.push_back(share.number);
    }
  }
  const bool json = options.manifest.json;
  if (!json && !options.dry_run) {
    print_outlook(run, outlook.shares, queued);
  }
  if (to_send.empty()) {
    if (json) {
      answer_submit(run, outlook.shares, queued, {});
    } else {
      fmt::print(results(), "nothing to submit\n");
    }
    return kExitOk;
  }
  const ClusterJob job = cluster_job(options, run, scheduler, outlook, to_send, context);
  if (options.dry_run) {
    json ? answer_submit(run, outlook.shares, queued, job_json(scheduler, job, nullptr))
         : print_files(scheduler, job);
    return kExitOk;
  }
  const Submission sent = as_usage([&] { return send_to_cluster(scheduler, job); });
  json ? answer_submit(run, outlook.shares, queued, job_json(scheduler, job, &sent))
       : print_sent(run, sent, job);
  return kExitOk;
}

}  // namespace

void add_submit(CommandLine& line, Context& context) {
  Verb verb = line.verb("submit", "Send what is left of a run to a Slurm or HTCondor cluster",
                        "Experiments");
  verb.examples({"quench submit m.yaml --to slurm --shares 8",
                 "quench submit m.yaml --to htcondor --shares 8 --dry-run",
                 "quench submit m.yaml --retry failed", "quench submit m.yaml --fetch"});
  auto options = std::make_shared<SubmitOptions>();
  add_manifest_options(verb, context, options->manifest);
  verb.option("--to", options->to, "slurm or htcondor (default: `to` under `cluster`)")
      .one_of({"slurm", "htcondor"});
  verb.option("--shares", options->shares,
              "Tasks that the work is split into (default: `shares` under `cluster`, or 1)")
      .between(1, kMostTasks)
      .placeholder("N");
  verb.option("--retry", options->retry, "failed: try failed cells again").one_of({"failed"});
  verb.flag("--fetch", options->fetch,
            "Each task downloads what the cache lacks, as `run --fetch` does");
  verb.flag("--dry-run", options->dry_run, "Print the scripts and submit nothing");
  verb.does([&context, options] { return submit(*options, context); });
}

}  // namespace quench
