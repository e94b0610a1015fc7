#include "core/store/claims.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLargestClaim = 1 << 16;
constexpr size_t kNameDigits = 16;

fs::path file_of(const fs::path& stem, uint64_t generation, const char* ending) {
  return fmt::format("{}.{}.{}", stem.string(), generation, ending);
}

// Opens it: on a network file system, stat may tell what was true some time ago.
bool is_there(const fs::path& path) {
  return std::ifstream(path).good();
}

// Returns true if this call created the file.
bool publish(const fs::path& path, const nlohmann::json& content) {
  const std::string text =
      sealed_file_text(path.string(), "claim", canonical_json(content), kLargestClaim);
  AtomicFile file(path, text.size());
  file.write(text);
  return file.commit_new();
}

struct ReadClaim {
  ClaimOwner owner;
  ProcessIdentity process;
};

// Nothing if it is none: what is claimed is asked before it is written and after it was read.
std::optional<ReadClaim> claim_from(const nlohmann::json& json) {
  try {
    const auto process = identity_from(json.at("process").get_ref<const std::string&>());
    for (const char* name : {"job", "attempt"}) {  // they become the name of a file
      if (!process || json.at(name).get<std::string>().find('/') != std::string::npos) {
        return std::nullopt;
      }
    }
    return ReadClaim{{json.at("job").get<std::string>(), json.at("attempt").get<std::string>(),
                      json.at("host").get<std::string>()},
                     *process};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// Nothing if the file is damaged or not visible yet.
std::optional<ReadClaim> read_claim(const fs::path& path) {
  try {
    const nlohmann::json json =
        parse_json(read_sealed_file(path.string(), "claim", kLargestClaim), path.string());
    return claim_from(json);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Claim::Claim(fs::path stem, uint64_t generation, std::vector<ClaimOwner> earlier)
    : stem_(std::move(stem)), generation_(generation), earlier_(std::move(earlier)) {}

Claim::Claim(Claim&& other) noexcept
    : stem_(std::exchange(other.stem_, {})),
      generation_(other.generation_),
      earlier_(std::move(other.earlier_)) {}

Claim::~Claim() {
  if (stem_.empty()) {
    return;
  }
  try {
    publish(file_of(stem_, generation_, "released"), nlohmann::json::object());
  } catch (const std::exception&) {  // the others find out when this process has ended
  }
}

bool Claim::held() const {
  return !is_there(file_of(stem_, generation_ + 1, "claim"));
}

Claims::Claims(fs::path folder, std::string job, std::string attempt, Clock::duration lease,
               Log log)
    : folder_(std::move(folder)),
      job_(std::move(job)),
      attempt_(std::move(attempt)),
      lease_(lease),
      log_(std::move(log)) {}

fs::path Claims::stem_of(const std::string& work) const {
  return folder_ / "claims" / sha256_hex(work).substr(0, kNameDigits);
}

std::string Claims::why_gone(const fs::path& claim, const ClaimOwner& owner,
                             Clock::time_point now) {
  const std::optional<ReadClaim> read = read_claim(claim);
  const std::optional<HeartbeatState> state =
      read ? read_heartbeat(folder_, owner.job, owner.attempt) : std::nullopt;
  // A claim that cannot be read has no status to look at, and its time begins now.
  const Life life = read ? watch_.look(owner.job + "-" + owner.attempt, read->process,
                                       state ? state->sequence : 0, now)
                         : watch_.look(claim.string(), std::nullopt, 0, now);
  if (life.runs == false) {
    return "its process is gone";
  }
  if (state && state->state != "running") {
    return "it has ended";
  }
  return life.silence > lease_ ? "it has shown no sign of life" : "";
}

Claims::State Claims::look(const fs::path& stem, Clock::time_point now) {
  State out;
  while (is_there(file_of(stem, out.next, "claim"))) {
    const auto read = read_claim(file_of(stem, out.next, "claim"));
    out.owners.push_back(read ? read->owner : ClaimOwner());
    ++out.next;
  }
  if (out.next > 0 && !is_there(file_of(stem, out.next - 1, "released"))) {
    out.gone = why_gone(file_of(stem, out.next - 1, "claim"), out.owners.back(), now);
    out.taken = out.gone.empty();
  }
  return out;
}

bool Claims::is_taken(const std::string& work, Clock::time_point now) {
  return look(stem_of(work), now).taken;
}

std::optional<Claim> Claims::take(const std::string& work, Clock::time_point now) {
  const fs::path stem = stem_of(work);
  make_folders(stem.parent_path());
  State state = look(stem, now);
  if (state.taken) {
    return std::nullopt;
  }
  const nlohmann::json content = {
      {"schema", 1},         {"work", printable(work, 4096)},
      {"job", job_},         {"attempt", attempt_},
      {"host", host_name()}, {"process", identity_text(this_process())}};
  if (!claim_from(content)) {
    fail(QUENCH_INTERNAL, "{}: would be the claim of {} {}, wanted the names of a file",
         stem.string(), printable(job_), printable(attempt_));
  }
  if (!publish(file_of(stem, state.next, "claim"), content)) {
    return std::nullopt;  // another one was faster
  }
  if (!state.gone.empty() && log_) {
    log_(fmt::format("{}: taken over from attempt {} on {}: {}", work, state.owners.back().attempt,
                     printable(state.owners.back().host, 256), state.gone));
  }
  return Claim(stem, state.next, std::move(state.owners));
}

}  // namespace quench
