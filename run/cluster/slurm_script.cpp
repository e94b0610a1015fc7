#include "run/cluster/slurm_script.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quench {

namespace {

constexpr uint64_t kMebi = uint64_t{1} << 20;

// As sbatch reads the rest of a line: in double quotes unless nothing needs them.
std::string directive_word(const std::string& text) {
  if (text.find_first_of(" \t\"'\\#") == std::string::npos) {
    return text;
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out + "\"";
}

// A folder in which `%` stands for itself.
std::string pattern_free(const std::string& path) {
  std::string out;
  for (const char c : path) {
    out += c == '%' ? std::string("%%") : std::string(1, c);
  }
  return out;
}

std::string directives(const ClusterJob& job) {
  std::string out;
  const auto add = [&out](const std::string& option) { out += "#SBATCH " + option + "\n"; };
  add("--job-name=" + directive_word("quench-" + job.run));
  add(fmt::format("--array={}{}", ranges_text(job.shares),
                  job.at_once > 0 ? fmt::format("%{}", job.at_once) : ""));
  add("--chdir=" + directive_word(job.working_folder.string()));
  add("--output=" + directive_word(pattern_free(job.folder.string()) + "/share-%a.log"));
  add("--open-mode=append");
  add("--export=ALL");
  add("--nodes=1");
  add("--ntasks=1");
  add(fmt::format("--cpus-per-task={}", job.cpus));
  add(fmt::format("--mem={}M", (job.memory_bytes + kMebi - 1) / kMebi));
  add("--time=" + slurm_time(job.seconds));
  if (job.disk_bytes > 0) {
    add(fmt::format("--tmp={}M", (job.disk_bytes + kMebi - 1) / kMebi));
  }
  if (job.gpus > 0) {
    add(fmt::format("--gres=gpu:{}{}", job.gpu_type.empty() ? "" : job.gpu_type + ":", job.gpus));
  }
  for (const auto& [name, value] : {std::pair("partition", job.partition),
                                    std::pair("account", job.account), std::pair("qos", job.qos)}) {
    if (!value.empty()) {
      add(fmt::format("--{}={}", name, value));
    }
  }
  add(fmt::format("--signal=B:USR1@{}", std::min<uint64_t>(job.grace_seconds, job.seconds / 2)));
  add(job.requeue ? "--requeue" : "--no-requeue");
  for (const std::string& line : job.lines) {
    add(line);
  }
  return out;
}

}  // namespace

std::string slurm_time(uint64_t seconds) {
  const uint64_t days = seconds / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}-", days) : "",
                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
}

std::string slurm_script(const ClusterJob& job) {
  std::string out = fmt::format(
      "#!/bin/bash\n"
      "# Written by quench submit: shares {} of {} of a run, one task each.\n"
      "{}\n{}\n",
      ranges_text(job.shares), job.of, directives(job), preparation_of(job));
  // bash runs a trap only when `wait` returns, so quench runs beside it. The loop asks again after
  // a signal: the first answer was the signal's.
  out += fmt::format(
      "{} &\n"
      "quench=$!\n"
      "limit= signalled=\n"
      "trap 'limit=near signalled=yes; kill -USR1 \"$quench\"' USR1\n"
      "trap 'signalled=yes; kill -TERM \"$quench\"' TERM\n"
      "while\n"
      "  signalled=\n"
      "  wait \"$quench\"\n"
      "  code=$?\n"
      "  [ -n \"$signalled\" ]\n"
      "do :; done\n",
      command_of(job, "$SLURM_ARRAY_TASK_ID"));
  // By number and index: one task of the array has the array's own number as SLURM_JOB_ID, and
  // under that number Slurm requeues all tasks, cancelled ones too.
  if (job.requeue) {
    out += fmt::format(
        "# 75: stopped on request, to be continued; above 128: ended by the signal itself. Only at "
        "the\n"
        "# time limit: after a preemption Slurm requeues, and a cancelled task stays cancelled.\n"
        "if [ -n \"$limit\" ] && {{ [ \"$code\" -eq 75 ] || [ \"$code\" -gt 128 ]; }} &&\n"
        "  [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {} ]; then\n"
        "  scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\"\n"
        "fi\n",
        job.retries);
  }
  return out + "exit \"$code\"\n";
}

}  // namespace quench
