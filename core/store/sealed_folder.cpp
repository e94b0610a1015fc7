#include "core/store/sealed_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <system_error>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/difference.hpp"
#include "core/store/folder_card.hpp"
#include "core/store/sealed_line.hpp"
#include "core/version.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int kSchema = 1;
constexpr size_t kLargestSeal = size_t{64} << 20;
constexpr const char* kSealName = "folder";

struct Seal {
  nlohmann::json made_from;
  WrittenFiles files;
};

// Whether it names an entry of a folder: a path would lead out of it.
bool is_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Asked before a seal is written and after one was read.
void check(const Seal& seal, const std::string& path, quench_status code) {
  for (const auto& [name, file] : seal.files) {
    if (!is_name(name)) {
      fail(code, "{}: lists {}, wanted names of files in the folder", path, printable(name));
    }
    if (!is_sha256(file.sha256)) {
      fail(code, "{}: lists {} with the SHA-256 '{}', wanted 64 digits", path, printable(name),
           printable(file.sha256, 80));
    }
  }
}

std::string text_of(const std::string& path, const Seal& seal) {
  check(seal, path, QUENCH_INTERNAL);
  nlohmann::json list = nlohmann::json::object();
  for (const auto& [name, file] : seal.files) {
    list[name] = {{"bytes", file.bytes}, {"sha256", file.sha256}};
  }
  const nlohmann::json body = {{"schema", kSchema},
                               {"quench", kVersion},
                               {"key", sha256_hex(canonical_json(seal.made_from))},
                               {"made_from", seal.made_from},
                               {"files", list}};
  return sealed_file_text(path, kSealName, canonical_json(body), kLargestSeal);
}

Seal read_seal(const fs::path& folder) {
  const std::string path = (folder / kFolderSeal).string();
  const nlohmann::json read = parse_json(read_sealed_file(path, kSealName, kLargestSeal), path);
  try {
    if (const int64_t schema = read.at("schema"); schema != kSchema) {
      fail(QUENCH_UNSUPPORTED, "{}: schema {}, this program knows {}", path, schema, kSchema);
    }
    Seal out{read.at("made_from"), {}};
    if (read.at("key") != sha256_hex(canonical_json(out.made_from))) {
      fail(QUENCH_DATA_LOSS, "{}: its key is not that of what it says it was made from", path);
    }
    for (const auto& [name, file] : read.at("files").items()) {
      out.files[name] = {file.at("bytes").get<uint64_t>(), file.at("sha256").get<std::string>()};
    }
    check(out, path, QUENCH_DATA_LOSS);
    return out;
  } catch (const nlohmann::json::exception&) {
    fail(QUENCH_DATA_LOSS, "{}: not the seal of a folder", path);
  }
}

using EntryStatus = struct stat;

// What stands at the path itself, not what it links to; none if it is free. Throws
// Error(UNAVAILABLE) if that can perhaps be seen later; what cannot be seen at all is no folder and
// no file.
std::optional<EntryStatus> entry_at(const fs::path& path) {
  EntryStatus status = {};
  if (see_entry(path, status)) {
    return status;
  }
  const int number = errno;
  if (is_passing_fault(number)) {
    fail(QUENCH_UNAVAILABLE, "{}: cannot be looked at: {}", printable(path.string(), 4096),
         std::generic_category().message(number));
  }
  if (number == ENOENT || number == ENOTDIR) {
    return std::nullopt;
  }
  return EntryStatus{};
}

bool is_newer(const EntryStatus& a, const EntryStatus& b) {
  return a.st_mtim.tv_sec != b.st_mtim.tv_sec ? a.st_mtim.tv_sec > b.st_mtim.tv_sec
                                              : a.st_mtim.tv_nsec > b.st_mtim.tv_nsec;
}

// Describes how the files differ from the seal; "" if they do not. Compares hashes of all files
// with `read_all`, else only of files newer than the seal.
std::string damage(const fs::path& folder, const WrittenFiles& files, bool read_all) {
  const EntryStatus sealed = entry_at(folder / kFolderSeal).value_or(EntryStatus{});
  for (const auto& [name, file] : files) {
    const fs::path path = folder / name;
    const std::optional<EntryStatus> status = entry_at(path);
    if (!status) {
      return fmt::format("{} is missing", printable(name));
    }
    if (!S_ISREG(status->st_mode)) {
      return fmt::format("{} is not a file", printable(name));
    }
    if (static_cast<uint64_t>(status->st_size) != file.bytes) {
      return fmt::format("{} has {} bytes, {} were written", printable(name), status->st_size,
                         file.bytes);
    }
    if ((read_all || is_newer(*status, sealed)) && sha256_of(File(path)) != file.sha256) {
      return fmt::format("{} was changed", printable(name));
    }
  }
  return "";
}

// A name in the folder that the seal does not list and that is no card of quench's, or "".
std::string unknown_name(const fs::path& folder, const WrittenFiles& files) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name != kFolderSeal && !files.contains(name)) {
      if (name != kFolderCard || !is_own_card(it->path())) {
        return name;
      }
    }
  }
  if (error) {
    fail(status_of_fault(error.value(), QUENCH_FAILED_PRECONDITION), "{}: cannot be listed: {}",
         printable(folder.string(), 4096), error.message());
  }
  return "";
}

std::string what_changed(const nlohmann::json& was, const nlohmann::json& is) {
  std::vector<std::string> paths;
  for (const Difference& difference : explain_difference(was, is)) {
    paths.push_back(difference.path);
  }
  return fmt::format("{} changed", fmt::join(paths, ", "));
}

// The seal of a folder that quench wrote, or what is there instead and why.
std::optional<Seal> seal_of(const fs::path& path, FolderSurvey& there) {
  there.state = FolderState::kForeign;
  if (const auto status = entry_at(path); !status || !S_ISDIR(status->st_mode)) {
    there.reason = "it is not a folder";
    return std::nullopt;
  }
  if (const auto status = entry_at(path / kFolderSeal); !status || !S_ISREG(status->st_mode)) {
    there.reason = fmt::format("quench did not write it: it has no {}", kFolderSeal);
    return std::nullopt;
  }
  try {
    return read_seal(path);
  } catch (const Error& error) {
    if (error.code() == QUENCH_UNAVAILABLE) {
      throw;
    }
    if (error.code() == QUENCH_DATA_LOSS) {
      there.state = FolderState::kDamaged;
    }
    there.reason = error.what();
    return std::nullopt;
  }
}

std::string fault_of_file(const fs::path& path, const WrittenFile& wanted, Depth depth,
                          const std::atomic<bool>* cancel) {
  const File file(path);
  if (file.size() != wanted.bytes) {
    return fmt::format("{}: has {} bytes, wanted {}", path.string(), file.size(), wanted.bytes);
  }
  if (depth == Depth::kSizes) {
    return "";
  }
  if (const std::string got = sha256_of(file, cancel); got != wanted.sha256) {
    return fmt::format("{}: its SHA-256 is {}, wanted {}", path.string(), got,
                       printable(wanted.sha256));
  }
  return "";
}

}  // namespace

FolderSurvey survey_folder(const fs::path& path, const nlohmann::json& made_from) {
  if (!entry_at(path)) {
    return {};
  }
  FolderSurvey out;
  out.identity = identity_of_folder(path);
  const std::optional<Seal> seal = seal_of(path, out);
  if (!seal) {
    return out;
  }
  out.reason = seal->made_from != made_from ? what_changed(seal->made_from, made_from)
                                            : damage(path, seal->files, /*read_all=*/false);
  const std::string unknown = out.reason.empty() ? "" : unknown_name(path, seal->files);
  if (!unknown.empty()) {
    out.reason = fmt::format("{}, and it holds {}, which quench did not put there", out.reason,
                             printable(unknown));
  }
  out.state = out.reason.empty() ? FolderState::kCurrent
              : !unknown.empty() ? FolderState::kForeign
                                 : FolderState::kStale;
  return out;
}

std::string foreign_content(const fs::path& path) {
  FolderSurvey there;
  if (!entry_at(path) || seal_of(path, there) || there.state == FolderState::kDamaged) {
    return "";
  }
  return there.reason;
}

fs::path put_aside(const fs::path& path, const FolderIdentity& seen) {
  constexpr int kTries = 1000;
  for (int i = 1; i <= kTries; ++i) {
    fs::path aside = path;
    aside += i == 1 ? "~damaged" : fmt::format("~damaged-{}", i);  // no folder of a run has a '~'
    if (entry_at(aside)) {
      continue;
    }
    if (identity_of_folder(path) != seen) {
      return {};
    }
    std::error_code error;
    fs::rename(path, aside, error);
    if (error) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: putting it aside failed: {}",
           printable(path.string(), 4096), error.message());
    }
    if (identity_of_folder(aside) == seen) {
      return aside;
    }
    fs::rename(aside, path, error);  // another process was faster: the new one goes back
    return {};
  }
  fail(QUENCH_FAILED_PRECONDITION, "{}: {} damaged folders lie beside it; move them away",
       printable(path.string(), 4096), kTries);
}

std::string damage_of(const fs::path& path) {
  return damage(path, read_seal(path).files, /*read_all=*/true);
}

std::string fault_of_sealed_folder(const fs::path& folder, Depth depth,
                                   const std::atomic<bool>* cancel,
                                   const std::set<std::string>& whole) {
  try {
    for (const auto& [name, wanted] : read_seal(folder).files) {
      const Depth of_file = whole.contains(name) ? Depth::kContents : depth;
      std::string fault = fault_of_file(folder / name, wanted, of_file, cancel);
      if (!fault.empty()) {
        return fault;
      }
    }
    return "";
  } catch (const Error& error) {
    if (error.code() == QUENCH_CANCELLED || error.code() == QUENCH_FAILED_PRECONDITION) {
      throw;
    }
    return error.what();
  }
}

std::string fault_of_sealed_files(const fs::path& folder, const std::vector<fs::path>& files,
                                  const std::atomic<bool>* cancel) {
  FolderSurvey there;
  const std::optional<Seal> seal = seal_of(folder, there);
  for (const fs::path& file : seal ? files : std::vector<fs::path>()) {
    const auto listed = seal->files.find(file.filename().string());
    if (listed != seal->files.end()) {
      std::string fault = fault_of_file(file, listed->second, Depth::kContents, cancel);
      if (!fault.empty()) {
        return fault;
      }
    }
  }
  return "";
}

// First removes what an earlier process with this id left under the other name.
void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::path doomed =
      folder.parent_path() / fmt::format(".{}.{}.dropped", folder.filename().string(), ::getpid());
  fs::remove_all(doomed, ignored);
  fs::rename(folder, doomed, ignored);
  fs::remove_all(doomed, ignored);
}

std::string remove_damaged(const fs::path& folder, const std::function<std::string()>& fault) {
  const std::optional<FolderIdentity> seen = identity_of_folder(folder);
  std::string found = fault();
  if (!found.empty() && seen && identity_of_folder(folder) == seen) {
    remove_folder(folder);
  }
  return found;
}

SealedFolder::SealedFolder(const fs::path& path, bool replaces)
    : folder_(path, replaces ? NewFolder::Existing::kMayBeReplaced : NewFolder::Existing::kRefused),
      replaces_(replaces) {}

void SealedFolder::publish(const nlohmann::json& made_from) {
  const fs::path seal = temporary() / kFolderSeal;
  write_file_atomically(seal, text_of(seal.string(), {made_from, files()}));
  constexpr int kTries = 16;
  for (int i = 0; i < kTries; ++i) {  // others may publish, replace or remove meanwhile
    if (folder_.commit_if_absent()) {
      return;
    }
    const FolderSurvey there = survey_folder(path(), made_from);
    if (there.state == FolderState::kCurrent) {
      return;
    }
    const bool makes_way = there.state == FolderState::kStale && replaces_;
    if (makes_way && folder_.replace(*there.identity)) {
      return;
    }
    if (there.state != FolderState::kAbsent && !makes_way) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: already exists; nothing is overwritten: {}",
           printable(path().string(), 4096), there.reason);
    }
  }
  fail(QUENCH_FAILED_PRECONDITION, "{}: other processes keep replacing it",
       printable(path().string(), 4096));
}

}  // namespace quench
