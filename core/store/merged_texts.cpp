#include "core/store/merged_texts.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/store/merged_folders.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestLog = uint64_t{64} << 30;

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

void MergedTexts::add(const fs::path& file, const fs::path& into) {
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

uint64_t MergedTexts::write() const {
  for (const Texts* texts : {&others_, &records_}) {
    for (const auto& [to, text] : *texts) {
      write_file_atomically(to, text);
    }
  }
  return others_.size() + records_.size();
}

}  // namespace quench
