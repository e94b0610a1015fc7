#include "metrics/tasks/data_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "shared/shards/shards.hpp"

namespace quench::tasks {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxJsonBytes = uint64_t{256} << 20;

// File endings and the corpus plugin that reads each. If a split exists with several endings, the
// first ending here wins: all of them hold the same records.
struct Format {
  std::string_view ending;
  const char* reader;
};
constexpr std::array<Format, 5> kFormats = {{{".parquet", "arrow"},
                                             {".arrow", "arrow"},
                                             {".jsonl", "jsonl"},
                                             {".jsonl.gz", "jsonl"},
                                             {".json", ""}}};

std::string reader_of(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name.ends_with(format.ending)) {
      return format.reader;
    }
  }
  return "";
}

// Names in `folder` that begin with `start`, without save_to_disk's own files. Includes dangling
// links, so that opening one reports the fault. A folder that is there and cannot be listed throws:
// it is not one without files.
std::vector<std::string> names_in(const fs::path& folder, const std::string& start) {
  std::vector<std::string> out;
  if (!fs::is_directory(folder)) {
    return out;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && !entry.is_directory() && !name.ends_with("dataset_info.json") &&
        !name.ends_with("state.json")) {
      out.push_back(name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The files of `folder` that begin with `start` and that some plugin reads, ordered by name.
std::vector<SplitFile> files_in(const fs::path& folder, const std::string& start) {
  const std::vector<std::string> names = names_in(folder, start);
  for (const Format& format : kFormats) {
    std::vector<SplitFile> out;
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      if (name.ends_with(format.ending)) {
        paths.push_back((folder / name).string());
        out.push_back({paths.back(), format.reader});
      }
    }
    if (!out.empty()) {
      check_shards(paths);
      return out;
    }
  }
  return {};
}

// Finds a split below a data set's folder, in any of the usual layouts of data sets.
std::vector<SplitFile> split_in(const fs::path& folder, const std::string& split) {
  if (fs::exists(folder / split / "state.json")) {  // save_to_disk
    return {{(folder / split).string(), "arrow"}};
  }
  for (const auto& found : {files_in(folder / split, ""), files_in(folder, split + "."),
                            files_in(folder, split + "-")}) {
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

std::string repository_of(const Definition& task) {
  return "hf://datasets/" + task.data.hub;
}

// The folders that may hold the data set's splits. `missing`: why the cache lacks what it lacks;
// `absent`: for no other reason than that it was not fetched.
std::vector<fs::path> folders_of(const Definition& task, const std::string& data,
                                 const kit::RecordHost& host, std::string& missing, bool& absent) {
  std::vector<fs::path> out;
  if (!data.empty()) {
    for (const std::string& path : task.data.paths) {
      out.push_back(fs::path(data) / path);
      out.push_back(fs::path(data) / path / "data");  // a repository of the hub, unchanged
    }
    return out;
  }
  const std::string repository = repository_of(task);
  for (const std::string& location : {repository, repository + "@refs/convert/parquet"}) {
    try {
      const fs::path root = host.locate(location);
      out.push_back(root / task.data.config);
      out.push_back(root / "data");
      out.push_back(root);
    } catch (const kit::Error& error) {
      missing += (missing.empty() ? "" : "; ") + std::string(error.what());
      absent = absent && error.code() == QUENCH_NOT_FOUND;
    }
  }
  return out;
}

std::unique_ptr<kit::Json> parsed(std::string_view text, const std::string& where) {
  try {
    return std::make_unique<kit::Json>(text.data(), text.size());
  } catch (const kit::Error& error) {
    throw kit::Error(error.code() == QUENCH_RESOURCE_EXHAUSTED ? error.code() : QUENCH_DATA_LOSS,
                     where + ": not JSON: " + error.what());
  }
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

// Whether a .json file holds one record per line: its first line is an object, and more than white
// space follows it.
bool is_json_lines(std::string_view text) {
  const std::string_view first = first_line(text);
  if (text.find_first_not_of(" \t\r\n", first.size()) == std::string_view::npos) {
    return false;
  }
  try {
    return kit::Json(first.data(), first.size()).type("") == QUENCH_JSON_OBJECT;
  } catch (const kit::Error&) {
    return false;
  }
}

std::vector<std::string> lines_of(std::string_view text, const std::string& path) {
  std::vector<std::string> out;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = first_line(text);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    const std::string where = path + ":" + std::to_string(number);
    if (parsed(line, where)->type("") != QUENCH_JSON_OBJECT) {
      throw kit::Error(QUENCH_DATA_LOSS, where + ": wanted an object");
    }
    out.emplace_back(line);
  }
  return out;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

}  // namespace

Split find_split(const Definition& task, const std::vector<std::string>& names,
                 const std::string& data, const kit::RecordHost& host) {
  std::string missing;
  bool absent = true;
  const std::vector<fs::path> folders = folders_of(task, data, host, missing, absent);
  for (const std::string& name : names) {
    for (const fs::path& folder : folders) {
      const std::vector<SplitFile> files = split_in(folder, name);
      if (!files.empty()) {
        return {name, files};
      }
    }
    const auto single = task.data.files.find(name);
    for (const std::string& file :
         single != task.data.files.end() ? single->second : std::vector<std::string>()) {
      const fs::path path = fs::path(data) / file;
      std::error_code error;
      if (!data.empty() && fs::is_regular_file(path, error)) {
        return {name, {{path.string(), reader_of(file)}}};
      }
    }
  }
  if (data.empty() && folders.empty() && absent) {
    throw kit::Error(QUENCH_NOT_FOUND, "task " + task.name +
                                           ": its data is not in the cache; get it with: quench "
                                           "fetch " +
                                           repository_of(task));
  }
  std::vector<std::string> places;
  if (data.empty()) {
    for (const fs::path& folder : folders) {
      places.push_back(folder.string());
    }
  } else {
    for (const std::string& path : task.data.paths) {
      places.push_back((fs::path(data) / path).string());
    }
  }
  throw kit::Error(QUENCH_NOT_FOUND, "task " + task.name + ": no split " + list_of(names) +
                                         (places.empty() ? "" : " below " + list_of(places)) +
                                         (missing.empty() ? "" : " (" + missing + ")"));
}

std::vector<std::string> json_records(const std::string& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);  // fails for a pipe, whose opening would block
  std::ifstream file;
  if (!error && size <= kMaxJsonBytes) {
    file.open(path, std::ios::binary);
  }
  if (!file.is_open()) {
    throw kit::Error(QUENCH_DATA_LOSS, path + ": cannot be read, or is larger than 256 MiB");
  }
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (is_json_lines(text)) {
    return lines_of(text, path);
  }
  // The start and end of a record, an object at the second level. The host's strict reader parses
  // the whole file first, so the text that follows is well-formed.
  const std::unique_ptr<kit::Json> whole = parsed(text, path);
  const int32_t type = whole->type("");
  if (type != QUENCH_JSON_OBJECT && type != QUENCH_JSON_ARRAY) {
    throw kit::Error(QUENCH_DATA_LOSS, path + ": wanted a list or an object of records");
  }
  std::vector<std::string> out;
  int depth = 0;
  bool quoted = false;
  size_t first = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      at += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth == 2) {
        first = at;
      }
    } else if (c == '}' || c == ']') {
      if (depth-- == 2 && c == '}') {
        out.push_back(text.substr(first, at + 1 - first));
      }
    }
  }
  const size_t members = type == QUENCH_JSON_ARRAY ? whole->size("") : whole->keys("").size();
  if (out.size() != members) {
    throw kit::Error(QUENCH_DATA_LOSS, path + ": wanted records, got " +
                                           std::to_string(members - out.size()) +
                                           " members that are not objects");
  }
  return out;
}

}  // namespace quench::tasks
