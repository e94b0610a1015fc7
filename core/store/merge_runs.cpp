#include "core/store/merge_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/store/merged_description.hpp"
#include "core/store/merged_files.hpp"
#include "core/store/merged_values.hpp"
#include "core/store/tombstones.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

std::vector<MergedRun> read_runs(const std::vector<fs::path>& folders, const fs::path& into) {
  std::vector<DamagedLine> unreadable;
  const Tombstones forgotten(into, unreadable);
  std::vector<MergedRun> out;
  for (const fs::path& folder : folders) {
    MergedRun& run = out.emplace_back(MergedRun{folder, scan_run(folder), {}});
    run.evaluations = evaluations_of(run.scan);
    // What was hidden when the runs were merged before stays hidden.
    std::erase_if(run.evaluations, [&](const auto& each) {
      return forgotten.hides(each.second.file, each.second.values.front()->key);
    });
  }
  return out;
}

}  // namespace

MergedRuns merge_runs(const std::vector<fs::path>& runs, const fs::path& into,
                      const std::optional<fs::path>& prefer) {
  MergedRuns out;
  std::vector<fs::path> all = {into};
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(all),
               [&](const fs::path& run) { return run != into; });
  refuse_other_manifests(all);
  HiddenValues hidden = compare_values(read_runs(all, into), prefer);
  out.hidden = std::move(hidden.names);
  const nlohmann::json shares = merged_shares(all, out.notes);
  MergedFiles files;
  for (size_t i = 1; i < all.size(); ++i) {
    files.add(all[i], into);
  }
  make_folders(into);
  out.folders = files.copy_folders();
  write_description(all, into, shares);
  hide_records(into, hidden.files, "merged: values of another run were preferred");
  out.files = files.write_texts();
  const RunScan joined = scan_run(into);
  out.evaluations = evaluations_of(joined).size();
  return out;
}

}  // namespace quench
