// quench diff RUN1 RUN2: how two manifests differ, and the values of equal cells.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "core/io/file.hpp"
#include "core/json/json_number.hpp"
#include "core/json/parse_json.hpp"
#include "core/store/counting.hpp"
#include "core/store/derived.hpp"
#include "core/store/difference.hpp"
#include "core/store/record_columns.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

namespace {

constexpr size_t kLargestManifest = 64 << 20;
constexpr size_t kMaxName = 4096;

struct DiffOptions {
  std::string before;
  std::string after;
  bool json = false;
};

nlohmann::json manifest_of(const std::string& run) {
  const std::filesystem::path path = std::filesystem::path(run) / "manifest.json";
  return std::filesystem::exists(path)
             ? parse_json(read_file(path, kLargestManifest), path.string())
             : nlohmann::json();
}

struct Change {
  std::string cell;
  nlohmann::json was;  // values; null if failed
  nlohmann::json is;
  std::optional<double> delta;
  // Of delta: over paired items if both runs have equally many, else from both standard errors as
  // if they were independent.
  std::optional<double> standard_error;
  bool paired = false;
};

struct Comparison {
  size_t equal = 0;
  std::vector<Change> changed;
  std::vector<std::string> only_before;
  std::vector<std::string> only_after;
};

std::map<std::string, Record> cells_of(const std::string& run) {
  RunScan scan = scan_run(run);
  add_derived(scan);
  std::map<std::string, Record> out;
  for (const size_t i : scan.counted) {
    const RecordLine& line = scan.lines[i];
    const std::string where = fmt::format("{}:{}", scan.files[line.file].string(), line.line);
    Record record = record_from_json(parse_json(line.body, where), where);
    std::string name = cell_identity(line);
    if (name.empty()) {  // schema 1
      name = fmt::format("{}\n{}\n{}", line.field("checkpoint"), line.field("quantizer"),
                         line.field("metric"));
    }
    out.emplace(fmt::format("{}{}", name, line.index), std::move(record));
  }
  return out;
}

std::string name_of(const Record& record) {
  const auto text = [](const nlohmann::json& object, const char* name) {
    return object.is_object() && object.contains(name) && object[name].is_string()
               ? object[name].get<std::string>()
               : std::string();
  };
  std::string out = text(record.checkpoint, "revision");
  if (out.empty()) {
    out = text(record.checkpoint, "model");
  }
  if (const std::string branch = text(record.checkpoint, "branch"); !branch.empty()) {
    out = branch + " " + out;
  }
  for (const nlohmann::json* part : {&record.averaging, &record.quantizer}) {
    if (part->is_object()) {
      out += ", " + text(*part, "label");
    }
  }
  for (const auto& [name, value] : {std::pair("draw", &record.draw), {"jitter", &record.jitter}}) {
    if (value->is_number() && *value != 0) {
      out += fmt::format(" {} {}", name, value->dump());
    }
  }
  out += ", " + record.metric +
         (record.label.empty() || record.label == record.metric ? "" : " (" + record.label + ")");
  return printable(out, kMaxName);
}

void compare_values(const Record& before, const Record& after, Change& change) {
  if (!before.value.is_number() || !after.value.is_number()) {
    return;
  }
  change.delta = after.value.get<double>() - before.value.get<double>();
  const size_t n = before.items.size();
  if (n > 1 && after.items.size() == n) {
    double mean = 0;
    for (size_t i = 0; i < n; ++i) {
      mean += (after.items[i] - before.items[i]) / static_cast<double>(n);
    }
    double squares = 0;
    for (size_t i = 0; i < n; ++i) {
      const double deviation = after.items[i] - before.items[i] - mean;
      squares += deviation * deviation;
    }
    change.standard_error =
        std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
    change.paired = true;
  } else if (before.standard_error.is_number() && after.standard_error.is_number()) {
    change.standard_error =
        std::hypot(before.standard_error.get<double>(), after.standard_error.get<double>());
  }
}

Comparison compare(const std::map<std::string, Record>& before,
                   const std::map<std::string, Record>& after) {
  Comparison out;
  for (const auto& [cell, record] : before) {
    const auto found = after.find(cell);
    if (found == after.end()) {
      out.only_before.push_back(name_of(record));
    } else if (record.value == found->second.value &&
               record.error.empty() == found->second.error.empty()) {
      ++out.equal;
    } else {
      Change change{name_of(record), record.value, found->second.value, {}, {}, false};
      compare_values(record, found->second, change);
      out.changed.push_back(std::move(change));
    }
  }
  for (const auto& [cell, record] : after) {
    if (!before.contains(cell)) {
      out.only_after.push_back(name_of(record));
    }
  }
  return out;
}

void answer_diff(const std::vector<Difference>& manifests, const Comparison& values) {
  nlohmann::json differences = nlohmann::json::array();
  for (const Difference& one : manifests) {
    differences.push_back({{"path", one.path}, {"was", one.was}, {"is", one.is}});
  }
  nlohmann::json changed = nlohmann::json::array();
  const auto optional = [](const std::optional<double>& value) {
    return value ? json_number(*value) : nlohmann::json();
  };
  const auto spelled = [](const nlohmann::json& value) {
    return value.is_number_float() ? json_number(value.get<double>()) : value;
  };
  for (const Change& one : values.changed) {
    changed.push_back({{"cell", one.cell},
                       {"was", spelled(one.was)},
                       {"is", spelled(one.is)},
                       {"delta", optional(one.delta)},
                       {"stderr", optional(one.standard_error)},
                       {"paired", one.paired}});
  }
  answer({{"manifest", differences},
          {"equal", values.equal},
          {"changed", changed},
          {"only_first", values.only_before},
          {"only_second", values.only_after}});
}

void print_text(const std::vector<Difference>& manifests, const Comparison& values) {
  for (const Difference& one : manifests) {
    fmt::print("manifest  {}\n", difference_text(one));
  }
  const auto text = [](const nlohmann::json& value) {
    return value.is_number() ? fmt::format("{}", value.get<double>()) : std::string("failed");
  };
  for (const Change& one : values.changed) {
    std::string line =
        fmt::format("value     {}: {}, was {}", one.cell, text(one.is), text(one.was));
    if (one.delta) {
      line += fmt::format("; difference {:.3g}", *one.delta);
    }
    if (one.standard_error) {
      line += fmt::format(" ± {:.2g}{}", *one.standard_error, one.paired ? " (paired)" : "");
    }
    fmt::print("{}\n", line);
  }
  for (const std::string& cell : values.only_before) {
    fmt::print("first     {}\n", cell);
  }
  for (const std::string& cell : values.only_after) {
    fmt::print("second    {}\n", cell);
  }
  fmt::print("{} values equal, {} differ, {} only in the first run, {} only in the second\n",
             values.equal, values.changed.size(), values.only_before.size(),
             values.only_after.size());
}

int diff(const DiffOptions& options) {
  const std::string first = folder_with_run(options.before).string();
  const std::string second = folder_with_run(options.after).string();
  const auto before = cells_of(first);
  const auto after = cells_of(second);
  const std::vector<Difference> manifests =
      explain_difference(manifest_of(first), manifest_of(second));
  const Comparison values = compare(before, after);
  (options.json ? answer_diff : print_text)(manifests, values);
  return kExitOk;
}

}  // namespace

void add_diff(CommandLine& line) {
  auto options = std::make_shared<DiffOptions>();
  Verb verb =
      line.verb("diff", "Show the differences between two runs: manifests, then values", "Results");
  verb.examples({"quench diff runs/a runs/b"});
  verb.option("run1", options->before, "Folder of the first run").required();
  verb.option("run2", options->after, "Folder of the second run").required();
  verb.flag("--json", options->json, "Print JSON");
  verb.does([options] { return diff(*options); });
}

}  // namespace quench
