#include "core/plugin/catalog/installation_list.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/library/running_code.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kName = "SHA256SUMS";
constexpr uint64_t kMaxBytes = 1u << 20;
constexpr size_t kDigits = 64;

std::string name_beneath(const fs::path& file, const fs::path& folder) {
  const auto [rest, name] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  fs::path out;
  if (!folder.empty() && rest == folder.end()) {
    std::for_each(name, file.end(), [&](const fs::path& part) { out /= part; });
  }
  return out.string();
}

}  // namespace

InstallationList::InstallationList(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  real_folder_ = fs::canonical(folder, error);
  const fs::file_status status = fs::status(folder / kName, error);
  if (!folder.empty() && !fs::status_known(status)) {  // a list that may be there
    exists_ = true;
    fault_ = error.message();
    return;
  }
  exists_ = !folder.empty() && fs::exists(status);
  if (!exists_) {
    return;
  }
  try {
    std::istringstream lines(read_file(folder / kName, kMaxBytes));
    for (std::string line; std::getline(lines, line);) {
      if (line.size() <= kDigits + 2 || line.compare(kDigits, 2, "  ") != 0) {
        fail(QUENCH_DATA_LOSS, "got the line '{}', wanted a SHA-256, two spaces, a name",
             printable(line, 100));
      }
      sha256_[line.substr(kDigits + 2)] = line.substr(0, kDigits);
    }
  } catch (const Error& failure) {
    fault_ = failure.what();
  }
}

std::string InstallationList::name_of(const fs::path& file) const {
  const std::string name = name_beneath(file, real_folder_);
  return name.empty() ? name_beneath(file, folder_) : name;
}

bool InstallationList::has(const fs::path& file) const {
  const std::string name = name_of(file);
  return !name.empty() && (!exists_ || !fault_.empty() || sha256_.contains(name));
}

void InstallationList::check(const fs::path& file, const std::string& sha256) const {
  const std::string name = name_of(file);
  if (name.empty() || !exists_) {
    return;
  }
  const std::string list = (folder_ / kName).string();
  if (!fault_.empty()) {
    fail(QUENCH_DATA_LOSS, "{}: {}; install quench again", list, fault_);
  }
  const auto listed = sha256_.find(name);
  if (listed != sha256_.end() && listed->second != sha256) {
    fail(QUENCH_DATA_LOSS,
         "is not the file that was installed (sha256 {} in {}, {} now); install quench again, and "
         "keep plugins of your own in a folder of their own (--plugin-path)",
         listed->second.substr(0, 12), list, sha256.substr(0, 12));
  }
}

void InstallationList::hold_kernels() const {
  for (const char* name : {"cuda/kernels.so", "cuda/graphs.so"}) {
    std::error_code none;
    const fs::path library = fs::canonical(folder_ / name, none);
    if (folder_.empty() || none) {
      continue;
    }
    try {
      const File file(library);
      const std::string sha256 = sha256_of(file);
      check(library, sha256);
      if (!has(library)) {
        fail(QUENCH_DATA_LOSS, "is no part of this installation ({} does not list it)", kName);
      }
      note_running_code("code for GPUs", file, sha256);
    } catch (const Error& failure) {
      fail(failure.code(), "{}: {}", library.string(), failure.what());
    }
  }
}

}  // namespace quench
