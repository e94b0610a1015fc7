#include "run/grid/share_engines.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

using Environment = std::map<std::string, std::string>;

// The variables by which an engine numbers its tasks; "" where it has none.
struct Engine {
  const char* name;
  const char* index;
  const char* first;  // variable, or a number that holds for every job
  const char* last;
  const char* step;
  const char* count;
  const char* no_index = "";   // value of `index` in a job that is not split
  bool always_counts = false;  // so that its index alone means something else
};

// Slurm sets SLURM_NTASKS and SLURM_PROCID in a batch script too, which is one process whatever
// they say; only tasks of srun have SLURM_STEP_NUM_TASKS. LSF and PBS do not tell where an array
// begins: it must be 1.
constexpr std::array<Engine, 11> kEngines = {{
    {"Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
     "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"},
    {"SGE array", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", "",
     "undefined"},
    {"LSF array", "LSB_JOBINDEX", "1", "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP", "", "0"},
    {"PBS array", "PBS_ARRAY_INDEX", "1", "", "", ""},
    {"Torque array", "PBS_ARRAYID", "1", "", "", ""},
    {"Kubernetes job", "JOB_COMPLETION_INDEX", "0", "", "", ""},
    {"SkyPilot nodes", "SKYPILOT_NODE_RANK", "0", "", "", "SKYPILOT_NUM_NODES"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "0", "", "", "OMPI_COMM_WORLD_SIZE"},
    {"MPI", "PMI_RANK", "0", "", "", "PMI_SIZE"},
    {"Slurm step", "SLURM_PROCID", "0", "", "", "SLURM_STEP_NUM_TASKS", "", true},
    {"torchrun", "RANK", "0", "", "", "WORLD_SIZE", "", true},
}};

// A task as one engine numbers it.
struct Task {
  const Engine* engine;
  uint64_t index;
  uint64_t first;
  std::optional<uint64_t> count;

  std::string place() const {
    return fmt::format("{} ({} = {})", engine->name, engine->index, index);
  }
};

std::optional<uint64_t> number_in(const Environment& environment, const Engine& engine,
                                  const char* name) {
  const auto found = environment.find(name);
  if (found == environment.end()) {
    return parse_number<uint64_t>(name);  // `first` may be a number
  }
  const auto number = parse_number<uint64_t>(found->second);
  if (!number || *number > uint64_t{1} << 62) {
    fail(QUENCH_INVALID_ARGUMENT, "--share auto: {}: got {} = '{}', wanted a number", engine.name,
         name, printable(found->second, 40));
  }
  return number;
}

std::optional<uint64_t> count_of(const Environment& environment, const Engine& engine,
                                 uint64_t first) {
  const auto step = number_in(environment, engine, engine.step);
  const auto last = number_in(environment, engine, engine.last);
  const auto count = number_in(environment, engine, engine.count);
  if (step && *step != 1 && last != first) {
    fail(QUENCH_INVALID_ARGUMENT, "--share auto: {}: got {} = {}, wanted an array with step 1",
         engine.name, engine.step, *step);
  }
  if (!last) {
    return count;
  }
  const uint64_t span = *last >= first ? *last - first + 1 : 0;
  if (count && *count != span) {
    fail(QUENCH_INVALID_ARGUMENT,
         "--share auto: {}: got {} = {}, wanted {}, an array without gaps from {} to {}",
         engine.name, engine.count, *count, span, first, *last);
  }
  return span;
}

// Nothing where this engine is not at work.
std::optional<Task> task_of(const Environment& environment, const Engine& engine) {
  const auto index = environment.find(engine.index);
  if (index == environment.end() || index->second.empty() || index->second == engine.no_index ||
      (engine.always_counts && !environment.contains(engine.count))) {
    return std::nullopt;
  }
  Task out{&engine, *number_in(environment, engine, engine.index), 0, std::nullopt};
  out.first = number_in(environment, engine, engine.first).value_or(1);
  out.count = count_of(environment, engine, out.first);
  return out;
}

// `of`: from the command line, or 0.
Share share_of(const Task& task, uint64_t of) {
  if (of == 0 && !task.count) {
    fail(QUENCH_INVALID_ARGUMENT,
         "--share auto: {} does not say how many tasks there are, wanted --share auto/N",
         task.place());
  }
  const uint64_t count = of > 0 ? of : *task.count;
  if (task.count && *task.count != count) {
    fail(QUENCH_INVALID_ARGUMENT, "--share auto/{}: {} is one of {} tasks, wanted one of {}", of,
         task.place(), *task.count, of);
  }
  if (count == 0 || count > kMostShares) {
    fail(QUENCH_INVALID_ARGUMENT, "--share auto: {} is one of {} tasks, wanted 1..{}", task.place(),
         count, kMostShares);
  }
  if (task.index < task.first || task.index - task.first >= count) {
    fail(QUENCH_INVALID_ARGUMENT, "--share auto: {}: got {} = {}, wanted {}..{}, one of {} tasks",
         task.engine->name, task.engine->index, task.index, task.first, task.first + count - 1,
         count);
  }
  return {task.index - task.first + 1, count};
}

// N of "auto/N".
uint64_t count_after(const std::string& text) {
  const auto count = parse_number<uint64_t>(text.substr(text.find('/') + 1));
  if (!count || *count < 1 || *count > kMostShares) {
    fail(QUENCH_INVALID_ARGUMENT, "--share: got '{}', wanted auto, or auto/N with N from 1 to {}",
         printable(text, 40), kMostShares);
  }
  return *count;
}

}  // namespace

bool is_auto_share(const std::string& text) {
  return text == "auto" || text.starts_with("auto/");
}

std::vector<std::string> engine_variables() {
  std::vector<std::string> out;
  for (const Engine& engine : kEngines) {
    for (const char* name : {engine.index, engine.first, engine.last, engine.step, engine.count}) {
      if (*name >= 'A') {
        out.emplace_back(name);
      }
    }
  }
  return out;
}

EngineShare engine_share(const std::string& text, const Environment& environment) {
  const uint64_t of = text == "auto" ? 0 : count_after(text);
  std::vector<Task> tasks;
  for (const Engine& engine : kEngines) {
    if (const auto task = task_of(environment, engine)) {
      tasks.push_back(*task);
    }
  }
  if (tasks.empty()) {
    std::vector<const char*> names;
    for (const Engine& engine : kEngines) {
      names.push_back(engine.index);
    }
    fail(QUENCH_INVALID_ARGUMENT,
         "--share {}: no engine numbers this task, wanted one of {} in the environment, or --share "
         "I/N",
         text, fmt::join(names, ", "));
  }
  if (std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.count != 1; })) {
    // An array may start each task by srun or mpirun with one process, which splits nothing.
    std::erase_if(tasks, [](const Task& task) { return task.count == 1; });
  }
  const Share share = share_of(tasks.front(), of);
  for (const Task& task : tasks) {
    const Share other = share_of(task, of);
    if (other.number != share.number || other.of != share.of) {
      fail(QUENCH_INVALID_ARGUMENT,
           "--share auto: {} makes this share {} of {}, {} share {} of {}; wanted one of them "
           "alone, "
           "or --share I/N",
           tasks.front().place(), share.number, share.of, task.place(), other.number, other.of);
    }
  }
  return {share, tasks.front().engine->name};
}

}  // namespace quench
