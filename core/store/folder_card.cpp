#include "core/store/folder_card.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestCard = uint64_t{16} << 20;

// HTML's comment, which no page shows.
std::string last_line(std::string_view text) {
  return fmt::format("<!-- quench wrote this: {} -->\n", sha256_hex(text));
}

}  // namespace

bool is_own_card(const fs::path& file) {
  std::error_code unreadable;
  if (fs::symlink_status(file, unreadable).type() != fs::file_type::regular) {
    return false;
  }
  try {
    const std::string all = read_file(file, kLargestCard);
    const size_t length = last_line("").size();
    if (all.size() < length) {
      return false;
    }
    const std::string_view text = std::string_view(all).substr(0, all.size() - length);
    return all.substr(text.size()) == last_line(text);
  } catch (const Error&) {  // too large, or unreadable: nothing that quench wrote
    return false;
  }
}

bool write_folder_card(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / kFolderCard;
  const std::string all = text + last_line(text);
  if (all.size() > kLargestCard) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: would have {} bytes, more than {}",
         printable(path.string(), 4096), all.size(), kLargestCard);
  }
  std::error_code error;
  const bool there = fs::symlink_status(path, error).type() != fs::file_type::not_found;
  if (there && !is_own_card(path)) {
    return false;
  }
  // Beside the folder, where runs remove what a kill left: in it, it would be a foreign file.
  AtomicFile file(path, all.size(), nullptr, folder);
  file.write(all);
  if (!there) {
    return file.commit_new();
  }
  file.commit();
  return true;
}

}  // namespace quench
