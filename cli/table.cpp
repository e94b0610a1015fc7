#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cli/standard_streams.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

namespace {

constexpr size_t kMaxCellBytes = 4096;

using TextRows = std::vector<std::vector<std::string>>;

std::vector<size_t> widths_of(const TextRows& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], columns_of(row[c]));
    }
  }
  return widths;
}

std::string aligned(const TextRows& rows) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string out;
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      out += row[c];
      if (c + 1 < row.size()) {
        out.append(widths[c] - columns_of(row[c]) + 2, ' ');
      }
    }
    out += '\n';
  }
  return out;
}

// Names come from manifests and plugins: none may end a line or control the terminal.
std::vector<std::vector<std::string>> printable_cells(std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) {
      cell = printable(cell, kMaxCellBytes);
    }
  }
  return rows;
}

constexpr size_t kGap = 2;  // between columns

size_t total_of(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(),
                         widths.empty() ? 0 : kGap * (widths.size() - 1));
}

// The rows with their columns made narrower until they fit, the widest first; nothing if they
// cannot.
std::optional<TextRows> squeezed(TextRows rows, const std::vector<ColumnFit>& fits, size_t width) {
  std::vector<size_t> widths = widths_of(rows);
  std::vector<size_t> least = widths;
  for (size_t c = 0; c < widths.size(); ++c) {
    least[c] = std::min(widths[c], fits[c].least);
  }
  if (total_of(least) > width) {
    return std::nullopt;
  }
  for (size_t total = total_of(widths); total > width; --total) {
    size_t widest = widths.size();
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest])) {
        widest = c;
      }
    }
    --widths[widest];
  }
  for (auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = shortened(row[c], widths[c]);
    }
  }
  return rows;
}

void leave_out(TextRows& rows, std::vector<ColumnFit>& fits, size_t column) {
  for (auto& row : rows) {
    if (column < row.size()) {
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
  }
  fits.erase(fits.begin() + static_cast<std::ptrdiff_t>(column));
}

// The column that is to leave first; nothing if none may.
std::optional<size_t> first_to_leave(const std::vector<ColumnFit>& fits) {
  std::optional<size_t> out;
  for (size_t c = 0; c < fits.size(); ++c) {
    if (fits[c].leaves > 0 && (!out || fits[c].leaves < fits[*out].leaves)) {
      out = c;
    }
  }
  return out;
}

std::string left_out_line(const std::vector<std::string>& names, size_t width) {
  return folded(fmt::format("too narrow for {}; a wider terminal or `| cat` shows all",
                            fmt::join(names, ", ")),
                width) +
         "\n";
}

struct Fitted {
  TextRows rows;
  std::vector<std::string> left_out = {};  // titles
  bool fits = false;                       // numbers are never cut, so that it may not
};

Fitted fit(TextRows rows, std::vector<ColumnFit> fits, size_t width,
           std::vector<std::string> left_out = {}) {
  fits.resize(std::max(fits.size(), widths_of(rows).size()));
  for (;;) {
    if (std::optional<TextRows> narrower = squeezed(rows, fits, width)) {
      return {*std::move(narrower), std::move(left_out), true};
    }
    const std::optional<size_t> column = first_to_leave(fits);
    if (!column) {
      return {std::move(rows), std::move(left_out), false};
    }
    left_out.push_back(rows.front()[*column]);
    leave_out(rows, fits, *column);
  }
}

std::string fitted_text(const Fitted& table, size_t width) {
  return aligned(table.rows) + (table.left_out.empty() ? "" : left_out_line(table.left_out, width));
}

// The cell that every row has in the column; "" where they differ.
std::string shared_cell(const TextRows& rows, size_t column) {
  const bool same = rows.size() > 1 &&
                    std::all_of(rows.begin() + 1, rows.end(),
                                [&](const auto& row) { return row[column] == rows[1][column]; });
  return same ? rows[1][column] : "";
}

// The fewest characters with which the column's title is whole and its cells can be told apart.
size_t least_telling(const TextRows& rows, size_t column) {
  std::set<std::string> cells;
  size_t widest = 0;
  for (size_t r = 1; r < rows.size(); ++r) {
    cells.insert(rows[r][column]);
    widest = std::max(widest, columns_of(rows[r][column]));
  }
  const auto tells = [&](size_t columns) {
    std::set<std::string> short_cells;
    for (const std::string& cell : cells) {
      short_cells.insert(shortened(cell, columns));
    }
    return short_cells.size() == cells.size();
  };
  size_t least = std::max(widest, columns_of(rows[0][column]));
  while (least > columns_of(rows[0][column]) && tells(least - 1)) {
    --least;
  }
  return least;
}

std::string with_error(double value, double standard_error, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (!std::isnan(standard_error)) {
    text += fmt::format(" ± {:.{}f}", standard_error, digits);
  }
  return text;
}

// How the checkpoint's weights are stored as codes; null for float weights.
nlohmann::json stored_in(const nlohmann::json& checkpoint) {
  return checkpoint.is_object() ? checkpoint.value("stored", nlohmann::json()) : nlohmann::json();
}

// Rows of the table that wait for the error derived from their loss. Of one cell there may be
// several losses, of two attempts or two runs, and some have no float loss beside them and so no
// error.
struct UnmatchedLosses {
  std::vector<std::pair<size_t, double>> losses;  // row, value

  // The first row with the loss that an error derives from.
  std::optional<size_t> take(double loss) {
    const auto found = std::find_if(losses.begin(), losses.end(), [&](const auto& each) {
      return each.second == loss || (std::isnan(each.second) && !std::isfinite(loss));
    });
    if (found == losses.end()) {
      return std::nullopt;
    }
    const size_t row = found->first;
    losses.erase(found);
    return row;
  }
};

}  // namespace

std::string checkpoint_name(const nlohmann::json& checkpoint, const nlohmann::json& averaging) {
  const auto text = [](const nlohmann::json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string revision = text(checkpoint, "revision");
  const std::string branch = text(checkpoint, "branch");
  std::string out = revision.empty() ? text(checkpoint, "model") : revision;
  if (!branch.empty()) {
    out = branch + " " + out;
  }
  if (averaging.is_object()) {
    const std::string label = text(averaging, "label");
    out += ", " + (label.empty() ? "averaged" : label);
  }
  return out;
}

std::string quantizer_name(const nlohmann::json& quantizer, const nlohmann::json& draw,
                           const nlohmann::json& jitter, const nlohmann::json& checkpoint) {
  if (quantizer.is_null()) {
    const nlohmann::json stored = stored_in(checkpoint);
    const nlohmann::json bits =
        stored.is_object() ? stored.value("bits", nlohmann::json()) : nlohmann::json();
    return stored.is_null()   ? "float"
           : bits.is_number() ? fmt::format("{} bits (stored)", bits.dump())
                              : "stored";
  }
  std::string out = quantizer.at("label").get<std::string>();
  for (const auto& [name, value] : {std::pair("draw", &draw), {"jitter", &jitter}}) {
    if (value->is_number() && *value != 0) {
      out += fmt::format(" {} {}", name, value->dump());
    }
  }
  return out;
}

std::string bits_text(const nlohmann::json& quantizer, const nlohmann::json& checkpoint) {
  const nlohmann::json stored = stored_in(checkpoint);
  nlohmann::json bits;
  if (quantizer.is_object()) {
    bits = quantizer.value("bits_per_weight", nlohmann::json());
  } else if (stored.is_object()) {
    bits = stored.value("bits", nlohmann::json());
  }
  return bits.is_number()   ? fmt::format("{:.2f}", bits.get<double>())
         : bits.is_string() ? bits.get<std::string>()  // not a finite number
                            : "-";
}

std::string aligned_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<ColumnFit>& fits, std::optional<size_t> width) {
  return width ? fitted_text(fit(printable_cells(rows), fits, *width), *width)
               : aligned(printable_cells(rows));
}

void print_table(const std::vector<std::vector<std::string>>& rows,
                 const std::vector<ColumnFit>& fits) {
  fmt::print(results(), "{}", aligned_table(rows, fits, output_columns()));
}

namespace {

// The columns with the settings of a sweep's points, as far as the entries differ in them.
class PointColumns {
 public:
  explicit PointColumns(const std::vector<TableEntry>& entries) {
    std::map<std::string, std::pair<nlohmann::json, size_t>> first;  // value, entries that have it
    for (const TableEntry& entry : entries) {
      for (const auto& [path, value] : entry.point) {
        auto& [known, count] = first.try_emplace(path, value, 0).first->second;
        count += known == value ? 1 : 0;
      }
    }
    for (const auto& [path, seen] : first) {
      if (seen.second < entries.size()) {
        paths_.push_back(path);
      }
    }
    titles_ = short_paths(paths_);
  }

  const std::vector<std::string>& titles() const { return titles_; }
  std::vector<std::string> of(const TableEntry& entry) const {
    std::vector<std::string> out;
    for (const std::string& path : paths_) {
      const auto found = std::find_if(entry.point.begin(), entry.point.end(),
                                      [&](const SweepValue& each) { return each.first == path; });
      out.push_back(found == entry.point.end()  ? "-"
                    : found->second.is_string() ? found->second.get<std::string>()
                                                : found->second.dump());
    }
    return out;
  }
  // "peak 0.003, seed 1, " for a line of text.
  std::string words(const TableEntry& entry) const {
    std::string out;
    const std::vector<std::string> values = of(entry);
    for (size_t i = 0; i < values.size(); ++i) {
      out += titles_[i] + " " + values[i] + ", ";
    }
    return out;
  }

 private:
  std::vector<std::string> paths_;
  std::vector<std::string> titles_;
};

// The columns with the text that the metrics measured on, a corpus or a block, as far as entries of
// one metric differ in it.
class TextColumns {
 public:
  explicit TextColumns(const std::vector<TableEntry>& entries) {
    std::set<std::pair<std::string, const MeasuredOn*>> seen;
    for (const TableEntry& entry : entries) {
      if (entry.measured_on != nullptr &&
          seen.emplace(metric_of(entry), entry.measured_on.get()).second) {
        names_.add(metric_of(entry), entry.measured_on->text, entry.measured_on->details);
      }
    }
    titles_ = names_.differing();
  }

  const std::vector<std::string>& titles() const { return titles_; }
  const std::vector<std::string>& of(const TableEntry& entry) {
    const auto [found, is_new] =
        known_.try_emplace(std::pair(metric_of(entry), entry.measured_on.get()));
    for (size_t i = 0; is_new && i < titles_.size(); ++i) {
      const std::string value =
          entry.measured_on == nullptr
              ? ""
              : names_.value(metric_of(entry), entry.measured_on->text, titles_[i]);
      found->second.push_back(value.empty() ? std::string(kUnknown) : value);
    }
    return found->second;
  }
  // "block 128, corpus web, " for a line of text.
  std::string words(const TableEntry& entry) {
    std::string out;
    const std::vector<std::string>& values = of(entry);
    for (size_t i = 0; i < values.size(); ++i) {
      out += values[i] == kUnknown ? "" : titles_[i] + " " + values[i] + ", ";
    }
    return out;
  }

 private:
  static constexpr std::string_view kUnknown = "-";

  // What stands before the first "/"; of an error, the metric that it derives from.
  static std::string metric_of(const TableEntry& entry) {
    const std::string& name = entry.of_metric.empty() ? entry.metric : entry.of_metric;
    return name.substr(0, name.find('/'));
  }

  TextNames names_;
  std::vector<std::string> titles_;
  std::map<std::pair<std::string, const MeasuredOn*>, std::vector<std::string>> known_;
};

// The table's rows, and the lines of failed cells.
struct RecordRows {
  TextRows rows;
  std::string failures;
  size_t of_names = 0;  // the first columns, which tell points of a sweep and texts apart
};

RecordRows record_rows(const std::vector<TableEntry>& entries, bool standard_errors) {
  const auto spread = [&](double value) {
    return standard_errors ? value : std::numeric_limits<double>::quiet_NaN();
  };
  const PointColumns points(entries);
  TextColumns texts(entries);
  const auto row = [&](const TableEntry& entry, std::initializer_list<std::string> rest) {
    std::vector<std::string> out = points.of(entry);
    const std::vector<std::string>& text = texts.of(entry);
    out.insert(out.end(), text.begin(), text.end());
    out.insert(out.end(), {entry.checkpoint, entry.quantizer, entry.bits});
    out.insert(out.end(), rest);
    return out;
  };
  TextRows rows = {points.titles()};
  rows[0].insert(rows[0].end(), texts.titles().begin(), texts.titles().end());
  const size_t names = rows[0].size();
  rows[0].insert(rows[0].end(),
                 {"checkpoint", "quantizer", "bits", "metric", "value", "error ΔQL"});
  rows.reserve(entries.size() + 1);
  std::unordered_map<std::string, UnmatchedLosses> unmatched;
  std::string failures;
  for (const TableEntry& entry : entries) {
    const std::string place =
        fmt::format("{}\n{}\n{}\n{}\n", entry.job, entry.checkpoint, entry.quantizer, entry.label);
    if (!entry.error.empty()) {
      failures += fmt::format(
          "failed: {}{}, {}, {}: {}\n",
          printable(points.words(entry) + texts.words(entry), kMaxCellBytes),
          printable(entry.checkpoint, kMaxCellBytes), printable(entry.quantizer, kMaxCellBytes),
          printable(entry.metric, kMaxCellBytes), printable(entry.error, kMaxCellBytes));
    } else if (entry.metric == "quantization_error") {
      UnmatchedLosses& losses = unmatched[place + entry.of_metric];
      const std::string percent =
          with_error(entry.value * 100, spread(entry.standard_error) * 100, 3) + " %";
      if (const std::optional<size_t> loss = losses.take(entry.of_value)) {
        rows[*loss].push_back(percent);
      } else {  // selected without its loss
        rows.push_back(row(entry, {"", "", percent}));
      }
    } else {
      unmatched[place + entry.metric].losses.emplace_back(rows.size(), entry.value);
      rows.push_back(
          row(entry, {entry.metric, with_error(entry.value, spread(entry.standard_error), 5)}));
    }
  }
  return {std::move(rows), std::move(failures), names};
}

// First a metric that all rows have goes into a line below; then names give way as far as they tell
// rows apart, then standard errors and the bits are left out, then names give way further.
std::string narrow_table(const std::vector<TableEntry>& entries, size_t width) {
  const RecordRows whole = record_rows(entries, true);
  TextRows rows = printable_cells(whole.rows);
  std::string below = whole.failures.empty() ? "" : folded(whole.failures, width);
  if (total_of(widths_of(rows)) <= width) {
    return aligned(rows) + below;
  }
  const size_t names = whole.of_names + 2;
  const size_t metric = names + 1;
  std::vector<ColumnFit> fits(names, ColumnFit{8, 0});
  fits.insert(fits.end(), {{SIZE_MAX, 1}, {6, 2}, kWhole, kWhole});
  TextRows plain = printable_cells(record_rows(entries, false).rows);
  if (const std::string shared = shared_cell(rows, metric); !shared.empty()) {
    std::vector<ColumnFit> unused = fits;
    leave_out(rows, unused, metric);
    leave_out(plain, fits, metric);
    below = folded("metric of every row: " + shared, width) + "\n" + below;
  }
  std::vector<ColumnFit> telling = fits;
  for (size_t c = 0; c < names; ++c) {
    telling[c].least = least_telling(rows, c);
  }
  if (const std::optional<TextRows> narrower = squeezed(rows, telling, width)) {
    return aligned(*narrower) + below;
  }
  const std::vector<std::string> left_out =
      plain == rows ? std::vector<std::string>() : std::vector<std::string>{"standard errors"};
  Fitted table = fit(plain, telling, width, left_out);
  if (!table.fits) {
    table = fit(plain, fits, width, left_out);
  }
  return fitted_text(table, width) + below;
}

}  // namespace

std::string records_table(const std::vector<TableEntry>& entries, std::optional<size_t> width) {
  if (width) {
    return narrow_table(entries, *width);
  }
  const RecordRows whole = record_rows(entries, true);
  return aligned(printable_cells(whole.rows)) + whole.failures;
}

std::string records_table(const std::vector<Record>& records, std::optional<size_t> width) {
  std::vector<std::string> texts;
  texts.reserve(records.size());
  for (const Record& record : records) {
    texts.push_back(canonical_json(to_json(record)));
  }
  TableReader reader;
  std::vector<TableEntry> entries;
  for (const std::string& text : texts) {
    const RecordLine line = record_line(text);
    entries.push_back(reader.read(line, "record"));
    if (!is_derived(entries.back().metric)) {
      entries.back().measured_on = reader.measured_on(line, "record");
    }
  }
  return records_table(entries, width);
}

}  // namespace quench
