// quench merge RUN...: joins the folders of runs that machines without a common disk have written.
#include "core/store/merge_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "cli/standard_streams.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct MergeOptions {
  std::vector<std::string> runs;
  std::string into;
  std::string prefer;
};

fs::path normal(const fs::path& path) {
  const fs::path out = path.lexically_normal();
  return out.has_filename() ? out : out.parent_path();  // without a trailing slash
}

int merge(const MergeOptions& options) {
  std::vector<fs::path> runs;
  for (const std::string& run : options.runs) {
    runs.push_back(normal(folder_with_run(run)));
  }
  const fs::path into = options.into.empty() ? runs.front() : normal(options.into);
  std::optional<fs::path> prefer;
  if (!options.prefer.empty()) {
    prefer = normal(folder_with_run(options.prefer));
    if (std::find(runs.begin(), runs.end(), *prefer) == runs.end() && *prefer != into) {
      throw UsageError(QUENCH_INVALID_ARGUMENT,
                       fmt::format("--prefer: got {}, wanted one of the runs that are merged",
                                   printable(options.prefer, 4096)));
    }
  }
  const MergedRuns merged = as_usage([&] { return merge_runs(runs, into, prefer); });
  if (answers()) {
    answer({{"folder", into.string()},
            {"files", merged.files},
            {"folders", merged.folders},
            {"evaluations", merged.evaluations},
            {"hidden", merged.hidden},
            {"notes", merged.notes}});
    return kExitOk;
  }
  for (const std::string& cell : merged.hidden) {
    fmt::print(results(), "{}: the values of {} count\n", cell, options.prefer);
  }
  fmt::print(results(), "{}: {} cells with values; {} files and {} folders are new\n",
             into.string(), merged.evaluations, merged.files, merged.folders);
  for (const std::string& note : merged.notes) {
    fmt::print(results(), "{}\n", note);
  }
  return kExitOk;
}

}  // namespace

void add_merge(Verb& verb, Context& /*context*/) {
  verb.examples({"quench merge runs/m from-b/m from-c/m", "quench merge a/m b/m --into runs/m"});
  auto options = std::make_shared<MergeOptions>();
  verb.option("run", options->runs, "Folders of runs of one manifest").required();
  verb.option("--into", options->into, "Folder of the joined run (default: the first RUN)")
      .placeholder("DIR");
  verb.option("--prefer", options->prefer, "The run whose values count where runs differ")
      .placeholder("RUN");
  verb.json();
  verb.does([options] { return merge(*options); });
}

}  // namespace quench
