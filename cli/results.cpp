// quench results RUN...: prints records as a table, CSV or JSON; Python writes them as SQLite,
// Parquet, Markdown and LaTeX (python/quench/tables.py), and as leaderboards and lm-eval have them
// (python/quench/conventions.py).
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/measured_texts.hpp"
#include "cli/python_verb.hpp"
#include "cli/run_folder.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/store/derived.hpp"
#include "core/store/json_members.hpp"
#include "core/store/record.hpp"
#include "core/store/record_columns.hpp"
#include "core/store/selection.hpp"

namespace quench {

namespace {

struct ResultsOptions {
  std::vector<std::string> runs;
  std::string where;
  std::string sqlite;
  std::string parquet;
  std::string eee;
  std::string lm_eval;
  std::string table;
  std::string provenance;
  bool csv = false;
};

// Names the quantized values from which no error is derived.
std::string alone_warning(const std::string& run, const RunScan& scan,
                          const std::vector<size_t>& alone) {
  constexpr size_t kMostNames = 3;
  std::string names;
  for (const size_t i : std::span(alone).first(std::min(alone.size(), kMostNames))) {
    const nlohmann::json record =
        parse_json(scan.lines[i].body, scan.files[scan.lines[i].file].string());
    names += fmt::format("{}{}, {}, {}", names.empty() ? "" : "; ",
                         checkpoint_name(record.at("checkpoint"), record.at("averaging")),
                         quantizer_name(record.at("quantizer"), record.at("draw"),
                                        record.at("jitter"), record.at("checkpoint")),
                         record.at("metric").get_ref<const std::string&>());
  }
  return fmt::format(
      "{}: {} quantized value{} without a float value of the same weights, metric, corpus, "
      "tokenizer, dtype and device, so no error is derived: {}{}",
      run, alone.size(), alone.size() == 1 ? "" : "s", printable(names),
      alone.size() > kMostNames ? "; ..." : "");
}

// Says how many values have a plugin that opened its files by itself, or "".
std::string unchecked_warning(const std::string& run, const RunScan& scan) {
  const auto count = std::count_if(scan.counted.begin(), scan.counted.end(), [&](size_t i) {
    const RecordLine& line = scan.lines[i];
    const std::string_view details = line.field("details");
    if (line.failed || line.index > 0 || details.find(kUncheckedInputs) == std::string_view::npos) {
      return false;
    }
    const nlohmann::json parsed = parse_json(details, scan.files[line.file].string());
    const auto inputs = parsed.find(kInputsDetail);
    return inputs != parsed.end() && *inputs == kUncheckedInputs;
  });
  return count == 0
             ? ""
             : fmt::format(
                   "{}: {} value{} `inputs: unchecked`: a plugin opened its files by itself, "
                   "so no key holds what was read",
                   run, count, count == 1 ? " has" : "s have");
}

// Merges several runs and reports on stderr what does not count.
RunScan scan_runs(const std::vector<std::string>& runs) {
  RunScan all;
  for (const std::string& run : runs) {
    RunScan scan = scan_run(folder_with_run(run));
    if (const std::string line = unchecked_warning(run, scan); !line.empty()) {
      print_warning(line);
    }
    const std::vector<size_t> alone = add_derived(scan);
    if (!alone.empty()) {
      print_warning(alone_warning(run, scan, alone));
    }
    if (!scan.damaged.empty()) {
      print_warning(fmt::format("{}: {} lines do not count; `quench verify {}` lists them", run,
                                scan.damaged.size(), run));
    }
    for (const std::string& key : scan.conflicts) {
      const std::string line =
          fmt::format("{}: two attempts hold different values under key {}", run, key);
      print_error(line);
      answer_warning(line);
    }
    const size_t before = all.lines.size();
    for (RecordLine& line : scan.lines) {
      line.file += static_cast<uint32_t>(all.files.size());
    }
    for (const size_t i : scan.counted) {
      all.counted.push_back(before + i);
    }
    all.lines.insert(all.lines.end(), scan.lines.begin(), scan.lines.end());
    all.files.insert(all.files.end(), scan.files.begin(), scan.files.end());
    all.contents.insert(all.contents.end(), scan.contents.begin(), scan.contents.end());
  }
  return all;
}

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail(QUENCH_FAILED_PRECONDITION, "standard output: writing failed");
  }
}

// Follows RFC 4180: quotes a text with a comma, a quote or a line break, and doubles its quotes. An
// apostrophe keeps a spreadsheet from computing a text that looks like a formula.
void append_csv(std::string_view value, ColumnType type, std::string& out) {
  if (value.empty() || value == "null") {
    return;
  }
  std::string parsed;
  if (value[0] == '"') {
    const std::string_view plain = plain_text(value);
    if (plain.size() + 2 == value.size()) {
      value = plain;
    } else {
      parsed = nlohmann::json::parse(value).get<std::string>();
      value = parsed;
    }
  }
  if (type == ColumnType::kText && value.find_first_of("=+-@\t\r") == 0) {
    parsed = fmt::format("'{}", value);
    value = parsed;
  }
  if (type != ColumnType::kJson && value.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    out.append(c == '"' ? 2 : 1, c);
  }
  out += '"';
}

constexpr size_t kMaxText = 16384;
constexpr size_t kBlockRows = 1024;
constexpr size_t kBlocks = 16;  // blocks at a time; bounds the memory

// Before `metric` stand the columns of the texts.
size_t place_of_metric(const std::vector<RecordColumn>& columns) {
  return static_cast<size_t>(
      std::find_if(columns.begin(), columns.end(),
                   [](const RecordColumn& column) { return column.name == "metric"; }) -
      columns.begin());
}

void append_csv_rows(const RunScan& scan, const std::vector<RecordColumn>& columns,
                     const MeasuredTexts& texts, size_t first, std::span<const size_t> lines,
                     std::string& out) {
  const size_t metric = place_of_metric(columns);
  ColumnReader reader(columns);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& row = reader.read(scan.lines[lines[i]]);
    for (size_t c = 0; c < row.size(); ++c) {
      if (c == metric) {
        for (const std::string& value : texts.of(first + i)) {
          append_csv(nlohmann::json(value).dump(), ColumnType::kText, out);
          out += ',';
        }
      }
      append_csv(row[c], columns[c].type, out);
      out += c + 1 < row.size() ? "," : "\r\n";
    }
  }
}

void write_csv(const RunScan& scan, const std::vector<size_t>& lines) {
  const std::vector<RecordColumn> columns = columns_of(scan, lines);
  const MeasuredTexts texts(scan, lines);
  std::string out;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c == place_of_metric(columns)) {
      for (const std::string& title : texts.titles()) {
        out += ",";
        append_csv("text." + title, ColumnType::kText, out);
      }
    }
    out += out.empty() ? "" : ",";
    append_csv(columns[c].name, ColumnType::kText, out);
  }
  out += "\r\n";
  write_out(out);
  // Formats blocks of rows in parallel and writes them in order.
  for (size_t first = 0; first < lines.size(); first += kBlocks * kBlockRows) {
    std::vector<std::string> blocks(kBlocks);
    tbb::parallel_for(size_t{0}, kBlocks, [&](size_t b) {
      const size_t begin = std::min(lines.size(), first + b * kBlockRows);
      const size_t end = std::min(lines.size(), begin + kBlockRows);
      append_csv_rows(scan, columns, texts, begin, std::span(lines).subspan(begin, end - begin),
                      blocks[b]);
    });
    for (const std::string& block : blocks) {
      write_out(block);
    }
  }
}

// Writes canonical JSON, unchanged from the files; where values of a metric were measured on
// different texts, each has a member `text` more, {"block": "128"}.
void write_json(const RunScan& scan, const std::vector<size_t>& lines) {
  const MeasuredTexts texts(scan, lines);
  begin_answer_data();
  std::string out = "{\"records\": [";
  for (size_t i = 0; i < lines.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    std::string_view body = scan.lines[lines[i]].body;
    if (nlohmann::json text; !texts.titles().empty()) {
      for (size_t t = 0; t < texts.titles().size(); ++t) {
        text[texts.titles()[t]] = texts.of(i)[t];
      }
      body.remove_suffix(1);
      out += fmt::format("{},\"text\":{}}}", body, text.dump());
    } else {
      out += body;
    }
    if (out.size() > (size_t{1} << 20)) {
      write_out(out);
      out.clear();
    }
  }
  write_out(out + "\n ]}");
}

void write_table(const RunScan& scan, const std::vector<size_t>& lines) {
  std::vector<TableEntry> entries(lines.size());
  const std::vector<size_t> measured = measured_lines(scan, lines);
  tbb::parallel_for(tbb::blocked_range<size_t>(0, lines.size(), 8 * kBlockRows),
                    [&](const tbb::blocked_range<size_t>& range) {
                      TableReader reader;
                      for (size_t i = range.begin(); i < range.end(); ++i) {
                        const RecordLine& line = scan.lines[lines[i]];
                        const std::string where = scan.files[line.file].string();
                        entries[i] = reader.read(line, where);
                        entries[i].measured_on = reader.measured_on(scan.lines[measured[i]], where);
                      }
                    });
  write_out(records_table(entries, output_columns()));
}

// Hands the records to Python, a line each, in the order of their rows. Behind a derived value, and
// a tab, stands what says on what its metric measured.
int write_in_python(const PythonVerb& verb, const RunScan& scan, const std::vector<size_t>& lines,
                    const Context& context) {
  MemoryFile records;
  std::string text;
  const std::vector<size_t> measured = measured_lines(scan, lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    text += scan.lines[lines[i]].body;
    if (measured[i] != lines[i]) {
      const RecordLine& from = scan.lines[measured[i]];
      const std::string_view parts = from.field("parts");
      text += fmt::format("\t{{\"details\":{},\"parts\":{}}}", from.field("details"),
                          parts.empty() ? "null" : parts);
    }
    text += '\n';
    if (text.size() > (size_t{1} << 20)) {
      records.write(text);
      text.clear();
    }
  }
  records.write(text);
  return run_python(verb, context, &records);
}

void write_value(const std::string& name, const nlohmann::json& value, int depth) {
  if (value.is_object() && !value.empty()) {
    fmt::print("{:{}}{}\n", "", depth * 2, name);
    for (const auto& [member, inner] : value.items()) {
      write_value(member, inner, depth + 1);
    }
  } else if (!value.is_null()) {
    fmt::print("{:{}}{:<{}}  {}\n", "", depth * 2, name, 24 - std::min(depth * 2, 20),
               printable(value.is_string() ? value.get<std::string>() : value.dump(), kMaxText));
  }
}

// Prints inputs, versions and hashes of one evaluation, as text for an appendix.
void write_provenance(const RunScan& scan, const std::vector<size_t>& lines,
                      const std::string& cell) {
  size_t found = 0;
  const bool is_key =
      cell.size() >= 6 && cell.find_first_not_of("0123456789abcdef") == std::string::npos;
  const Selection selection = as_usage([&] { return Selection(is_key ? "" : cell); });
  as_usage([&] { selection.check_fields(scan); });
  for (const size_t i : lines) {
    const RecordLine& line = scan.lines[i];
    if (is_key ? !line.key.starts_with(cell) : !selection.matches(line)) {
      continue;
    }
    const nlohmann::json record = parse_json(line.body, scan.files[line.file].string());
    fmt::print("{}{}\n", found++ == 0 ? "" : "\n", record.value("metric", ""));
    for (const char* name :
         {"value", "stderr", "unit", "error", "key", "checkpoint", "averaging", "quantizer", "draw",
          "jitter", "label", "parts", "environment", "cached", "job"}) {
      write_value(name, record.value(name, nlohmann::json()), 1);
    }
    fmt::print("  {:<22}  {}:{}\n", "file", scan.files[line.file].string(), line.line);
  }
  if (found == 0) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("no record is selected by '{}'; wanted the first "
                                 "digits of a key, or a selection",
                                 printable(cell)));
  }
}

int results(const ResultsOptions& options, const Context& context) {
  const Selection selection = as_usage([&] { return Selection(options.where); });
  const RunScan scan = scan_runs(options.runs);
  as_usage([&] { selection.check_fields(scan); });
  std::vector<size_t> lines;
  for (const size_t i : scan.counted) {
    if (selection.matches(scan.lines[i])) {
      lines.push_back(i);
    }
  }
  if (lines.empty() && !scan.counted.empty() && options.provenance.empty()) {
    const std::string near = selection.near_value(scan);
    print_warning(fmt::format("--where '{}': no record matches, of {}{}",
                              printable(options.where, kMaxText), scan.counted.size(),
                              near.empty() ? "" : "; did you mean " + printable(near) + "?"));
  }
  sort_records(scan, lines);
  if (!options.provenance.empty()) {
    write_provenance(scan, lines, options.provenance);
  } else if (!options.sqlite.empty()) {
    return write_in_python({"tables", {"--sqlite=" + options.sqlite}}, scan, lines, context);
  } else if (!options.parquet.empty()) {
    return write_in_python({"tables", {"--parquet=" + options.parquet}, {"pyarrow"}}, scan, lines,
                           context);
  } else if (!options.eee.empty()) {
    return write_in_python({"conventions", {"--eee=" + options.eee}}, scan, lines, context);
  } else if (!options.lm_eval.empty()) {
    return write_in_python({"conventions", {"--lm-eval=" + options.lm_eval}}, scan, lines, context);
  } else if (options.table == "md" || options.table == "latex") {
    return write_in_python({"tables", {"--table=" + options.table}}, scan, lines, context);
  } else if (options.csv) {
    write_csv(scan, lines);
  } else if (answers()) {
    write_json(scan, lines);
  } else {
    write_table(scan, lines);
  }
  return kExitOk;
}

}  // namespace

void add_results(Verb& verb, Context& context) {
  auto options = std::make_shared<ResultsOptions>();
  verb.examples({"quench results runs/m --where \"quantizer.id=gptq and step>=600\"",
                 "quench results runs/m --csv > m.csv",
                 "quench results runs/a runs/b --sqlite runs.db"});
  verb.option("run", options->runs, "Folder of a run, or its name below runs/; repeatable")
      .required();
  verb.option("--where", options->where,
              "Only these records: \"quantizer.id=x and step>=600 and metric=quantization_error\"")
      .placeholder("EXPR");
  const Option csv = verb.flag("--csv", options->csv, "Print comma-separated values");
  const Option json = verb.json("Print records as JSON");
  const Option sqlite =
      verb.option("--sqlite", options->sqlite, "Write a database").placeholder("FILE");
  const Option parquet =
      verb.option("--parquet", options->parquet, "Write a Parquet file").placeholder("FILE");
  const Option eee =
      verb.option("--eee", options->eee, "Write a file of Every Eval Ever for each model")
          .placeholder("DIR");
  const Option lm_eval =
      verb.option("--lm-eval", options->lm_eval, "Write results as lm-eval does for each model")
          .placeholder("DIR");
  const Option table = verb.option("--table", options->table, "Print a table: md or latex")
                           .one_of({"md", "latex", "text"});
  const Option provenance =
      verb.option("--provenance", options->provenance,
                  "Print inputs, versions and hashes of a cell: a key's first digits, or a "
                  "selection")
          .placeholder("CELL");
  verb.exclusive({csv, json, sqlite, parquet, eee, lm_eval, table, provenance});
  verb.does([&context, options] { return results(*options, context); });
}

}  // namespace quench
