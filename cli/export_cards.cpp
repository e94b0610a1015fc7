#include "cli/export_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "cli/model_card.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/folder_card.hpp"
#include "core/version.hpp"
#include "run/row_folders.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostAtOnce = 64;  // cards that one Python writes

using RecordsByCell = std::map<std::string, std::vector<const Record*>>;

// Those with values, by the name of their cell.
RecordsByCell by_cell(const std::vector<Record>& records) {
  RecordsByCell out;
  for (const Record& record : records) {
    if (record.error.empty()) {
      out[cell_name(record)].push_back(&record);
    }
  }
  return out;
}

std::vector<const Record*> records_of(const Experiment& experiment, const RowFolder& row,
                                      const Variant& variant, size_t metric,
                                      const RecordsByCell& records) {
  Cell cell;
  cell.weights = row.weights;
  cell.variant = variant;
  cell.metric = metric;
  const auto found = records.find(cell_name(experiment, cell));
  return found != records.end() ? found->second : std::vector<const Record*>();
}

uint64_t bytes_of_weights(const fs::path& folder) {
  uint64_t out = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const uint64_t size =
        entry.path().extension() == ".safetensors" ? entry.file_size(error) : uint64_t{0};
    out += error ? 0 : size;
  }
  return out;
}

std::string model_of(const CheckpointCell& cell) {
  if (is_hub_spec(cell.location) || cell.revision.empty()) {
    return is_hub_spec(cell.location) ? cell.location : cell.model;
  }
  return cell.model + "/" + cell.revision;
}

// What the card says, for Python; null while nothing is measured.
nlohmann::json request_of(const LoadedRun& run, const Experiment& experiment, const RowFolder& row,
                          const RecordsByCell& records) {
  const QuantizerCell& quantizer = experiment.quantizers[*row.variant.quantizer];
  const WeightsCell& weights = experiment.weights[row.weights];
  const CheckpointCell& checkpoint = files_cell(experiment, weights);
  nlohmann::json floating = nlohmann::json::array();
  nlohmann::json quantized = nlohmann::json::array();
  const Record* any = nullptr;
  for (size_t m = 0; m < experiment.metrics.size(); ++m) {
    const auto before = records_of(experiment, row, Variant(), m, records);
    const auto after = records_of(experiment, row, row.variant, m, records);
    for (size_t i = 0; i < after.size(); ++i) {
      any = after[i];
      floating.push_back(i < before.size() ? to_json(*before[i]) : nlohmann::json());
      quantized.push_back(to_json(*after[i]));
    }
  }
  if (any == nullptr) {
    return nullptr;
  }
  return {{"name", fmt::format("{}, {}", weights_name(experiment, weights), quantizer.label)},
          {"model", model_of(checkpoint)},
          {"commit", any->checkpoint.value("commit", nlohmann::json())},
          {"label", quantizer.label},
          {"version", kVersion},
          {"quantizer", card_of_quantizer(quantizer)},
          {"calibration", quantizer.calibration ? quantizer.calibration->name : ""},
          {"format", quantizer.store_as->id},
          {"bits_per_weight", any->quantizer.value("bits_per_weight", nlohmann::json())},
          {"bytes", bytes_of_weights(row.path)},
          {"float", floating},
          {"quantized", quantized},
          {"manifest", run.manifest.text}};
}

// Python writes those of these folders.
void write_cards(const std::vector<fs::path>& folders, const nlohmann::json& requests,
                 const Context& context) {
  const std::vector<std::string> texts = card_texts(requests, context);
  for (size_t i = 0; i < folders.size() && i < texts.size(); ++i) {
    if (!write_folder_card(folders[i], texts[i])) {
      HostServices::instance().log(
          QUENCH_LOG_INFO, "",
          fmt::format("{} is not quench's, or was changed, so it stays",
                      printable((folders[i] / kFolderCard).string(), 4096)));
    }
  }
}

}  // namespace

void write_export_cards(const LoadedRun& run, const std::vector<Record>& records, bool again,
                        Identities& identities, const Context& context) {
  std::vector<fs::path> folders;
  nlohmann::json requests = nlohmann::json::array();
  const auto write = [&] {
    write_cards(std::exchange(folders, {}), std::exchange(requests, nlohmann::json::array()),
                context);
  };
  try {
    const RecordsByCell measured = by_cell(records);
    for (const Experiment& experiment : run.experiments) {
      for (const RowFolder& row : row_folders(experiment, folder_places(run.folder))) {
        std::error_code unreadable;
        const bool wanted = again || !fs::exists(row.path / kFolderCard, unreadable);
        if (!row.variant.quantizer || !wanted ||
            !survey_row(experiment, row, identities).is_current()) {
          continue;
        }
        nlohmann::json request = request_of(run, experiment, row, measured);
        if (!request.is_null()) {
          folders.push_back(row.path);
          requests.push_back(std::move(request));
        }
        if (folders.size() == kMostAtOnce) {
          write();
        }
      }
    }
    if (!folders.empty()) {
      write();
    }
  } catch (...) {
    const Error error = current_error();
    if (error.code() == QUENCH_CANCELLED) {
      throw error;
    }
    HostServices::instance().log(QUENCH_LOG_WARNING, "",
                                 fmt::format("no model card is written: {}", error.what()));
  }
}

}  // namespace quench
