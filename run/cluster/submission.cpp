#include "run/cluster/submission.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/parse_json.hpp"
#include "core/parse_number.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int kSchema = 1;
constexpr const char* kFile = "submission.json";

// Folders whose names are numbers, ascending.
std::vector<std::pair<uint64_t, fs::path>> numbered_folders(const fs::path& run) {
  std::vector<std::pair<uint64_t, fs::path>> out;
  std::error_code error;
  for (fs::directory_iterator at(run / kSubmissions, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto number = parse_number<uint64_t>(name);
    if (number && *number > 0) {
      out.emplace_back(*number, at->path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Submission read_submission(uint64_t number, const fs::path& folder) {
  const std::string path = (folder / kFile).string();
  const nlohmann::json body = parse_json(read_sealed_file(path, "submission"), path);
  try {
    if (const auto schema = body.at("schema").get<int>(); schema > kSchema) {
      fail(QUENCH_FAILED_PRECONDITION,
           "{}: a newer version wrote this submission of schema {}; this one reads up to {}", path,
           schema, kSchema);
    }
    Submission out;
    out.number = number;
    out.folder = folder;
    const auto scheduler = scheduler_of(body.at("scheduler").get<std::string>());
    if (!scheduler) {
      fail(QUENCH_DATA_LOSS, "{}: got scheduler {}, wanted slurm or htcondor", path,
           body.at("scheduler").dump());
    }
    out.scheduler = *scheduler;
    out.job = body.at("job");
    if (!parse_number<uint64_t>(out.job)) {  // it goes into commands that users type
      fail(QUENCH_DATA_LOSS, "{}: job = '{}', wanted a number", path, printable(out.job));
    }
    out.shares = body.at("shares").get<std::vector<uint64_t>>();
    out.of = body.at("of");
    out.time = body.at("time");
    out.host = body.at("host");
    return out;
  } catch (const nlohmann::json::exception& error) {
    fail(QUENCH_DATA_LOSS, "{}: not a submission: {}", path, printable(error.what()));
  }
}

}  // namespace

std::vector<Submission> read_submissions(const fs::path& run) {
  std::vector<Submission> out;
  for (const auto& [number, folder] : numbered_folders(run)) {
    if (fs::exists(folder / kFile)) {
      out.push_back(read_submission(number, folder));
    }
  }
  return out;
}

std::vector<fs::path> unfinished_submissions(const fs::path& run) {
  std::vector<fs::path> out;
  for (const auto& [number, folder] : numbered_folders(run)) {
    if (!fs::exists(folder / kFile)) {
      out.push_back(folder);
    }
  }
  return out;
}

fs::path next_submission(const fs::path& run) {
  const auto folders = numbered_folders(run);
  const uint64_t last = folders.empty() ? 0 : folders.back().first;
  return run / kSubmissions / fmt::format("{:04}", last + 1);
}

void record_submission(const Submission& submission) {
  const nlohmann::json body = {
      {"schema", kSchema},      {"scheduler", scheduler_name(submission.scheduler)},
      {"job", submission.job},  {"shares", submission.shares},
      {"of", submission.of},    {"time", submission.time},
      {"host", submission.host}};
  write_file_atomically(submission.folder / kFile, seal("submission", canonical_json(body)) + "\n");
}

}  // namespace quench
