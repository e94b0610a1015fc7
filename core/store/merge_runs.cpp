#include "core/store/merge_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/io/atomic_file.hpp"
#include "core/store/merged_description.hpp"
#include "core/store/merged_folders.hpp"
#include "core/store/merged_texts.hpp"
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
      return forgotten.hides(each.second.file, each.second.key);
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
  MergedTexts texts;
  MergedFolders folders;
  for (size_t i = 1; i < all.size(); ++i) {
    for (const fs::directory_entry& entry : fs::directory_iterator(all[i])) {
      if (entry.is_regular_file()) {
        texts.add(entry.path(), into);
      }
    }
    folders.add(all[i], into);
  }
  make_folders(into);
  out.folders = folders.copy();
  write_description(all, into, shares);
  hide_records(into, hidden.files, "merged: values of another run were preferred");
  out.files = texts.write();
  out.evaluations = evaluations_of(scan_run(into)).size();
  return out;
}

}  // namespace quench
