#include "core/store/store.hpp"

#include <system_error>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

void check_key(const std::string& key) {
  if (key.size() != 64 || key.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "store: got key '{}', wanted 64 hexadecimal digits",
         printable(key, 80));
  }
}

bool is_there(const fs::path& path) {
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(path, error));
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: stat failed: {}", path.string(), error.message());
  }
  return there;
}

// Returns true if this call created the file. What a kill leaves of it lies beside the 256 folders,
// where one listing finds it.
bool publish_text(const fs::path& path, const std::string& text) {
  make_folders(path.parent_path());
  AtomicFile file(path, text.size(), nullptr, path.parent_path());
  file.write(text);
  return file.commit_new();
}

}  // namespace

std::vector<Record> read_store_file(const fs::path& path, const std::string& key) {
  nlohmann::json list;
  try {
    list = parse_json(read_sealed_file(path.string(), "records"), path.string());
  } catch (const Error& error) {
    if (error.code() == QUENCH_INVALID_ARGUMENT) {  // invalid JSON under a valid checksum
      throw Error(QUENCH_DATA_LOSS, error.what());
    }
    throw;
  }
  std::vector<Record> out;
  if (list.is_array()) {
    for (nlohmann::json& element : list) {
      out.push_back(record_from_json(std::move(element), path.string()));
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].key != key || out[i].index != i || out[i].count != out.size()) {
      fail(QUENCH_DATA_LOSS, "{}: value {} belongs elsewhere: key {}, index {} of {}",
           path.string(), i, printable(out[i].key, 64), out[i].index, out[i].count);
    }
  }
  if (out.empty()) {
    fail(QUENCH_DATA_LOSS, "{}: holds no records", path.string());
  }
  return out;
}

Store::Store(fs::path home, std::function<void(const std::string&)> log)
    : home_(std::move(home)), log_(std::move(log)) {}

fs::path Store::file_of(const std::string& key, uint64_t generation, const char* extension) const {
  return folder() / key.substr(0, 2) / fmt::format("{}.{}.{}", key, generation, extension);
}

uint64_t Store::generation_of(const std::string& key) const {
  uint64_t generation = 0;
  while (is_there(file_of(key, generation, "forgotten"))) {
    ++generation;
  }
  return generation;
}

std::vector<Record> Store::read(const std::string& key, uint64_t generation) const {
  return read_store_file(file_of(key, generation, "json"), key);
}

std::optional<std::vector<Record>> Store::find(const std::string& key) const {
  if (home_.empty()) {
    return std::nullopt;
  }
  check_key(key);
  try {
    return read(key, generation_of(key));
  } catch (const Error& error) {
    if (error.code() == QUENCH_DATA_LOSS && log_) {
      log_(fmt::format("{}; it is not used", error.what()));
    }
    if (error.code() == QUENCH_DATA_LOSS || error.code() == QUENCH_NOT_FOUND) {
      return std::nullopt;
    }
    throw;
  }
}

void Store::publish(const std::vector<Record>& records) {
  if (home_.empty() || records.empty()) {
    return;
  }
  const std::string& key = records[0].key;
  check_key(key);
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.key != key || record.index != i || record.count != records.size() ||
        !record.error.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "store: incomplete values of an evaluation: value {} of {}", i,
           key);
    }
    list.push_back(to_json(record));
  }
  const std::string text = seal("records", canonical_json(list)) + "\n";
  for (;;) {
    const uint64_t generation = generation_of(key);
    if (publish_text(file_of(key, generation, "json"), text)) {
      return;
    }
    try {
      read(key, generation);
      return;
    } catch (const Error& error) {
      if (error.code() != QUENCH_DATA_LOSS) {
        throw;
      }
      hide(key, generation, error.what());
    }
  }
}

void Store::hide(const std::string& key, uint64_t generation, const std::string& reason) {
  const nlohmann::json stone = {{"schema", 1}, {"key", key}, {"reason", printable(reason, 4096)}};
  publish_text(file_of(key, generation, "forgotten"),
               seal("tombstone", canonical_json(stone)) + "\n");
}

bool Store::forget(const std::string& key, const std::string& reason) {
  if (home_.empty()) {
    return false;
  }
  check_key(key);
  const uint64_t generation = generation_of(key);
  if (!is_there(file_of(key, generation, "json"))) {
    return false;
  }
  hide(key, generation, reason);
  return true;
}

}  // namespace quench
