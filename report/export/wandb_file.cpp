#include "report/export/wandb_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/sha256.hpp"
#include "report/export/protobuf.hpp"
#include "report/export/wandb_log.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

// Fields of Record that hold its content.
enum Content : uint32_t {
  kHistory = 2,
  kSummary = 3,
  kRun = 17,
  kExit = 18,
  kFinal = 20,
  kHeader = 21
};

// Appends records in order: num = 1, then the content.
class Records {
 public:
  void add(Content field, const std::string& content) {
    std::string record;
    append_integer_field(1, static_cast<int64_t>(records_.size() + 1), record);
    append_bytes_field(field, content, record);
    records_.push_back(std::move(record));
  }
  std::string file() const { return wandb_log(records_); }

 private:
  std::vector<std::string> records_;
};

// Writes a number as Python's json does, which the client reads.
std::string number_text(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  return std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity") : json(value).dump();
}

// For history and summary: nested_key = 2 (each a part of a path), value_json = 16; the message is
// field 1 of both. Writes a single part, so that a dot in a tag does not make a path.
void append_item(const std::string& tag, const std::string& value, std::string& message) {
  std::string item;
  append_bytes_field(2, tag, item);
  append_bytes_field(16, value, item);
  append_bytes_field(1, item, message);
}

// HeaderRecord: version_info = 1. VersionInfo: producer = 1.
std::string header() {
  std::string version;
  append_bytes_field(1, "quench", version);
  std::string out;
  append_bytes_field(1, version, out);
  return out;
}

// RunRecord: run_id = 1, project = 3, config = 4, display_name = 8, start_time = 17. ConfigRecord:
// update = 1. ConfigItem: key = 1, value_json = 16. An empty start_time is 0.
std::string run(const std::string& project, const TrackedLine& line) {
  std::string config;
  for (const auto& [key, value] : line.about.items()) {
    std::string item;
    append_bytes_field(1, key, item);
    append_bytes_field(16, value.dump(-1, ' ', false, json::error_handler_t::replace), item);
    append_bytes_field(1, item, config);
  }
  std::string out;
  append_bytes_field(1, wandb_run_id(project, line.name), out);
  append_bytes_field(3, project, out);
  append_bytes_field(4, config, out);
  append_bytes_field(8, line.name, out);
  append_bytes_field(17, "", out);
  return out;
}

// HistoryRecord: item = 1, step = 2. HistoryStep: num = 1.
std::string history(int64_t step, const std::map<std::string, double>& values) {
  std::string out;
  for (const auto& [tag, value] : values) {
    append_item(tag, number_text(value), out);
  }
  append_item("_step", std::to_string(step), out);
  append_item("_timestamp", "0", out);
  append_item("_runtime", "0", out);
  std::string number;
  append_integer_field(1, step, number);
  append_bytes_field(2, number, out);
  return out;
}

// A project's name has at most 128 characters and none of these.
std::string project_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return std::string("/\\#?%:").find(c) != std::string::npos ||
               static_cast<unsigned char>(c) < ' ';
      },
      '_');
  return printable(name, 128);
}

bool has_content(const fs::path& path, const std::string& content) {
  std::error_code error;
  if (fs::file_size(path, error) != content.size() || error) {
    return false;
  }
  std::ifstream in(path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()} ==
         content;
}

// Removes the mark that the client leaves beside a file it has sent.
void forget_mark(const fs::path& mark) {
  std::error_code error;
  fs::remove(mark, error);
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be removed: {}", mark.string(), error.message());
  }
}

}  // namespace

std::string wandb_run_id(const std::string& project, const std::string& line) {
  return sha256_hex(json{{"line", line}, {"project", project}}.dump(-1, ' ', false,
                                                                    json::error_handler_t::replace))
      .substr(0, 16);
}

std::string wandb_file(const std::string& project, const TrackedLine& line) {
  std::map<int64_t, std::map<std::string, double>> rows;
  std::map<std::string, std::pair<int64_t, double>> last;
  for (const TrackedPoint& point : line.points) {
    rows[point.step][point.tag] = point.value;
    const auto latest = last.try_emplace(point.tag, point.step, point.value).first;
    if (point.step > latest->second.first) {
      latest->second = {point.step, point.value};
    }
  }
  Records records;
  records.add(kHeader, header());
  records.add(kRun, run(project, line));
  for (const auto& [step, values] : rows) {
    records.add(kHistory, history(step, values));
  }
  std::string summary;
  for (const auto& [tag, latest] : last) {
    append_item(tag, number_text(latest.second), summary);
  }
  if (!rows.empty()) {
    append_item("_step", std::to_string(rows.rbegin()->first), summary);
  }
  records.add(kSummary, summary);
  records.add(kExit, "");   // with code 0
  records.add(kFinal, "");  // ends the run for older clients
  return records.file();
}

WandbOutcome export_to_wandb(const fs::path& folder, const std::string& project_text,
                             const std::vector<TrackedLine>& lines) {
  const std::string project = project_name(project_text);
  WandbOutcome out;
  for (const TrackedLine& line : lines) {
    const std::string id = wandb_run_id(project, line.name);
    const fs::path below = folder / ("offline-run-19700101_000000-" + id);
    const fs::path path = below / ("run-" + id + ".wandb");
    const std::string content = wandb_file(project, line);
    if (has_content(path, content)) {
      ++out.unchanged;
      continue;
    }
    make_folders(below / "files");  // where the client puts what it extracts from the file
    for (const char* mark : {".synced", ".syncstate"}) {
      forget_mark(path.string() + mark);
    }
    write_file_atomically(path, content);
    ++out.written;
  }
  return out;
}

}  // namespace quench
