#include "run/cluster/condor_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace quench {

namespace {

constexpr uint64_t kKibi = uint64_t{1} << 10;
constexpr uint64_t kMebi = uint64_t{1} << 20;

// HoldReasonCode: the job ran for longer than allowed_execute_duration.
constexpr int kExecuteExceeded = 47;

std::string time_limit(const ClusterJob& job) {
  // Only what the user chose: most pools have no limit, and a job must not be held because an
  // estimate was wrong.
  if (!job.seconds_chosen) {
    return "";
  }
  std::string out = fmt::format(
      "allowed_execute_duration = {}\n"
      "+MaxRuntime = {}\n",
      job.seconds, job.seconds);
  if (job.requeue) {
    out += fmt::format("periodic_release = (HoldReasonCode =?= {}) && (NumHolds <= {})\n",
                       kExecuteExceeded, job.retries);
  }
  return out;
}

}  // namespace

std::string condor_description(const ClusterJob& job) {
  const std::string folder = job.folder.string();
  std::string out = fmt::format(
      "# Written by quench submit: shares {} of {} of a run, one job each.\n"
      "universe = vanilla\n"
      "executable = {}/{}\n"
      "arguments = $(share)\n"
      "initialdir = {}\n"
      "transfer_executable = false\n"
      "should_transfer_files = NO\n"
      "output = {}/share-$(share).log\n"
      "error = {}/share-$(share).err\n"
      "log = {}/htcondor.log\n"
      "job_batch_name = quench-{}\n"
      "notification = never\n",
      ranges_text(job.shares), job.of, folder, kCondorTask, job.working_folder.string(), folder,
      folder, folder, job.run);
  out += fmt::format("request_cpus = {}\nrequest_memory = {}MB\n", job.cpus,
                     (job.memory_bytes + kMebi - 1) / kMebi);
  if (job.disk_bytes > 0) {
    out += fmt::format("request_disk = {}KB\n", (job.disk_bytes + kKibi - 1) / kKibi);
  }
  if (job.gpus > 0) {
    out += fmt::format("request_gpus = {}\n", job.gpus);
    if (!job.gpu_type.empty()) {
      out += fmt::format("require_gpus = regexp(\"{}\", DeviceName, \"i\")\n", job.gpu_type);
    }
  }
  if (!job.account.empty()) {
    out += fmt::format("accounting_group = {}\n", job.account);
  }
  if (job.at_once > 0) {
    out += fmt::format("max_materialize = {}\n", job.at_once);
  }
  // Evicted, a job gets SIGTERM and this long to write its state; it is idle again then.
  out += fmt::format("kill_sig = SIGTERM\njob_max_vacate_time = {}\n", job.grace_seconds);
  out += time_limit(job);
  if (job.requeue) {
    // 75: stopped on request, to be continued.
    out += fmt::format(
        "max_retries = {}\n"
        "retry_until = (ExitBySignal =?= False) && (ExitCode =!= 75)\n",
        job.retries);
  }
  // 2: nothing was done, and starting again would not help.
  out +=
      "on_exit_hold = (ExitBySignal =?= False) && (ExitCode =?= 2)\n"
      "on_exit_hold_reason = \"quench: the manifest or the command line is wrong\"\n";
  for (const std::string& line : job.lines) {
    out += line + "\n";
  }
  return out + fmt::format("queue share in ({})\n", fmt::join(job.shares, ", "));
}

std::string condor_task(const ClusterJob& job) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Written by quench submit. $1: the share.\n"
      "{}exec {}\n",
      preparation_of(job), command_of(job, "$1"));
}

}  // namespace quench
