#include "core/plugin/library/running_code.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/floating_state.hpp"

namespace quench {

namespace {

struct Mapped {
  std::string label;
  FileIdentity identity;
  std::string sha256;
};

struct Running {
  std::mutex mutex;
  std::map<std::filesystem::path, Mapped> files;
};

Running& running() {
  static auto* state = new Running;  // outlives static destructors, like the libraries
  return *state;
}

void check(const std::filesystem::path& path, Mapped& mapped) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) {
    return;
  }
  const File now(path);
  const FileIdentity& is = now.identity();
  const bool other_file = is.device != mapped.identity.device || is.inode != mapped.identity.inode;
  if (other_file || is == mapped.identity) {
    return;
  }
  if (const std::string bytes = sha256_of(now); bytes != mapped.sha256) {
    fail(
        QUENCH_UNAVAILABLE,
        "{}: {} was written in place while its code ran (sha256 {} when it was loaded, {} now), so "
        "what it computed may be of either; run the command again",
        mapped.label, path.string(), mapped.sha256.substr(0, 12), bytes.substr(0, 12));
  }
  mapped.identity = is;  // its mode, its times or its links alone
}

}  // namespace

void note_running_code(const std::string& label, const File& file, const std::string& sha256) {
  Running& state = running();
  const std::lock_guard lock(state.mutex);
  state.files.insert_or_assign(file.path(), Mapped{label, file.identity(), sha256});
}

void check_running_code() {
  if (const std::string changes = floating_changes(); !changes.empty()) {
    fail(QUENCH_INTERNAL, "a plugin has changed how this process computes: {}", changes);
  }
  Running& state = running();
  const std::lock_guard lock(state.mutex);
  for (auto& [path, mapped] : state.files) {
    check(path, mapped);
  }
}

}  // namespace quench
