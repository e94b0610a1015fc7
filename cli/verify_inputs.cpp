#include "cli/verify_inputs.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/manifest_options.hpp"
#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/store/difference.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/resolve_items.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMostBytes = uint64_t{64} << 20;

// The manifest as the run resolved it, at the place that its relative paths start from.
LoadedRun load_again(const fs::path& folder, Context& context) {
  const std::string description = (folder / "run.json").string();
  const nlohmann::json run = parse_json(read_file(description, kMostBytes), description);
  ManifestOptions options;
  options.manifest = (folder / "manifest.json").string();
  options.out = folder.string();
  return load_run(options, context, [&](const Manifest& written) {
    Manifest manifest = written;
    manifest.file = run.at("manifest").get<std::string>();
    return resolve_manifest(manifest, context.catalog(), context.hub());
  });
}

// The machine, the host's arithmetic and the libraries under plugins are no inputs.
bool is_input(const Difference& difference) {
  return !difference.path.starts_with("environment") && !difference.path.starts_with("host");
}

std::string cells_text(const std::vector<std::string>& cells) {
  return cells.size() == 1 ? cells.front()
                           : fmt::format("{} and {} more", cells.front(), cells.size() - 1);
}

}  // namespace

InputFaults verify_inputs(const std::string& run, Context& context) {
  const LoadedRun loaded = load_again(run, context);
  RunKnowledge knowledge = knowledge_of(loaded, context, /*fresh=*/true);
  InputFaults out;
  std::map<std::string, std::vector<std::string>> changed;  // line → cells
  std::map<std::string, std::vector<std::string>> unknown;
  std::set<std::string> named;
  for (const Cell& cell : cells_of(loaded.experiments)) {
    const Experiment& experiment = loaded.experiments[cell.job];
    const std::string name = cell_name(experiment, cell);
    const nlohmann::json* recorded = knowledge.finished.nearest(name);
    if (!named.insert(name).second || recorded == nullptr) {
      continue;
    }
    if (is_of_earlier_version(*recorded)) {
      unknown["its record is of a version whose keys say less"].push_back(name);
      continue;
    }
    try {
      std::string missing;
      const nlohmann::json now =
          *evaluation_parts(knowledge.identities, parts_of(experiment, cell), true, missing);
      ++out.checked;
      for (const Difference& difference : explain_difference(*recorded, now)) {
        if (is_input(difference)) {
          changed[difference_text(difference)].push_back(name);
        }
      }
    } catch (const Error& error) {
      if (error.code() == QUENCH_CANCELLED) {
        throw;
      }
      unknown[error.what()].push_back(name);
    }
  }
  for (const Record& record : knowledge.records.records) {
    const std::string name = cell_name(record);
    if (has_unchecked_inputs(record)) {
      unknown["a plugin opened its files by itself (inputs: unchecked)"].push_back(name);
    }
    if (named.insert(name).second) {
      unknown["its manifest names it no more"].push_back(name);
    }
  }
  for (const auto& [line, cells] : changed) {
    out.faults.push_back(fmt::format("{} ({})", line, cells_text(cells)));
  }
  for (const auto& [reason, cells] : unknown) {
    out.unknown.push_back(fmt::format("{} ({})", reason, cells_text(cells)));
  }
  return out;
}

}  // namespace quench
