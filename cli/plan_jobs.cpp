#include "cli/plan_jobs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/output_width.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"

namespace quench {

namespace {

// A point of the sweep, or a job of a study's file with what it sets of the keys with several
// values.
struct PlannedJob {
  size_t number = 0;
  size_t cells = 0;
  nlohmann::json point;  // null: the manifest as it is
};

std::vector<PlannedJob> jobs_of(const LoadedRun& run, int64_t only) {
  std::vector<PlannedJob> out;
  if (run.manifest.study_jobs.empty()) {
    for (const Experiment& experiment : run.experiments) {
      out.push_back({experiment.job, cells_of({experiment}).size(), experiment.point});
    }
    return out;
  }
  for (size_t job = 0; job < run.manifest.study_jobs.size(); ++job) {
    std::vector<Experiment> one = run.experiments;
    if (only < 0) {
      keep_job(run.manifest, one, static_cast<int64_t>(job));
    } else if (only != static_cast<int64_t>(job)) {
      continue;
    }
    out.push_back({job, cells_of(one).size(), run.manifest.study_jobs[job].point});
  }
  return out;
}

}  // namespace

void answer_jobs(const LoadedRun& run, int64_t only) {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannedJob& job : jobs_of(run, only)) {
    list.push_back({{"job", job.number}, {"cells", job.cells}, {"point", job.point}});
  }
  answer({{"name", run.manifest.name}, {"jobs", list}});
}

void print_jobs(const LoadedRun& run, int64_t only) {
  std::vector<std::vector<std::string>> rows = {{"job", "cells", "point"}};
  for (const PlannedJob& job : jobs_of(run, only)) {
    rows.push_back({std::to_string(job.number), std::to_string(job.cells),
                    job.point.is_null() ? "the manifest as it is" : job.point.dump()});
  }
  fmt::print(results(), "{}", aligned_table(rows, {kWhole, kWhole, {8, 0}}, output_columns()));
}

}  // namespace quench
