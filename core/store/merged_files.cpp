#include "core/store/merged_files.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/error.hpp"
#include "core/store/sealed_folder.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestSeal = uint64_t{64} << 20;
constexpr uint64_t kLargestLog = uint64_t{64} << 30;

void copy_durably(const fs::path& from, const fs::path& to) {
  constexpr uint64_t kChunk = uint64_t{8} << 20;
  const File file(from);
  AtomicFile out(to, file.size());
  std::string buffer;
  for (uint64_t at = 0; at < file.size();) {
    buffer.resize(std::min(kChunk, file.size() - at));
    file.read(at, buffer.data(), buffer.size());
    out.write(buffer);
    at += buffer.size();
  }
  file.check_unchanged();
  out.commit();
}

void copy_tree(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path target = to / entry.path().filename();
    if (entry.is_directory()) {
      make_folders(target);
      copy_tree(entry.path(), target);
    } else if (entry.is_regular_file()) {
      copy_durably(entry.path(), target);
    }
  }
}

// Calls `visit(from, to)` for the folders of weights and the files below `from`. A folder of
// weights has files in it; hidden names are half-written.
template <typename Visit>
void for_each_piece(const fs::path& from, const fs::path& to, const Visit& visit) {
  std::error_code unreadable;
  if (!fs::is_directory(from, unreadable)) {
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") || !fs::exists(entry.path(), unreadable)) {
      continue;  // also a link to a training of another machine
    }
    // A link leads to a training of this machine, and is copied as one.
    const bool folder = entry.is_directory() && !entry.is_symlink();
    const bool of_weights =
        folder && std::any_of(fs::directory_iterator(entry.path()), fs::directory_iterator(),
                              [](const fs::directory_entry& each) {
                                return each.is_regular_file() &&
                                       !each.path().filename().string().starts_with(".");
                              });
    if (folder && !of_weights) {
      for_each_piece(entry.path(), to / name, visit);
    } else {
      visit(entry.path(), to / name);
    }
  }
}

// Folders of one name are the same if their seals are. Throws like add().
void check_piece(const fs::path& from, const fs::path& other) {
  std::error_code unreadable;
  const fs::path seal = from / kFolderSeal;
  const fs::path there = other / kFolderSeal;
  if (!fs::exists(other, unreadable) || !fs::exists(seal, unreadable)) {
    return;
  }
  if (!fs::exists(there, unreadable) ||
      read_file(seal, kLargestSeal) != read_file(there, kLargestSeal)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: other weights than {} under the same name; move one away",
         printable(from.string(), 4096), printable(other.string(), 4096));
  }
}

// Returns whether something was missing.
bool copy_piece(const fs::path& from, const fs::path& to) {
  std::error_code unreadable;
  if (fs::exists(fs::symlink_status(to, unreadable)) && fs::exists(to, unreadable)) {
    return false;
  }
  fs::remove(to, unreadable);  // a link that leads nowhere
  make_folders(to.parent_path());
  if (fs::is_symlink(from)) {
    fs::copy_symlink(from, to, unreadable);
    return !unreadable;
  }
  if (!fs::is_directory(from)) {
    copy_durably(from, to);
    return true;
  }
  NewFolder folder(to);
  copy_tree(from, folder.temporary());
  return folder.commit_if_absent();
}

bool is_record_file(const std::string& name) {
  return name.starts_with("records-") && name.ends_with(".jsonl");
}

// Only ever appended to, so of two copies the longer one is the later one.
bool is_appended(const std::string& name) {
  return is_record_file(name) || (name.starts_with("log-") && name.ends_with(".jsonl"));
}

// Written once, under a name that no other attempt has.
bool is_written_once(const std::string& name) {
  return name.ends_with(".json") &&
         (name.starts_with("tombstone-") || name.starts_with("processes-"));
}

}  // namespace

void require_plain(const fs::path& path) {
  const fs::file_type type = fs::symlink_status(path).type();
  if (type == fs::file_type::directory) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      require_plain(entry.path());
    }
  } else if (type != fs::file_type::regular) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: is {}, so quench did not write it; nothing merged",
         printable(path.string(), 4096),
         type == fs::file_type::symlink ? "a link" : "neither a file nor a folder");
  }
}

void MergedFiles::add(const fs::path& run, const fs::path& into) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    if (entry.is_regular_file()) {
      add_text(entry.path(), into);
    }
  }
  for (const char* kind : {"averages", "exports", "checkpoints", "training"}) {
    for_each_piece(run / kind, into / kind, [&](const fs::path& from, const fs::path& to) {
      if (!fs::is_symlink(from)) {
        require_plain(from);
      }
      check_piece(from, to);
      check_piece(from, folders_.emplace(to, from).first->second);
    });
  }
}

void MergedFiles::add_text(const fs::path& file, const fs::path& into) {
  const std::string name = file.filename().string();
  if (!is_appended(name) && !is_written_once(name)) {
    return;
  }
  require_plain(file);
  Texts& texts = is_record_file(name) ? records_ : others_;
  const fs::path to = into / name;
  std::string text = read_appended_file(file, kLargestLog);
  std::error_code unreadable;
  const auto queued = texts.find(to);
  const bool exists = fs::exists(to, unreadable);
  if (queued == texts.end() && !exists) {
    texts.emplace(to, std::move(text));
    return;
  }
  const std::string there =
      queued != texts.end() ? queued->second : read_appended_file(to, kLargestLog);
  const size_t common = std::min(text.size(), there.size());
  if (text.compare(0, common, there, 0, common) != 0 ||
      (text.size() != there.size() && !is_appended(name))) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: another file than {} under the same name; nothing merged",
         printable(file.string(), 4096), printable(to.string(), 4096));
  }
  if (text.size() > there.size()) {
    texts[to] = std::move(text);
  }
}

uint64_t MergedFiles::copy_folders() const {
  uint64_t copied = 0;
  for (const auto& [to, from] : folders_) {
    copied += copy_piece(from, to) ? 1 : 0;
  }
  return copied;
}

uint64_t MergedFiles::write_texts() const {
  for (const Texts* texts : {&others_, &records_}) {
    for (const auto& [to, text] : *texts) {
      write_file_atomically(to, text);
    }
  }
  return others_.size() + records_.size();
}

}  // namespace quench
