// Folders of weights that a run writes beside its results: quantized checkpoints (`export`) and
// averages (`keep`).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/inputs/weights/open_weights.hpp"
#include "core/plugin/handles/format_writer.hpp"
#include "core/store/sealed_folder.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"

namespace quench {

// The parent folders. Empty: writes none.
struct FolderPlaces {
  std::filesystem::path averages;
  std::filesystem::path exports;
};

// One folder. Exports are draw 0 of a checkpoint's quantizer with store_as; averages are those of
// unchanged files. A quantized average is only measured, never written.
struct RowFolder {
  size_t weights = 0;
  Variant variant;  // without quantizer: the average
  std::filesystem::path path;
};

// In the order of the grid.
std::vector<RowFolder> row_folders(const Experiment& experiment, const FolderPlaces& places);

// "the export of step600, gptq bits=3", "the average soup at step600"
std::string folder_row_name(const Experiment& experiment, const RowFolder& row);

// Everything that the folder's content depends on, for its seal. Returns nothing if something
// needed is not remembered and `measure` is false; `missing` then says what. Throws Error if it
// cannot be measured.
std::optional<nlohmann::json> content_of(const Experiment& experiment, const RowFolder& row,
                                         Identities& identities, bool measure,
                                         std::string& missing);

// What is known of a folder without reading weights.
struct RowSurvey {
  std::optional<nlohmann::json> made_from;  // what it should be made from, if that is known
  std::string missing;                      // else why it is not
  FolderSurvey there;

  bool is_current() const { return made_from && there.state == FolderState::kCurrent; }
};
RowSurvey survey_row(const Experiment& experiment, const RowFolder& row, Identities& identities);

// A folder that is not known to be there and current.
struct PendingRow {
  size_t experiment = 0;  // index
  size_t weights = 0;     // likewise, of its grid
  bool blocked = false;   // what it is made from is not there
};
std::vector<PendingRow> pending_rows(const std::vector<Experiment>& experiments,
                                     const FolderPlaces& places, Identities& identities);

// A folder that is missing or outdated.
struct PendingExport {
  RowFolder row;
  nlohmann::json made_from;
  // A quantized model; or an average whose scheme searches by scores of models.
  bool needs_model = false;
};

// Nothing if the folder exists and is current. Puts one with a damaged seal aside, with a warning.
// Throws like content_of; FAILED_PRECONDITION if it holds files that quench did not write.
std::optional<PendingExport> pending_export(const Experiment& experiment, const RowFolder& row,
                                            Identities& identities);

// Both write the folder, or leave it to another process that has written the same one meanwhile.
// The model has the quantized weights. Throws what export_weights and SealedFolder throw.
void write_export(Catalog& catalog, OpenWeights& open, FormatWriter& stored,
                  const PendingExport& pending, const std::string& tokenizer);
// `found`: the members' weights if the scheme searched, else empty. `manifest`: its text, for the
// model card. Throws what keep_average throws.
void write_average(Catalog& catalog, const Experiment& experiment, const PendingExport& pending,
                   const std::vector<double>& found, const std::string& manifest,
                   const HubEnvironment& hub);

// Throws Error(INVALID_ARGUMENT) listing all obstacles: files that quench did not write, or two
// folders of the same name.
void check_row_folders(const std::vector<Experiment>& experiments, const FolderPlaces& places);

// Removes what killed processes left half-written beside the folders.
void remove_row_leftovers(const std::vector<Experiment>& experiments, const FolderPlaces& places);

}  // namespace quench
