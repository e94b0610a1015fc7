// The `report:` section of a manifest: which figures, and which contrasts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/yaml.hpp"
#include "report/spread.hpp"

namespace quench {

enum class FigureKind {
  kErrorVsTokens,
  kLossVsTokens,
  kLossPlane,
  kAccuracyVsLoss,
  kLossVsBytes,
  kBars,
  kContour,
  kSpectrum,
  kTrainingLoss,
  kTable
};
const char* figure_kind_name(FigureKind kind);

// A condition on a dimension (report/dimension.hpp): its value must be one of these.
using Condition = std::pair<std::string, std::vector<nlohmann::json>>;

struct FigureSpec {
  FigureKind kind = FigureKind::kTable;
  std::string name;                 // of its files; unique
  std::string title;                // empty: by kind
  std::vector<std::string> lines;   // dimensions that get one colour per value
  std::vector<std::string> panels;  // dimensions that get one panel per value
  // The right axis of a curve: "lr", or a value of the float model by its metric or label (`right:
  // norms/kurtosis`); empty: none.
  std::string right;
  std::string x = "auto";      // tokens, step, position; auto: the first that all have
  std::string y = "error";     // error, delta; also for kBars
  std::string range = "late";  // kLossPlane: late (the later half of each line) or all
  std::string at = "last";  // kBars, kSpectrum, kLossVsBytes: first or last of each branch, or all
  // What intervals show; empty: draws if there are any, else items. `no_spread`: none.
  std::optional<SpreadKind> spread;
  bool no_spread = false;
  std::vector<Condition> where;
  Place place;
};

// One side of a contrast.
struct Selector {
  std::string name;       // as written, or given with `as`; for sentences
  std::string described;  // as written; for messages
  // A bare name: the id or label of a quantizer or an averaging (without the values of its sweep if
  // only one has it), a branch, or `raw` for checkpoints without averaging. Empty if there are
  // conditions.
  std::string text;
  std::vector<Condition> conditions;
};

// What a contrast says of its two sides.
enum class Statistic {
  kDifference,           // a minus b, pair by pair
  kLargestOverSmallest,  // of the differences of all pairs
  kSlopeRatio,           // of the slope of a over an axis to that of b
  kRankCorrelation,      // Spearman's, of a with an axis, or of a with b along the training
};
const char* statistic_name(Statistic statistic);

struct ContrastSpec {
  Selector a;
  Selector b;                 // unused where `b_is_members` or a rank correlation has an axis alone
  bool b_is_members = false;  // every average of a against each of its members
  Statistic statistic = Statistic::kDifference;
  std::string over;      // a dimension with numbers: the axis of slopes or of a rank correlation
  bool of_loss = false;  // compare quantized losses in place of ΔCE
  // Or the values of another metric, of float models or of quantized ones, by its metric or label:
  // "hessian/trace". Empty: none.
  std::string of_metric;
  // Whether values are compared as they are, and not less those of the float models.
  bool of_values() const { return of_loss || !of_metric.empty(); }
  // At the lowest float loss that both sides reach, on a line between two checkpoints whose float
  // losses are at most `within` apart (nats per token).
  bool at_equal_loss = false;
  double within = 0.05;
  // Dimensions in which both sides must agree; default: bits, and the checkpoint if neither side
  // fixes it.
  std::optional<std::vector<std::string>> match;
  std::string at = "all";  // first or last checkpoint of each branch, or all
  Place place;
};

struct ReportSpec {
  std::string title;
  std::vector<FigureSpec> figures;
  std::vector<ContrastSpec> contrasts;
};

// Reads the section and adds its errors to `problems`. A section without `figures` has those of
// default_report(); one without `contrasts` has none.
ReportSpec read_report(const YamlNode& node, Problems& problems);
// For manifests without the section.
ReportSpec default_report();

}  // namespace quench
