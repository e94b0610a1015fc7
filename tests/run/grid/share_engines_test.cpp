#include "run/grid/share_engines.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/error.hpp"

using quench::engine_share;
using Environment = std::map<std::string, std::string>;

namespace {

Environment slurm_array(const std::string& id, const std::string& least, const std::string& most,
                        const std::string& step, const std::string& count) {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", least},
          {"SLURM_ARRAY_TASK_MAX", most},
          {"SLURM_ARRAY_TASK_STEP", step},
          {"SLURM_ARRAY_TASK_COUNT", count}};
}

Environment joined(Environment one, const Environment& other) {
  one.insert(other.begin(), other.end());
  return one;
}

// "3/8 Slurm array", or what is wrong.
std::string said(const std::string& text, const Environment& environment) {
  try {
    const quench::EngineShare got = engine_share(text, environment);
    return std::to_string(got.share.number) + "/" + std::to_string(got.share.of) + " " + got.engine;
  } catch (const quench::Error& error) {
    CHECK(error.code() == QUENCH_INVALID_ARGUMENT);
    return error.what();
  }
}

struct Case {
  std::string text;
  Environment environment;
  std::string said;
};

const Environment kSrun = {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}};

}  // namespace

TEST_CASE("share engines: each numbers and counts its tasks in its own way", "[run][shares]") {
  const Case kCases[] = {
      {"auto", slurm_array("3", "1", "8", "1", "8"), "3/8 Slurm array"},
      {"auto", slurm_array("0", "0", "7", "1", "8"), "1/8 Slurm array"},
      {"auto", slurm_array("12", "10", "12", "1", "3"), "3/3 Slurm array"},
      {"auto", slurm_array("5", "5", "5", "1", "1"), "1/1 Slurm array"},
      {"auto",
       {{"SGE_TASK_ID", "8"},
        {"SGE_TASK_FIRST", "5"},
        {"SGE_TASK_LAST", "8"},
        {"SGE_TASK_STEPSIZE", "1"}},
       "4/4 SGE array"},
      {"auto",
       {{"LSB_JOBINDEX", "2"}, {"LSB_JOBINDEX_END", "6"}, {"LSB_JOBINDEX_STEP", "1"}},
       "2/6 LSF array"},
      {"auto", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, "1/4 Open MPI"},
      {"auto", {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, "4/4 MPI"},
      {"auto", kSrun, "3/4 Slurm step"},
      {"auto", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, "2/2 torchrun"},
      {"auto", {{"SKYPILOT_NODE_RANK", "1"}, {"SKYPILOT_NUM_NODES", "2"}}, "2/2 SkyPilot nodes"},
      {"auto/4", {{"SKYPILOT_NODE_RANK", "1"}, {"SKYPILOT_NUM_NODES", "4"}}, "2/4 SkyPilot nodes"},
      {"auto/4", {{"SKYPILOT_NODE_RANK", "3"}}, "4/4 SkyPilot nodes"},
      {"auto/8", {{"PBS_ARRAY_INDEX", "8"}}, "8/8 PBS array"},
      {"auto/8", {{"PBS_ARRAYID", "1"}}, "1/8 Torque array"},
      {"auto/8", {{"JOB_COMPLETION_INDEX", "0"}}, "1/8 Kubernetes job"},
      {"auto/8", {{"LSB_JOBINDEX", "7"}}, "7/8 LSF array"},
      {"auto/8", slurm_array("3", "1", "8", "1", "8"), "3/8 Slurm array"},
  };
  for (const Case& each : kCases) {
    CHECK(said(each.text, each.environment) == each.said);
  }
}

TEST_CASE("share engines: what would leave cells out is refused", "[run][shares]") {
  const Case kCases[] = {
      {"auto", slurm_array("9", "1", "8", "1", "8"),
       "--share auto: Slurm array: got SLURM_ARRAY_TASK_ID = 9, wanted 1..8, one of 8 tasks"},
      {"auto", slurm_array("3", "1", "7", "2", "4"),
       "--share auto: Slurm array: got SLURM_ARRAY_TASK_STEP = 2, wanted an array with step 1"},
      {"auto", slurm_array("5", "1", "5", "1", "3"),
       "--share auto: Slurm array: got SLURM_ARRAY_TASK_COUNT = 3, wanted 5, an array without gaps "
       "from 1 to 5"},
      {"auto", slurm_array("x", "1", "8", "1", "8"),
       "--share auto: Slurm array: got SLURM_ARRAY_TASK_ID = 'x', wanted a number"},
      {"auto/4", slurm_array("3", "1", "8", "1", "8"),
       "--share auto/4: Slurm array (SLURM_ARRAY_TASK_ID = 3) is one of 8 tasks, wanted one of 4"},
      {"auto",
       {{"SGE_TASK_ID", "3"},
        {"SGE_TASK_FIRST", "1"},
        {"SGE_TASK_LAST", "7"},
        {"SGE_TASK_STEPSIZE", "2"}},
       "--share auto: SGE array: got SGE_TASK_STEPSIZE = 2, wanted an array with step 1"},
      {"auto",
       {{"LSB_JOBINDEX", "7"}, {"LSB_JOBINDEX_END", "6"}},
       "--share auto: LSF array: got LSB_JOBINDEX = 7, wanted 1..6, one of 6 tasks"},
      {"auto",
       {{"PBS_ARRAY_INDEX", "3"}},
       "--share auto: PBS array (PBS_ARRAY_INDEX = 3) does not say how many tasks there are, "
       "wanted "
       "--share auto/N"},
      {"auto/8",
       {{"PBS_ARRAY_INDEX", "0"}},
       "--share auto: PBS array: got PBS_ARRAY_INDEX = 0, wanted 1..8, one of 8 tasks"},
      {"auto/8",
       {{"JOB_COMPLETION_INDEX", "8"}},
       "--share auto: Kubernetes job: got JOB_COMPLETION_INDEX = 8, wanted 0..7, one of 8 tasks"},
      {"auto",
       {{"RANK", "0"}, {"WORLD_SIZE", "200000"}},
       "--share auto: torchrun (RANK = 0) is one of 200000 tasks, wanted 1..100000"},
      {"auto", joined(slurm_array("3", "1", "8", "1", "8"), kSrun),
       "--share auto: Slurm array (SLURM_ARRAY_TASK_ID = 3) makes this share 3 of 8, Slurm step "
       "(SLURM_PROCID = 2) share 3 of 4; wanted one of them alone, or --share I/N"},
      {"auto/8", joined({{"PBS_ARRAY_INDEX", "3"}}, {{"JOB_COMPLETION_INDEX", "3"}}),
       "--share auto: PBS array (PBS_ARRAY_INDEX = 3) makes this share 3 of 8, Kubernetes job "
       "(JOB_COMPLETION_INDEX = 3) share 4 of 8; wanted one of them alone, or --share I/N"},
      {"auto/x", {}, "--share: got 'auto/x', wanted auto, or auto/N with N from 1 to 100000"},
      {"auto/0", {}, "--share: got 'auto/0', wanted auto, or auto/N with N from 1 to 100000"},
  };
  for (const Case& each : kCases) {
    CHECK(said(each.text, each.environment) == each.said);
  }
}

TEST_CASE("share engines: those that split nothing do not count", "[run][shares]") {
  // A batch script of Slurm is one process, whatever the job's number of tasks.
  const Environment kBatch = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}};
  const Environment kNoArrays = {{"SGE_TASK_ID", "undefined"},
                                 {"LSB_JOBINDEX", "0"},
                                 {"LSB_JOBINDEX_END", "0"},
                                 {"RANK", "top"}};
  CHECK_THAT(said("auto", joined(kBatch, kNoArrays)),
             Catch::StartsWith("--share auto: no engine numbers this task, wanted one of "
                               "SLURM_ARRAY_TASK_ID, SGE_TASK_ID, LSB_JOBINDEX, PBS_ARRAY_INDEX"));
  // srun and mpirun of one process in a task of an array.
  const Environment kOne = {{"SLURM_PROCID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "1"},
                            {"OMPI_COMM_WORLD_RANK", "0"},
                            {"OMPI_COMM_WORLD_SIZE", "1"}};
  CHECK(said("auto", joined(slurm_array("3", "1", "8", "1", "8"), kOne)) == "3/8 Slurm array");
  CHECK(said("auto/8", joined({{"PBS_ARRAY_INDEX", "3"}}, kOne)) == "3/8 PBS array");
  CHECK(said("auto", kOne) == "1/1 Open MPI");
  // Two that agree: srun with PMI.
  CHECK(said("auto", joined(kSrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}})) == "3/4 MPI");
}

TEST_CASE("share engines: all variables are asked for, and nothing but variables",
          "[run][shares]") {
  const std::vector<std::string> names = quench::engine_variables();
  CHECK(std::find(names.begin(), names.end(), "SLURM_ARRAY_TASK_STEP") != names.end());
  CHECK(std::find(names.begin(), names.end(), "WORLD_SIZE") != names.end());
  CHECK(std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.size() > 3 &&
           name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos;
  }));
}
