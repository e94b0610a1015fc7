#include "report/report.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/json/parse_json.hpp"
#include "core/process/shell_word.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/sweep_point.hpp"
#include "report/dimension.hpp"
#include "report/family.hpp"
#include "report/findings.hpp"
#include "report/health.hpp"
#include "report/page.hpp"
#include "report/selector.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxDocument = 16u << 20;

std::string text_or_empty(const fs::path& file) {
  return fs::exists(file) ? read_file(file, kMaxDocument) : "";
}

// Float values need only meet conditions on weights: a figure of one quantizer keeps its float.
std::vector<Observation> kept(const FigureSpec& spec, const std::vector<Observation>& all) {
  std::vector<Condition> of_weights;
  for (const Condition& condition : spec.where) {
    const std::string& name = condition.first;
    if (name != "quantizer" && name != "label" && name != "bits" && name != "bytes" &&
        name != "calibration" && !name.starts_with("params.")) {
      of_weights.push_back(condition);
    }
  }
  std::vector<Observation> out;
  for (const Observation& it : all) {
    if (holds(it.is_float() ? of_weights : spec.where, *it.record)) {
      out.push_back(it);
    }
  }
  return out;
}

Figure draw_figure(const FigureSpec& spec, const Observations& observations, Palette& palette) {
  const std::vector<Observation> some = kept(spec, observations.all);
  switch (spec.kind) {
    case FigureKind::kErrorVsTokens:
    case FigureKind::kLossVsTokens:
      return curve_figure(spec, some, palette);
    case FigureKind::kLossPlane:
      return plane_figure(spec, some, palette);
    case FigureKind::kAccuracyVsLoss:
      return accuracy_figure(spec, some, palette);
    case FigureKind::kLossVsBytes:
      return size_figure(spec, some, palette);
    case FigureKind::kBars:
      return bars_figure(spec, some, palette);
    case FigureKind::kContour:
      return contour_figure(spec, some, palette);
    case FigureKind::kSpectrum:
      return spectrum_figure(spec, some, palette);
    case FigureKind::kTrainingLoss:
    case FigureKind::kTable:
      break;
  }
  Figure out;
  out.name = spec.name;
  out.title = spec.title.empty() ? "All cells" : spec.title;
  out.place = spec.place;
  return out;
}

// Whether the figure shows nothing: a page leaves it out.
bool is_missing(const Figure& figure) {
  return figure.kind != FigureKind::kTable && figure.panels.empty();
}

// A line continues across a failed checkpoint, so the caption says that one is missing.
Figure make_figure(const FigureSpec& spec, const Observations& observations,
                   const std::vector<TrainingCurve>& training, Palette& palette) {
  Figure out = spec.kind == FigureKind::kTrainingLoss ? training_figure(spec, training, palette)
                                                      : draw_figure(spec, observations, palette);
  drop_empty_panels(out);
  const size_t failed = observations.failed.size();
  if (failed > 0 && spec.kind != FigureKind::kTable && spec.kind != FigureKind::kTrainingLoss) {
    out.caption += fmt::format(" {} failed {} not drawn.", failed,
                               failed == 1 ? "cell of the run is" : "cells of the run are");
  }
  return out;
}

// Names the trainings of a sweep by what their points set, seeds included: "trunk, peak 0.003, seed
// 1".
void name_points(const std::vector<Record>& records, std::vector<TrainingCurve>& curves) {
  std::map<uint64_t, std::string> words;
  for (const Record& record : records) {
    if (record.environment.is_object() && !words.contains(record.job)) {
      std::string& text = words[record.job];
      for (const auto& [path, value] :
           sweep_values(record.environment.value("sweep", nlohmann::json()))) {
        text += ", " + dimension_text("sweep." + path, value);
      }
    }
  }
  for (TrainingCurve& curve : curves) {
    curve.name += words[curve.job];
  }
}

// The values that were measured before the manifest named another corpus or another block.
class EarlierValues {
 public:
  explicit EarlierValues(const nlohmann::json& run)
      : current_(run.is_object() ? run.value("texts", nlohmann::json()) : nlohmann::json()) {}

  bool has(const Record& record) const {
    return record.error.empty() &&
           current_.is_other(record.job, record.metric, metric_text(record.parts, record.details));
  }
  // How many there are, and how their text differs.
  std::vector<std::string> counts(const std::vector<Record>& records) const {
    std::map<std::string, size_t> ways;
    for (const Record& record : records) {
      if (record.index == 0 && has(record)) {
        ++ways[fmt::format(
            "{} with {}", record.metric,
            current_.difference(record.job, record.metric,
                                metric_text(record.parts, record.details), record.details))];
      }
    }
    std::vector<std::string> out;
    for (const auto& [way, values] : ways) {
      out.push_back(fmt::format("{} of {} from before that was changed.",
                                values == 1 ? "1 value" : fmt::format("{} values", values),
                                printable(way, kMaxWay)));
    }
    return out;
  }

 private:
  static constexpr size_t kMaxWay = 400;
  CurrentTexts current_;
};

// The report section of the manifest, or the default one.
ReportSpec spec_of(const RunDocuments& documents) {
  const nlohmann::json& manifest = documents.manifest;
  if (!manifest.is_object() || !manifest.contains("report")) {
    return default_report();
  }
  const YamlNode root = parse_yaml(manifest.dump(1), documents.name + "/manifest.json");
  Problems problems;
  ReportSpec out = read_report(*root.find("report"), problems);
  problems.throw_if_any();
  return out;
}

}  // namespace

Report make_report(RunDocuments documents, RunRecords run) {
  Report out;
  out.documents = std::move(documents);
  out.run = std::move(run);
  out.spec = spec_of(out.documents);
  out.observations = observe(out.run.records);
  name_points(out.run.records, out.documents.training);
  Palette palette;
  const bool is_default =
      !out.documents.manifest.is_object() || !out.documents.manifest.contains("report");
  for (const FigureSpec& spec : out.spec.figures) {
    Figure figure = make_figure(spec, out.observations, out.documents.training, palette);
    if (!is_default || !is_missing(figure)) {
      out.figures.push_back(std::move(figure));
    }
  }
  for (const ContrastSpec& spec : out.spec.contrasts) {
    out.contrasts.push_back(contrast_of(spec, out.observations.all));
  }
  mark_family(out.contrasts);
  const EarlierValues earlier(out.documents.run);
  std::vector<Observation> current = out.observations.all;
  std::erase_if(current, [&](const Observation& it) { return earlier.has(*it.record); });
  out.findings = findings_of(out.contrasts, current);
  out.cells = make_cell_table(out.observations.all);
  out.health = health_of(out.run, out.observations);
  for (std::string& line : earlier.counts(out.run.records)) {
    out.health.push_back(std::move(line));
  }
  for (const Figure& figure : out.figures) {
    if (is_missing(figure)) {
      out.health.push_back(
          fmt::format("The figure {} has nothing to show: {}", figure.name, figure.caption));
    }
  }
  return out;
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json contrasts = nlohmann::json::array();
  for (const Contrast& contrast : report.contrasts) {
    contrasts.push_back(to_json(contrast));
  }
  nlohmann::json cells = nlohmann::json::array();
  for (const auto& row : report.cells.rows) {
    nlohmann::json cell = nlohmann::json::object();
    for (size_t c = 0; c < row.size(); ++c) {
      cell[report.cells.columns[c].title] = row[c].value;
    }
    cells.push_back(std::move(cell));
  }
  nlohmann::json failed = nlohmann::json::array();
  for (const Record* record : report.observations.failed) {
    failed.push_back({{"checkpoint", record->checkpoint},
                      {"averaging", record->averaging},
                      {"quantizer", record->quantizer},
                      {"metric", record->metric},
                      {"error", record->error}});
  }
  return {{"name", report.documents.name},
          {"findings", report.findings},
          {"contrasts", contrasts},
          {"cells", cells},
          {"failed", failed},
          {"health", report.health}};
}

Report read_report_of(const fs::path& folder) {
  RunDocuments documents;
  const fs::path plain = folder.has_filename() ? folder : folder.parent_path();
  documents.name = fs::absolute(plain).filename().string();
  const fs::path parent = fs::absolute(plain).parent_path();
  documents.place = shell_word(parent.filename() == "runs" ? "runs/" + documents.name
                                                           : fs::absolute(plain).string());
  documents.training = read_training_logs(folder);
  documents.manifest_text = text_or_empty(folder / "manifest.yaml");
  for (const auto& [file, into] :
       {std::pair("manifest.json", &documents.manifest), std::pair("run.json", &documents.run)}) {
    const std::string text = text_or_empty(folder / file);
    *into = text.empty() ? nlohmann::json() : parse_json(text, (folder / file).string());
  }
  RunRecords run = read_run(folder);
  if (run.records.empty()) {
    fail(QUENCH_NOT_FOUND, "{}: has no records to report", folder.string());
  }
  return make_report(std::move(documents), std::move(run));
}

fs::path write_report(const Report& report, const fs::path& folder) {
  write_file_atomically(folder / "report.html", page_of(report));
  return folder / "report.html";
}

}  // namespace quench
