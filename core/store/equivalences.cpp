#include "core/store/equivalences.hpp"

#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/parse_json.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Equivalence read(const fs::path& path) {
  const nlohmann::json json =
      parse_json(read_sealed_file(path.string(), "equivalence"), path.string());
  if (json.at("schema").get<int>() > 1) {
    fail(QUENCH_DATA_LOSS, "{}: written by a newer version", path.string());
  }
  Equivalence out{json.at("kind"), json.at("id"),     json.at("old"),
                  json.at("new"),  json.at("reason"), json.at("evidence")};
  if (!is_hash(out.old_sha256) || !is_hash(out.new_sha256)) {
    fail(QUENCH_DATA_LOSS, "{}: not two hashes", path.string());
  }
  return out;
}

}  // namespace

Equivalences::Equivalences(fs::path home) : home_(std::move(home)) {
  if (home_.empty()) {
    return;
  }
  std::error_code error;
  fs::directory_iterator entries(home_ / "equivalences", error);
  std::set<fs::path> files;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() == ".json") {
      files.insert(entries->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", (home_ / "equivalences").string(),
         error.message());
  }
  for (const fs::path& file : files) {
    try {
      all_.push_back(read(file));
    } catch (const Error& fault) {
      damaged_.emplace_back(fault.what());
    } catch (const nlohmann::json::exception&) {
      damaged_.push_back(file.string() + ": not an equivalence");
    }
  }
  connect();
}

// The oldest of a set of equivalent builds is the one that is never the new one; where there are
// several, or none (two builds adopted in both directions), the least hash. So the answer depends
// on what is known and not on the order in which it became known.
void Equivalences::connect() {
  std::map<std::string, std::set<std::string>> neighbours;
  std::set<std::string> newer;
  for (const Equivalence& one : all_) {
    neighbours[one.old_sha256].insert(one.new_sha256);
    neighbours[one.new_sha256].insert(one.old_sha256);
    newer.insert(one.new_sha256);
  }
  canonical_.clear();
  for (const auto& [start, others] : neighbours) {
    if (canonical_.contains(start)) {
      continue;
    }
    std::set<std::string> reached = {start};
    std::vector<std::string> waiting = {start};
    while (!waiting.empty()) {
      const std::string hash = std::move(waiting.back());
      waiting.pop_back();
      for (const std::string& next : neighbours.at(hash)) {
        if (reached.insert(next).second) {
          waiting.push_back(next);
        }
      }
    }
    std::string oldest;
    for (const std::string& hash : reached) {
      if (oldest.empty() && !newer.contains(hash)) {
        oldest = hash;
      }
    }
    for (const std::string& hash : reached) {
      canonical_[hash] = oldest.empty() ? *reached.begin() : oldest;
    }
  }
}

void Equivalences::add(const Equivalence& equivalence) {
  if (!is_hash(equivalence.old_sha256) || !is_hash(equivalence.new_sha256)) {
    fail(QUENCH_INVALID_ARGUMENT, "equivalence of {} {}: '{}' and '{}', wanted two SHA-256 hashes",
         equivalence.kind, equivalence.id, printable(equivalence.old_sha256, 80),
         printable(equivalence.new_sha256, 80));
  }
  const std::string body = canonical_json({{"schema", 1},
                                           {"kind", equivalence.kind},
                                           {"id", equivalence.id},
                                           {"old", equivalence.old_sha256},
                                           {"new", equivalence.new_sha256},
                                           {"reason", equivalence.reason},
                                           {"evidence", equivalence.evidence}});
  const fs::path folder = home_ / "equivalences";
  make_folders(folder);
  AtomicFile file(folder / (sha256_hex(body) + ".json"));
  file.write(seal("equivalence", body) + "\n");
  file.commit_new();
  all_.push_back(equivalence);
  connect();
}

std::string Equivalences::canonical_plugin_hash(const std::string& sha256) const {
  const auto found = canonical_.find(sha256);
  return found == canonical_.end() ? sha256 : found->second;
}

}  // namespace quench
