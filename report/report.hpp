// The report of a run: figures, contrasts and tables made from its records, and the files they
// become. Everything is computed here once; the page, gnuplot, CSV and JSON only format it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/store/run_folder.hpp"
#include "report/cell_table.hpp"
#include "report/contrast.hpp"
#include "report/figure.hpp"
#include "report/observation.hpp"
#include "report/spec.hpp"

namespace quench {

// The files in a run's folder beside its records. A missing file is an empty text or a JSON
// null.
struct RunDocuments {
  std::string name;
  std::string manifest_text;  // manifest.yaml, as the user wrote it
  nlohmann::json manifest;    // manifest.json: resolved, with --set applied
  nlohmann::json run;         // run.json
  std::vector<TrainingCurve> training = {};
  // The folder as a command can name it from where the manifest lies, or its absolute path.
  std::string place = {};
};

struct Report {
  RunDocuments documents;
  RunRecords run;  // everything below points into it
  ReportSpec spec;
  Observations observations;
  std::vector<Figure> figures;  // in the order of the spec, including tables
  std::vector<Contrast> contrasts;
  // The result in short sentences, what is decided first; without contrasts, what the last
  // checkpoint's methods cost. Empty if nothing was compared with a float model.
  std::vector<std::string> findings;
  CellTable cells;
  // What a reader should know before trusting a number: fallbacks, damaged files, conflicts.
  std::vector<std::string> health;

  Report() = default;
  Report(Report&&) = default;  // moving a vector does not move its elements
  Report& operator=(Report&&) = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
};

// Throws Error(INVALID_ARGUMENT) if the manifest's report section is wrong.
Report make_report(RunDocuments documents, RunRecords run);
// Reads a run's folder. Throws Error(NOT_FOUND) if there are no records, and what reading throws.
Report read_report_of(const std::filesystem::path& folder);

// All numbers of the report: contrasts, and the differences of each cell with their spreads.
nlohmann::json to_json(const Report& report);

// Writes <folder>/report.html and returns its path.
std::filesystem::path write_report(const Report& report, const std::filesystem::path& folder);

}  // namespace quench
