#include "run/cluster/cluster_tools.hpp"

#include <chrono>
#include <system_error>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/process_identity.hpp"
#include "core/io/utc_time.hpp"
#include "core/process/output_of.hpp"
#include "run/cluster/condor_files.hpp"
#include "run/cluster/slurm_script.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kPatience{120};  // controllers under load answer late
constexpr const char* kSlurmScript = "job.sbatch";
constexpr const char* kCondorDescription = "job.sub";

// The first line that says something.
std::string first_line(const ProgramOutput& output) {
  if (output.timed_out) {
    return fmt::format("no answer in {} s", kPatience.count());
  }
  for (const std::string* text : {&output.err, &output.out}) {
    const size_t begin = text->find_first_not_of(" \n\t");
    if (begin != std::string::npos) {
      return printable(text->substr(begin, text->find('\n', begin) - begin), 400);
    }
  }
  return fmt::format("exit code {}", output.code);
}

// Throws Error(NOT_FOUND) if PATH does not have it.
ProgramOutput call(const std::vector<std::string>& words) {
  try {
    return output_of(words, kPatience);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) {
      fail(QUENCH_NOT_FOUND, "no {} on PATH", words.front());
    }
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be started: {}", words.front(),
         error.code().message());
  }
}

// The number of the job in what the scheduler printed: "12", "12;cluster", "12.0 - 12.7".
std::string job_number(const std::string& printed) {
  const size_t begin = printed.find_first_of("0123456789");
  return begin == std::string::npos
             ? ""
             : printed.substr(begin, printed.find_first_not_of("0123456789", begin) - begin);
}

std::string hand_over(Scheduler scheduler, const fs::path& file) {
  const bool slurm = scheduler == Scheduler::kSlurm;
  std::vector<std::string> words = {"sbatch", "--parsable", file.string()};
  if (!slurm) {
    words = {"condor_submit", "-terse", file.string()};
  }
  ProgramOutput output;
  try {
    output = call(words);
  } catch (const Error& error) {
    if (error.code() != QUENCH_NOT_FOUND) {
      throw;
    }
    fail(QUENCH_NOT_FOUND,
         "submit: {}: wanted a machine from which {} takes jobs; --dry-run prints what would be "
         "submitted",
         error.what(), slurm ? "Slurm" : "HTCondor");
  }
  if (output.timed_out) {
    fail(QUENCH_UNAVAILABLE,
         "submit: {}: {}; look into the queue whether it has taken the job, cancel it there, and "
         "remove {}",
         words.front(), first_line(output), file.parent_path().string());
  }
  const std::string job = job_number(output.out);
  if (output.code != 0 || job.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "submit: {}: {}", words.front(), first_line(output));
  }
  return job;
}

void write_files(const fs::path& folder, const std::vector<ClusterFile>& files) {
  for (const ClusterFile& file : files) {
    write_file_atomically(folder / file.name, file.text);
    if (file.executable) {
      fs::permissions(folder / file.name, fs::perms::owner_exec | fs::perms::group_exec,
                      fs::perm_options::add);
    }
  }
}

SubmissionStates not_asked(const std::string& why) {
  SubmissionStates out;
  out.unknown = why;
  out.asked = false;
  return out;
}

// Adds what an archive knows of tasks that have left the queue. One that cannot be asked is said.
template <typename Parse>
void add_ended(SubmissionStates& out, const Submission& submission,
               const std::vector<std::string>& words, Parse parse) {
  if (out.shares.size() == submission.shares.size()) {
    return;
  }
  try {
    const ProgramOutput output = call(words);
    if (output.code != 0) {
      out.unknown = fmt::format("{}: {}", words.front(), first_line(output));
      return;
    }
    for (auto& [share, state] : parse(output.out)) {
      state.active = false;  // the queue, which decides, does not have it
      out.shares.try_emplace(share, state);
    }
  } catch (const Error& error) {
    out.unknown = error.what();
  }
}

SubmissionStates ask_slurm(const Submission& submission, Ask ask) {
  const ProgramOutput queue =
      call({"squeue", "-h", "-r", "-t", "all", "-o", kSqueueFormat, "-j", submission.job});
  // Jobs leave squeue some minutes after their end.
  if (queue.code != 0 && queue.err.find("Invalid job id") == std::string::npos) {
    return not_asked("squeue: " + first_line(queue));
  }
  SubmissionStates out;
  out.shares = parse_squeue(queue.out, submission.job);
  if (ask == Ask::kQueueAndHistory) {
    add_ended(out, submission,
              {"sacct", "-n", "-X", "-P", "-o", "JobID,State", "-j", submission.job},
              [&](const std::string& text) { return parse_sacct(text, submission.job); });
  }
  return out;
}

SubmissionStates ask_condor(const Submission& submission, Ask ask) {
  const std::vector<std::string> columns = {"-af:,", "ProcId", "JobStatus", "ExitCode",
                                            "HoldReason"};
  const auto words = [&](const char* program) {
    std::vector<std::string> out = {program, submission.job};
    out.insert(out.end(), columns.begin(), columns.end());
    return out;
  };
  // HTCondor counts the jobs of a cluster from 0, in the order of `queue`.
  const auto by_share = [&](const std::string& text) {
    TaskStates out;
    for (const auto& [process, state] : parse_condor(text)) {
      if (process < submission.shares.size()) {
        out[submission.shares[process]] = state;
      }
    }
    return out;
  };
  const ProgramOutput queue = call(words("condor_q"));
  if (queue.code != 0) {
    return not_asked("condor_q: " + first_line(queue));
  }
  SubmissionStates out;
  out.shares = by_share(queue.out);
  if (ask == Ask::kQueueAndHistory) {
    add_ended(out, submission, words("condor_history"), by_share);
  }
  return out;
}

}  // namespace

std::vector<ClusterFile> cluster_files(Scheduler scheduler, const ClusterJob& job) {
  if (scheduler == Scheduler::kSlurm) {
    return {{kSlurmScript, slurm_script(job), false}};
  }
  return {{kCondorDescription, condor_description(job), false},
          {kCondorTask, condor_task(job), true}};
}

Submission send_to_cluster(Scheduler scheduler, const ClusterJob& job) {
  make_folders(job.folder.parent_path());
  if (!fs::create_directory(job.folder)) {
    fail(QUENCH_FAILED_PRECONDITION, "submit: {} exists: another `quench submit` is at work here",
         job.folder.string());
  }
  const std::vector<ClusterFile> files = cluster_files(scheduler, job);
  Submission out;
  try {
    write_files(job.folder, files);
    out.job = hand_over(scheduler, job.folder / files.front().name);
  } catch (const Error& error) {
    if (error.code() != QUENCH_UNAVAILABLE) {  // else the job may be queued
      std::error_code ignored;
      fs::remove_all(job.folder, ignored);
    }
    throw;
  }
  out.folder = job.folder;
  out.scheduler = scheduler;
  out.shares = job.shares;
  out.of = job.of;
  out.time = utc_now();
  out.host = host_name();
  record_submission(out);
  return out;
}

SubmissionStates ask_cluster(const Submission& submission, Ask ask) {
  try {
    return submission.scheduler == Scheduler::kSlurm ? ask_slurm(submission, ask)
                                                     : ask_condor(submission, ask);
  } catch (const Error& error) {
    return not_asked(error.what());
  }
}

std::string cancel_command(const Submission& submission) {
  return (submission.scheduler == Scheduler::kSlurm ? "scancel " : "condor_rm ") + submission.job;
}

}  // namespace quench
