#include "core/store/tombstones.hpp"

#include <map>
#include <random>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int kTombstoneSchema = 1;

}  // namespace

Tombstones::Tombstones(const fs::path& folder, std::vector<DamagedLine>& damaged) {
  for (const AttemptName& name : find_attempts(folder, "tombstone", ".json")) {
    nlohmann::json stone;
    try {
      stone = parse_json(read_sealed_file(name.path.string(), "tombstone"), name.path.string());
      if (const auto schema = stone.at("schema").get<int>(); schema > kTombstoneSchema) {
        fail(QUENCH_FAILED_PRECONDITION,
             "{}: a newer version wrote this tombstone of schema {}; this one reads up to {}",
             name.path.string(), schema, kTombstoneSchema);
      }
      for (const auto& [key, files] : stone.at("keys").items()) {
        for (const auto& file : files) {
          hidden_.emplace(file.get<std::string>(), key);
        }
      }
    } catch (const Error& error) {
      if (error.code() != QUENCH_DATA_LOSS && error.code() != QUENCH_INVALID_ARGUMENT) {
        throw;
      }
      damaged.push_back({name.path, 0, 0, "the tombstone does not verify"});
    } catch (const nlohmann::json::exception&) {
      damaged.push_back({name.path, 0, 0, "not a tombstone"});
    }
  }
}

bool Tombstones::hides(const std::string& file, std::string_view key) const {
  return any() && hidden_.contains(std::pair(file, std::string(key)));
}

void forget_in_run(const fs::path& folder, const std::vector<std::string>& keys,
                   const std::string& reason) {
  const RunScan scan = scan_run(folder);
  std::map<std::string, std::set<std::string>> files;
  const std::set<std::string, std::less<>> wanted(keys.begin(), keys.end());
  for (const RecordLine& line : scan.lines) {
    if (const auto found = wanted.find(line.key); found != wanted.end() && !line.key.empty()) {
      files[*found].insert(scan.files[line.file].filename().string());
    }
  }
  hide_records(folder, files, reason);
}

void hide_records(const fs::path& folder,
                  const std::map<std::string, std::set<std::string>>& hidden,
                  const std::string& reason) {
  if (hidden.empty()) {
    return;
  }
  const nlohmann::json stone = {{"schema", kTombstoneSchema}, {"keys", hidden}, {"reason", reason}};
  const std::string text = seal("tombstone", canonical_json(stone)) + "\n";
  std::random_device random;
  write_file_atomically(folder / fmt::format("tombstone-{:08x}-{:08x}.json", random(), random()),
                        text);
}

}  // namespace quench
