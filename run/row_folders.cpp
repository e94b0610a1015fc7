#include "run/row_folders.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/checkpoint/side_files.hpp"
#include "core/error.hpp"
#include "core/inputs/averaging/keep_average.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/sealed_folder.hpp"
#include "run/manifest/folder_name.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Raise this when the same inputs give other files: layout of files, packing, side files.
constexpr int kFolderFormat = 1;

bool is_kept(const Experiment& experiment, const WeightsCell& weights) {
  return weights.averaging && !weights.live && experiment.averagings[*weights.averaging].keep;
}

// The side files that are copied from beside the weights, by content.
nlohmann::json side_file_hashes(const Experiment& experiment, const CheckpointCell& cell,
                                bool with_tokenizer, const HubEnvironment& hub) {
  const fs::path folder = folder_holding(locate_checkpoint(cell, hub).path);
  const bool named = with_tokenizer && experiment.tokenizer != "bytes";
  nlohmann::json out = nlohmann::json::object();
  for (const fs::path& file : side_files(folder, named ? experiment.tokenizer : "")) {
    out[printable(file.filename().string(), 255)] = sha256_of(File(file));
  }
  return out;
}

}  // namespace

std::vector<RowFolder> row_folders(const Experiment& experiment, const FolderPlaces& places) {
  std::vector<RowFolder> out;
  for (size_t w = 0; w < experiment.weights.size(); ++w) {
    const WeightsCell& weights = experiment.weights[w];
    const std::string name = folder_name(weights_name(experiment, weights));
    if (!places.averages.empty() && is_kept(experiment, weights)) {
      out.push_back({w, {}, folder_of_job(places.averages, experiment.job) / name});
    }
    if (places.exports.empty() || weights.averaging) {
      continue;
    }
    for (const Variant& variant : variants_of(experiment, weights)) {
      if (variant.quantizer && variant.draw == 0 && variant.jitter == 0 &&
          experiment.quantizers[*variant.quantizer].store_as != nullptr) {
        out.push_back({w, variant,
                       folder_of_job(places.exports, experiment.job) / name /
                           folder_name(experiment.quantizers[*variant.quantizer].label)});
      }
    }
  }
  return out;
}

std::string folder_row_name(const Experiment& experiment, const RowFolder& row) {
  const std::string name = weights_name(experiment, experiment.weights[row.weights]);
  const std::string job = experiment.job == 0 ? "" : fmt::format(" (job {})", experiment.job);
  return row.variant.quantizer
             ? fmt::format("the export of {}, {}{}", name,
                           experiment.quantizers[*row.variant.quantizer].label, job)
             : fmt::format("the average {}{}", name, job);
}

std::optional<nlohmann::json> content_of(const Experiment& experiment, const RowFolder& row,
                                         Identities& identities, bool measure,
                                         std::string& missing) {
  const WeightsCell& weights = experiment.weights[row.weights];
  EvaluationParts what;
  what.experiment = &experiment;
  what.weights = &weights;
  what.quantizer = row.variant.quantizer ? &experiment.quantizers[*row.variant.quantizer] : nullptr;
  std::optional<nlohmann::json> parts = evaluation_parts(identities, what, measure, missing);
  if (!parts) {
    return std::nullopt;
  }
  if (weights.averaging) {
    const nlohmann::json& part = parts->at("averaging");
    if (!part.contains("score")) {  // a plain average depends on nothing but its members
      parts = {{"averaging", part}, {"config", parts->at("config")}};
    }
  }
  (*parts)["format"] = kFolderFormat;
  (*parts)["beside"] = side_file_hashes(experiment, files_cell(experiment, weights),
                                        !weights.averaging, identities.hub());
  return parts;
}

RowSurvey survey_row(const Experiment& experiment, const RowFolder& row, Identities& identities) {
  RowSurvey out;
  try {
    out.made_from = content_of(experiment, row, identities, /*measure=*/false, out.missing);
  } catch (const Error& error) {  // its cells report it, too
    out.missing = error.what();
  }
  try {
    out.there = survey_folder(row.path, out.made_from.value_or(nullptr));
  } catch (const Error& error) {  // it cannot be read, so nothing is written there
    out.there = {FolderState::kForeign, error.what(), std::nullopt};
  }
  return out;
}

std::vector<PendingRow> pending_rows(const std::vector<Experiment>& experiments,
                                     const FolderPlaces& places, Identities& identities) {
  std::vector<PendingRow> out;
  for (size_t i = 0; i < experiments.size(); ++i) {
    const Experiment& experiment = experiments[i];
    for (const RowFolder& row : row_folders(experiment, places)) {
      if (survey_row(experiment, row, identities).is_current()) {
        continue;
      }
      const MemberCells files = files_of(experiment, experiment.weights[row.weights]);
      const bool blocked = experiment.training == nullptr &&
                           std::any_of(files.begin(), files.end(), [&](const CheckpointCell* file) {
                             return !identities.absence(*file).empty();
                           });
      out.push_back({i, row.weights, blocked});
    }
  }
  return out;
}

std::optional<PendingExport> pending_export(const Experiment& experiment, const RowFolder& row,
                                            Identities& identities) {
  std::string missing;
  nlohmann::json made_from = *content_of(experiment, row, identities, /*measure=*/true, missing);
  const FolderSurvey there = survey_folder(row.path, made_from);
  if (there.state == FolderState::kDamaged) {
    if (const fs::path aside = put_aside(row.path, *there.identity); !aside.empty()) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("{}; {} is made again, what was there is now {}", there.reason,
                      row.path.string(), aside.filename().string()));
    }
  }
  if (there.state == FolderState::kForeign) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: is there already, and nothing is overwritten: {}",
         row.path.string(), there.reason);
  }
  if (there.state == FolderState::kCurrent) {
    return std::nullopt;
  }
  const bool searches = made_from.contains("averaging") && made_from["averaging"].contains("score");
  return PendingExport{row, std::move(made_from), row.variant.quantizer || searches};
}

void write_export(Catalog& catalog, OpenWeights& open, FormatWriter& stored,
                  const PendingExport& pending, const std::string& tokenizer) {
  make_folders(pending.row.path.parent_path());
  SealedFolder target(pending.row.path, /*replaces=*/true);
  export_weights(catalog, open.folder, open.model, stored, target,
                 tokenizer == "bytes" ? "" : tokenizer);
  check_running_code();
  target.publish(pending.made_from);
}

void write_average(Catalog& catalog, const Experiment& experiment, const PendingExport& pending,
                   const std::vector<double>& found, const std::string& manifest,
                   const HubEnvironment& hub) {
  const WeightsCell& weights = experiment.weights[pending.row.weights];
  std::vector<KeptMember> members;
  for (const size_t member : weights.members) {
    const CheckpointCell& cell = experiment.checkpoints[member];
    members.push_back(
        {open_files(catalog, cell, hub), cell.location, locate_checkpoint(cell, hub).commit,
         cell.revision.empty() ? cell.model : cell.revision, cell.step, cell.tokens, cell.family});
  }
  KeepOptions keep;
  keep.weights = found;
  keep.threads = HostServices::instance().threads();
  keep.manifest = manifest;
  keep.made_from = pending.made_from;
  keep.member_hashes = pending.made_from.at("averaging").at("members");
  keep.replaces = true;
  make_folders(pending.row.path.parent_path());
  keep_average(catalog, experiment.averagings[*weights.averaging], members, pending.row.path, keep);
}

void check_row_folders(const std::vector<Experiment>& experiments, const FolderPlaces& places) {
  std::vector<std::string> messages;
  std::map<fs::path, std::string> names;
  for (const Experiment& experiment : experiments) {
    for (const RowFolder& row : row_folders(experiment, places)) {
      const std::string name = folder_row_name(experiment, row);
      const auto [there, fresh] = names.emplace(row.path, name);
      if (!fresh) {
        messages.push_back(fmt::format("{}: would be both {} and {}; give one a `label` of its own",
                                       row.path.string(), printable(there->second),
                                       printable(name)));
        continue;
      }
      const std::string foreign = foreign_content(row.path);
      if (!foreign.empty()) {
        messages.push_back(
            fmt::format("{}: {} goes there, and nothing is overwritten: {}; move it "
                        "away",
                        row.path.string(), printable(name), foreign));
      }
    }
  }
  if (!messages.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages, "\n"));
  }
}

void remove_row_leftovers(const std::vector<Experiment>& experiments, const FolderPlaces& places) {
  std::set<fs::path> parents;
  for (const Experiment& experiment : experiments) {
    for (const RowFolder& row : row_folders(experiment, places)) {
      parents.insert(row.path.parent_path());
    }
  }
  std::for_each(parents.begin(), parents.end(), remove_ended);
}

}  // namespace quench
