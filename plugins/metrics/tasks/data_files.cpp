#include "metrics/tasks/data_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace quench::tasks {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxJsonBytes = uint64_t{256} << 20;

// The corpus plugin for a file's name, or nothing.
std::optional<std::string> reader_of(const std::string& name) {
  const auto ends = [&](const char* suffix) { return name.ends_with(suffix); };
  if (ends(".arrow") || ends(".parquet")) {
    return "arrow";
  }
  if (ends(".jsonl") || ends(".jsonl.gz")) {
    return "jsonl";
  }
  return ends(".json") ? std::optional<std::string>("") : std::nullopt;
}

// Files of `folder` that begin with `start` and that something reads, sorted.
std::vector<SplitFile> files_in(const fs::path& folder, const std::string& start) {
  std::vector<SplitFile> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::optional<std::string> reader = reader_of(name);
    if (name.starts_with(start) && reader && entry.is_regular_file(error) &&
        !name.ends_with("dataset_info.json") && !name.ends_with("state.json")) {
      out.push_back({entry.path().string(), *reader});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const SplitFile& a, const SplitFile& b) { return a.path < b.path; });
  return out;
}

// A split below a data set's folder, in any of the layouts in which data sets are kept.
std::vector<SplitFile> split_in(const fs::path& folder, const std::string& split) {
  std::error_code error;
  if (fs::exists(folder / split / "state.json", error)) {  // save_to_disk
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

// The folders that may hold the data set's splits.
std::vector<fs::path> folders_of(const Definition& task, const std::string& data,
                                 const kit::RecordHost& host, std::string& missing) {
  std::vector<fs::path> out;
  if (!data.empty()) {
    for (const std::string& path : task.data.paths) {
      out.push_back(fs::path(data) / path);
    }
    return out;
  }
  const std::string repository = "hf://datasets/" + task.data.hub;
  for (const std::string& location : {repository, repository + "@refs/convert/parquet"}) {
    try {
      const fs::path root = host.locate(location);
      out.push_back(root / task.data.config);
      out.push_back(root / "data");
      out.push_back(root);
    } catch (const kit::Error& error) {
      missing += (missing.empty() ? "" : "; ") + std::string(error.what());
    }
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
  const std::vector<fs::path> folders = folders_of(task, data, host, missing);
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
        return {name, {{path.string(), reader_of(file).value_or("")}}};
      }
    }
  }
  std::vector<std::string> places;
  for (const fs::path& folder : folders) {
    places.push_back(folder.string());
  }
  throw kit::Error(QUENCH_NOT_FOUND, "task " + task.name + ": no split " + list_of(names) +
                                         (places.empty() ? "" : " below " + list_of(places)) +
                                         (missing.empty() ? "" : " (" + missing + ")"));
}

std::vector<std::string> json_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (!file || error || size > kMaxJsonBytes) {
    throw kit::Error(QUENCH_DATA_LOSS, path + ": cannot be read, or is larger than 256 MiB");
  }
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  std::vector<std::string> out;
  // Where a record, an object of the second level, begins and ends. The whole is parsed by the
  // host's strict reader first, so what follows is well-formed.
  const kit::Json whole(text.data(), text.size());
  if (whole.type("") != QUENCH_JSON_OBJECT && whole.type("") != QUENCH_JSON_ARRAY) {
    throw kit::Error(QUENCH_DATA_LOSS, path + ": wanted a list or an object of records");
  }
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
      if (depth-- == 2) {
        out.push_back(text.substr(first, at + 1 - first));
      }
    }
  }
  return out;
}

}  // namespace quench::tasks
