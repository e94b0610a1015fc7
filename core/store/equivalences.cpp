#include "core/store/equivalences.hpp"

#include <set>
#include <system_error>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int kEquivalencesSchema = 2;

// {"build_id": "...", ...}
bool is_code(const nlohmann::json& code) {
  return code.is_object() && !code.empty();
}

// Schema 1 had the SHA-256 of the file alone.
nlohmann::json code_from(const nlohmann::json& document) {
  return document.is_string() ? nlohmann::json{{"sha256", document}} : document;
}

Equivalence read(const fs::path& path) {
  const nlohmann::json document =
      parse_json(read_sealed_file(path.string(), "equivalence"), path.string());
  if (document.at("schema").get<int>() > kEquivalencesSchema) {
    fail(QUENCH_DATA_LOSS, "{}: a newer version wrote it", path.string());
  }
  Equivalence out{document.at("kind"),           document.at("id"),
                  code_from(document.at("old")), code_from(document.at("new")),
                  document.at("reason"),         document.at("evidence")};
  if (!is_code(out.old_code) || !is_code(out.new_code)) {
    fail(QUENCH_DATA_LOSS, "{}: not two builds", path.string());
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
      damaged_.push_back(file.string() + ": is not an equivalence");
    }
  }
  connect();
}

// The canonical build of an equivalent set is the oldest: the one that is never the new one. If
// several or none qualify (two builds adopted in both directions), it is the one with the least
// hash. So the answer depends on what is known, not on the order of learning it.
void Equivalences::connect() {
  std::map<std::string, std::set<std::string>> neighbours;
  std::set<std::string> newer;
  for (const Equivalence& one : all_) {
    const std::string before = canonical_json(one.old_code);
    const std::string after = canonical_json(one.new_code);
    neighbours[before].insert(after);
    neighbours[after].insert(before);
    newer.insert(after);
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
  if (!is_code(equivalence.old_code) || !is_code(equivalence.new_code)) {
    fail(QUENCH_INVALID_ARGUMENT, "equivalence of {} {}: {} and {}, wanted two objects of names",
         equivalence.kind, equivalence.id, printable(equivalence.old_code.dump(), 80),
         printable(equivalence.new_code.dump(), 80));
  }
  const std::string body = canonical_json({{"schema", kEquivalencesSchema},
                                           {"kind", equivalence.kind},
                                           {"id", equivalence.id},
                                           {"old", equivalence.old_code},
                                           {"new", equivalence.new_code},
                                           {"reason", equivalence.reason},
                                           {"evidence", equivalence.evidence}});
  const fs::path folder = home_ / "equivalences";
  make_folders(folder);
  AtomicFile file(folder / (sha256_hex(body) + ".json"));
  file.write(seal("equivalence", body) + "\n");
  file.commit_new();
  assume(equivalence);
}

void Equivalences::assume(const Equivalence& equivalence) {
  all_.push_back(equivalence);
  connect();
}

nlohmann::json Equivalences::canonical_code(const nlohmann::json& code) const {
  if (canonical_.empty()) {
    return code;
  }
  const auto found = canonical_.find(canonical_json(code));
  return found == canonical_.end() ? code : parse_json(found->second, "code");
}

}  // namespace quench
