#include "core/hub/claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/base/io/process_identity.hpp"
#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFolder = ".quench";
constexpr std::string_view kPrefix = "claim-";
constexpr std::string_view kEnd = "end";  // the last line: a claim without it is being written
constexpr uint64_t kMaxClaim = uint64_t{16} << 20;
constexpr auto kLease = std::chrono::hours(48);

// claim-<identity>-<number>
std::string prefix_of(const ProcessIdentity& process) {
  return fmt::format("{}{}-", kPrefix, identity_text(process));
}

std::optional<ProcessIdentity> owner_of(const std::string& name) {
  return identity_from(name.substr(kPrefix.size(), name.rfind('-') - kPrefix.size()));
}

bool is_alive(const ProcessIdentity& owner, const fs::path& claim) {
  if (const std::optional<bool> runs = is_running(owner)) {
    return *runs;
  }
  std::error_code gone;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(claim, gone);
  return !gone && age < kLease;
}

std::vector<fs::path> claims_in(const fs::path& repository) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(repository / kFolder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with(kPrefix)) {
      out.push_back(it->path());
    }
  }
  return out;
}

// The caller has the repository's lock, as below.
void unlink_dead_claims(const fs::path& repository) {
  for (const fs::path& claim : claims_in(repository)) {
    const auto owner = owner_of(claim.filename().string());
    if (owner && !is_alive(*owner, claim)) {
      unlink(claim.c_str());
    }
  }
}

std::string text_of(const std::set<std::string>& commits) {
  std::string out;
  for (const std::string& commit : commits) {
    out += commit + "\n";
  }
  return out + std::string(kEnd) + "\n";
}

// Nothing if it is not whole: asked before a claim is written and after it was read.
std::optional<std::set<std::string>> claimed_in(const std::string& text) {
  std::istringstream lines(text);
  std::set<std::string> out;
  for (std::string line; std::getline(lines, line) && is_commit(line);) {
    out.insert(line);
  }
  return text.size() <= kMaxClaim && text == text_of(out) ? std::optional(out) : std::nullopt;
}

void write_claim(const fs::path& path, const std::set<std::string>& commits) {
  const std::string text = text_of(commits);
  if (!claimed_in(text)) {
    fail(QUENCH_INTERNAL, "{}: would claim {} in {} bytes, wanted commits in at most {}",
         path.string(), printable(fmt::format("{}", fmt::join(commits, ", ")), 200), text.size(),
         kMaxClaim);
  }
  const Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file && ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return;  // without its end it claims everything
  }
}

}  // namespace

RepositoryLock::RepositoryLock(const fs::path& repository)
    : descriptor_(open(repository.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_) {
    flock(descriptor_.get(), LOCK_EX);
  }
}

HubClaim::HubClaim() {
  static std::atomic<uint64_t> number = 0;  // a process may have several
  name_ = prefix_of(this_process()) + std::to_string(number++);
}

HubClaim::~HubClaim() {
  set({});
}

void HubClaim::set(const Commits& commits) {
  std::error_code error;
  for (const fs::path& repository : std::set<fs::path>(repositories_)) {
    if (commits.contains(repository)) {
      continue;
    }
    const RepositoryLock lock(repository);
    unlink((repository / kFolder / name_).c_str());
    unlink_dead_claims(repository);
    fs::remove(repository / kFolder, error);  // if it is empty
    repositories_.erase(repository);
  }
  for (const auto& [repository, wanted] : commits) {
    if (!fs::is_directory(repository, error)) {
      continue;  // nothing to protect
    }
    const RepositoryLock lock(repository);
    unlink_dead_claims(repository);
    fs::create_directory(repository / kFolder, error);
    write_claim(repository / kFolder / name_, wanted);
    repositories_.insert(repository);
  }
}

void remove_dead_claims(const fs::path& repository) {
  std::error_code error;
  if (fs::exists(repository / kFolder, error)) {
    const RepositoryLock lock(repository);
    unlink_dead_claims(repository);
    fs::remove(repository / kFolder, error);  // if it is empty
  }
}

OtherClaims::OtherClaims(const fs::path& repository) {
  const std::string mine = prefix_of(this_process());
  for (const fs::path& claim : claims_in(repository)) {
    const std::string name = claim.filename().string();
    const auto owner = owner_of(name);
    if (name.starts_with(mine) || (owner && !is_alive(*owner, claim))) {
      continue;
    }
    std::optional<std::set<std::string>> commits;
    try {
      commits = claimed_in(read_file(claim, kMaxClaim));
    } catch (const Error& failure) {
      if (failure.code() == QUENCH_NOT_FOUND) {
        continue;  // withdrawn meanwhile
      }
    }
    if (commits) {
      commits_.merge(*commits);
    } else {
      all_ = true;
    }
  }
}

}  // namespace quench
