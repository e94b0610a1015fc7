// quench verify [RUN]: reads all checksummed files and lists those that do not verify: of a run, of
// what runs share and trainings wrote, or of hf://org/name in the hub's cache. Never deletes
// anything.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/manifest_options.hpp"
#include "cli/run_folder.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "core/names.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/difference.hpp"
#include "core/store/equivalences.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/sealed_folder.hpp"
#include "core/store/sealed_line.hpp"
#include "core/store/store.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/resolve_items.hpp"
#include "train/training_log.hpp"
#include "train/verify_trained.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct Findings {
  uint64_t checked = 0;
  std::vector<std::string> faults;
  std::vector<std::string> unchecked;  // what cannot be compared with anything, and why
};

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

// Hashes the inputs of the run's cells, believing nothing that is remembered of files, and compares
// with the keys' parts in its records. Throws UsageError where the run's manifest cannot be read.
Findings verify_inputs(const std::string& run, Context& context) {
  const LoadedRun loaded = load_again(run, context);
  RunKnowledge knowledge = knowledge_of(loaded, context, /*fresh=*/true);
  Findings out;
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
      // Not what its seal or its name says, or no longer a file of its kind: it was one.
      if (error.code() == QUENCH_DATA_LOSS || error.code() == QUENCH_INVALID_ARGUMENT) {
        ++out.checked;
        changed[error.what()].push_back(name);
      } else {
        unknown[error.what()].push_back(name);
      }
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
    out.faults.push_back(fmt::format("{} ({})", line, first_of_names(cells, 1)));
  }
  for (const auto& [reason, cells] : unknown) {
    out.unchecked.push_back(fmt::format("{} ({})", reason, first_of_names(cells, 1)));
  }
  return out;
}

constexpr std::chrono::milliseconds kWriterPause(300);

struct VerifyOptions {
  std::string run;
  bool read_data = false;
  bool inputs = false;
};

// Checks the folders of weights that the run wrote, each file against its hash.
void verify_folders(const fs::path& folder, Findings& out) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename() != kFolderSeal) {
      continue;
    }
    ++out.checked;
    const fs::path sealed = it->path().parent_path();
    try {
      if (const std::string damage = damage_of(sealed); !damage.empty()) {
        out.faults.push_back(fmt::format("{}: {}", sealed.string(), damage));
      }
    } catch (const Error& failure) {
      out.faults.emplace_back(failure.what());
    }
  }
}

// Checks the files of a snapshot whose names are hashes of their content.
void verify_snapshot(const std::string& spec, const Context& context, Findings& out) {
  const ResolvedModel found = as_usage([&] { return resolve(spec, context.hub()); });
  BlobReport report = verify_blobs(found.file.empty() ? found.folder : found.folder / found.file,
                                   context.hub(), &HostServices::instance().cancel_flag());
  out.checked += report.checked;
  out.faults = std::move(report.faults);
}

std::string text_of(const DamagedLine& line) {
  return line.line == 0 ? fmt::format("{}: {}", line.file.string(), line.reason)
                        : fmt::format("{}:{}: {}", line.file.string(), line.line, line.reason);
}

// File ends that no writer has continued for a moment: their writers are gone.
std::vector<DamagedLine> left_unfinished(const std::string& run,
                                         const std::vector<DamagedLine>& before) {
  std::vector<DamagedLine> out;
  if (before.empty()) {
    return out;
  }
  std::this_thread::sleep_for(kWriterPause);
  for (const DamagedLine& line : read_run(run).unfinished) {
    const auto same = [&](const DamagedLine& other) {
      return other.file == line.file && other.offset == line.offset;
    };
    if (std::any_of(before.begin(), before.end(), same)) {
      out.push_back(line);
    }
  }
  return out;
}

void verify_run(const std::string& run, bool read_data, Findings& out) {
  const RunRecords records = read_run(run);
  const std::vector<DamagedLine> unfinished = left_unfinished(run, records.unfinished);
  out.checked += records.records.size() + records.superseded.size() + records.damaged.size() +
                 unfinished.size();
  for (const auto* lines : {&records.damaged, &unfinished}) {
    std::transform(lines->begin(), lines->end(), std::back_inserter(out.faults), text_of);
  }
  for (const std::string& key : records.conflicts) {
    out.faults.push_back(
        fmt::format("{}: two attempts hold different values under key {}", run, key));
  }
  LogFindings logs = verify_training_logs(run);
  out.checked += logs.checked;
  std::move(logs.faults.begin(), logs.faults.end(), std::back_inserter(out.faults));
  std::move(logs.unchecked.begin(), logs.unchecked.end(), std::back_inserter(out.unchecked));
  if (read_data) {
    const FolderPlaces places = folder_places(run);
    verify_folders(places.averages, out);
    verify_folders(places.exports, out);
  }
}

// Whether the file has the form of a sealed line; reads only a few bytes at both ends.
bool looks_sealed(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  char first[2] = {};
  char last[3] = {};
  in.read(first, 2);
  in.seekg(-3, std::ios::end);
  in.read(last, 3);
  return in.good() && std::string_view(first, 2) == "{\"" && std::string_view(last, 3) == "\"}\n";
}

// <key>.<generation>.json or .forgotten, in the folder named by the key's first two digits.
std::string key_of(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string key = name.substr(0, name.find('.'));
  const bool fits = key.size() == 64 && path.parent_path().filename() == key.substr(0, 2);
  return fits ? key : "";
}

void verify_store_file(const fs::path& path, bool read_data, Findings& out) {
  ++out.checked;
  const std::string key = key_of(path);
  try {
    if (key.empty()) {
      out.faults.push_back(path.string() + ": not the name of a record");
    } else if (!read_data) {
      if (!looks_sealed(path)) {
        out.faults.push_back(path.string() + ": cut short");
      }
    } else if (path.extension() == ".forgotten") {
      read_sealed_file(path.string(), "tombstone");
    } else {
      read_store_file(path, key);
    }
  } catch (const Error& error) {
    out.faults.emplace_back(error.what());
  }
}

// Sorted, so that repeated runs list files in the same order.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_regular_file() && !name.starts_with('.')) {
      out.push_back(it->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void verify_home(const fs::path& home, bool read_data, Findings& out) {
  for (const fs::path& path : files_below(home / "records")) {
    verify_store_file(path, read_data, out);
  }
  for (const fs::path& path : files_below(home / "fingerprints")) {
    ++out.checked;
    try {
      if (read_data) {
        read_sealed_file(path.string(), "fingerprint");
      } else if (!looks_sealed(path)) {
        out.faults.push_back(path.string() + ": cut short");
      }
    } catch (const Error& error) {
      out.faults.emplace_back(error.what());
    }
  }
  TrainedFaults trained = verify_trained(home, read_data ? Depth::kContents : Depth::kSizes);
  out.checked += trained.checked;
  std::move(trained.faults.begin(), trained.faults.end(), std::back_inserter(out.faults));
  const Equivalences equivalences(home);
  out.checked += equivalences.all().size() + equivalences.damaged().size();
  out.faults.insert(out.faults.end(), equivalences.damaged().begin(), equivalences.damaged().end());
}

int verify(const VerifyOptions& options, Context& context) {
  Findings findings;
  if (options.inputs) {
    if (options.run.empty() || is_hub_spec(options.run)) {
      throw UsageError(QUENCH_INVALID_ARGUMENT, "--inputs: name the folder of a run");
    }
    findings = verify_inputs(folder_with_run(options.run).string(), context);
  } else if (options.run.empty()) {
    verify_home(context.home(), options.read_data, findings);
  } else if (is_hub_spec(options.run)) {
    verify_snapshot(options.run, context, findings);
  } else {
    verify_run(folder_with_run(options.run).string(), options.read_data, findings);
  }
  if (answers()) {
    answer({{"checked", findings.checked},
            {"faults", findings.faults},
            {"unchecked", findings.unchecked}});
  } else {
    for (const std::string& fault : findings.faults) {
      fmt::print(results(), "{}\n", fault);
    }
    for (const std::string& line : findings.unchecked) {
      fmt::print(results(), "not checked: {}\n", line);
    }
    fmt::print(results(), "{} checked, {} do not verify{}\n", findings.checked,
               findings.faults.size(),
               findings.unchecked.empty()
                   ? ""
                   : fmt::format(", {} cannot be checked", findings.unchecked.size()));
  }
  if (!findings.faults.empty()) {
    return incomplete(
        fmt::format("{} of {} checked do not verify", findings.faults.size(), findings.checked));
  }
  if (findings.checked == 0) {
    const std::string line = (options.run.empty() ? context.home().string() : options.run) +
                             ": nothing here could be checked";
    if (!answers()) {
      print_warning(line);
    }
    return incomplete(line);
  }
  return kExitOk;
}

}  // namespace

void add_verify(Verb& verb, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  verb.examples({"quench verify runs/m --read-data"});
  verb.option("run", options->run,
              "Folder of a run, or hf://org/name[@revision] (default: the shared store)");
  verb.flag("--read-data", options->read_data,
            "Read all data: whole files of the shared store instead of their ends, and of a "
            "run also the weights that it wrote");
  verb.flag("--inputs", options->inputs,
            "Hash again what a run's records were measured from, and say what changed since");
  verb.json();
  add_plugin_options(verb, context);
  verb.does([&context, options] { return verify(*options, context); });
}

}  // namespace quench
