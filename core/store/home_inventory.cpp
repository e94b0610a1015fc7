#include "core/store/home_inventory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "core/base/io/lease.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr size_t kDigitsOfKey = 64;  // of a key

bool made_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_number(std::string_view text) {
  return made_of(text, "0123456789");
}

// The part of "<key><rest>" after the key; nothing if there is no key.
std::string_view behind_key(std::string_view name) {
  return name.size() > kDigitsOfKey && is_hex(name.substr(0, kDigitsOfKey), kDigitsOfKey)
             ? name.substr(kDigitsOfKey)
             : std::string_view();
}

// ".<number>.json"
bool is_record(std::string_view name) {
  std::string_view rest = behind_key(name);
  if (!rest.starts_with('.') || !rest.ends_with(".json") || rest.size() < 7) {
    return false;
  }
  return is_number(rest.substr(1, rest.size() - 6));
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat status = {};
    if (::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += static_cast<uint64_t>(status.st_size);
    }
  }
  return bytes;
}

class Inventory {
 public:
  explicit Inventory(int64_t now) : now_(now) {}

  // Calls `take(name, entry, is_folder)` for each entry of the folder, sorted by name.
  template <typename Take>
  void list(const fs::path& folder, Take take) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      paths.push_back(it->path());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(),
           error.message());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      struct stat status = {};  // removed meanwhile: another process cleans
      if (::lstat(path.c_str(), &status) != 0 ||
          !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
        continue;
      }
      const bool is_folder = S_ISDIR(status.st_mode);
      const uint64_t bytes = is_folder ? 0 : static_cast<uint64_t>(status.st_size);
      take(path.filename().string(), HomeEntry{status.st_mtim.tv_sec, bytes, path}, is_folder);
    }
  }

  // Visits folders named by two digits, and in them the files that `keeps` recognizes.
  template <typename Keeps>
  void add_keyed(const fs::path& folder, Keeps keeps) {
    list(folder, [&](const std::string& digits, const HomeEntry& inside, bool is_folder) {
      if (!is_folder || !is_hex(digits, 2)) {
        add_abandoned(inside);
        return;
      }
      list(inside.path, [&](const std::string& name, const HomeEntry& entry, bool is_sub) {
        if (!is_sub && !add_abandoned(entry) && name.starts_with(digits) && keeps(name)) {
          fs::path stone = entry.path;
          stone.replace_extension(".forgotten");
          std::error_code ignored;
          (fs::exists(stone, ignored) ? out_.leftover : out_.kept).push_back(entry);
        }
      });
    });
  }

  void add_tokens(const fs::path& folder) {
    list(folder, [&](const std::string& name, HomeEntry entry, bool is_folder) {
      if (!is_folder) {
        if (!add_abandoned(entry) && behind_key(name) == ".tokens") {
          out_.kept.push_back(entry);
        }
        return;
      }
      entry.bytes = bytes_in(entry.path);
      if (behind_key(name) == ".packed") {
        out_.kept.push_back(entry);
      } else {
        add_abandoned(entry);
      }
    });
  }

  HomeInventory take() {
    std::sort(out_.kept.begin(), out_.kept.end(), [](const HomeEntry& a, const HomeEntry& b) {
      return std::tie(a.modified, a.path) < std::tie(b.modified, b.path);
    });
    return std::move(out_);
  }

 private:
  bool add_abandoned(const HomeEntry& entry) {
    const bool abandoned = is_abandoned(entry.path, now_);
    if (abandoned) {
      out_.leftover.push_back(entry);
    }
    return abandoned;
  }

  int64_t now_;
  HomeInventory out_;
};

}  // namespace

HomeInventory home_inventory(const fs::path& home, int64_t now) {
  Inventory out(now);
  out.add_keyed(home / "records", is_record);
  out.add_keyed(home / "fingerprints",
                [](std::string_view name) { return behind_key(name) == ".json"; });
  out.add_tokens(home / "tokens");
  return out.take();
}

void remove_home_entry(const HomeEntry& entry) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(entry.path, error))) {
    const NewFolder aside(entry.path, NewFolder::Existing::kMayBeReplaced);
    fs::rename(entry.path, aside.temporary(), error);  // the destructor removes it with its content
  } else {
    fs::remove(entry.path, error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be removed: {}", entry.path.string(),
         error.message());
  }
}

}  // namespace quench
