#include "core/plugin/catalog/probe_cache.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/version.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr uintmax_t kMaxEntryBytes = uintmax_t{64} << 20;

// Entries of another format, ABI or host version do not predict what this host would find.
std::string version_text() {
  constexpr int kFormat = 8;
  return fmt::format("format {}, ABI {}.{}, quench {}", kFormat, QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR,
                     kVersion);
}

json stamp_to_json(const FileIdentity& stamp) {
  return {stamp.device, stamp.inode, stamp.size, stamp.modified_ns, stamp.changed_ns};
}

FileIdentity stamp_from_json(const json& in) {
  return {in.at(0).get<uint64_t>(), in.at(1).get<uint64_t>(), in.at(2).get<uint64_t>(),
          in.at(3).get<int64_t>(), in.at(4).get<int64_t>()};
}

json link_to_json(const WatchedLibrary& link) {
  return {link.library.soname, link.library.path.string(), link.library.build_id,
          stamp_to_json(link.stamp)};
}

WatchedLibrary link_from_json(const json& in) {
  return {{in.at(0).get<std::string>(), in.at(1).get<std::string>(), in.at(2).get<std::string>()},
          stamp_from_json(in.at(3))};
}

// Most plugins share what they run on: each library is written once, and entries name its number.
class WrittenLinks {
 public:
  json numbers_of(const std::vector<WatchedLibrary>& links) {
    json out = json::array();
    for (const WatchedLibrary& link : links) {
      const json written = link_to_json(link);
      const auto [number, is_new] = numbers_.try_emplace(written.dump(), written_.size());
      if (is_new) {
        written_.push_back(written);
      }
      out.push_back(number->second);
    }
    return out;
  }
  json take() { return std::move(written_); }

 private:
  std::map<std::string, size_t> numbers_;
  json written_ = json::array();
};

json entry_to_json(const ProbeEntry& entry, WrittenLinks& links) {
  json out = {{"stamp", stamp_to_json(entry.stamp)},
              {"sha256", entry.sha256},
              {"code", entry.code},
              {"interpreter", entry.interpreter.string()},
              {"confined", entry.confined},
              {"links", links.numbers_of(entry.links)}};
  if (!entry.rejected.empty()) {
    out["rejected"] = entry.rejected;
    out["timed_out"] = entry.timed_out;
    return out;
  }
  out.update(items_to_json(entry.items));
  return out;
}

ProbeEntry entry_from_json(const json& in, const fs::path& library,
                           const std::vector<WatchedLibrary>& written) {
  ProbeEntry entry;
  entry.stamp = stamp_from_json(in.at("stamp"));
  in.at("sha256").get_to(entry.sha256);
  entry.code = in.at("code");
  entry.interpreter = in.at("interpreter").get<std::string>();
  entry.confined = in.value("confined", false);
  std::vector<LinkedLibrary> links;
  for (const json& number : in.at("links")) {
    entry.links.push_back(written.at(number.get<size_t>()));
    if (entry.interpreter.empty()) {
      links.push_back(entry.links.back().library);
    }
  }
  if (const auto rejected = in.find("rejected"); rejected != in.end()) {
    rejected->get_to(entry.rejected);
    in.at("timed_out").get_to(entry.timed_out);
    return entry;
  }
  entry.items = items_from_json(in);
  for (PluginDescription& item : entry.items) {
    item.library = library;
    item.sha256 = entry.sha256;
    item.interpreter = entry.interpreter;
    item.links = links;
  }
  if (entry.items.empty()) {
    fail(QUENCH_DATA_LOSS, "an entry without items");
  }
  return entry;
}

}  // namespace

fs::path ProbeCache::file_in(const fs::path& folder) {
  return folder / "plugins.json";
}

ProbeCache::ProbeCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  const fs::path path = file_in(folder_);
  const uintmax_t bytes = folder_.empty() ? 0 : fs::file_size(path, error);
  if (error || bytes == 0 || bytes > kMaxEntryBytes) {
    return;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::getline(in, text, '\0');  // an iterator would throw where the disk fails
  try {
    const json whole = parse_json(text, path.string());
    if (whole.at("version").get<std::string>() != version_text()) {
      return;
    }
    std::vector<WatchedLibrary> links;
    for (const json& link : whole.at("links")) {
      links.push_back(link_from_json(link));
    }
    for (const auto& [library, entry] : whole.at("libraries").items()) {
      entries_.emplace(library, entry_from_json(entry, library, links));
    }
  } catch (const std::exception&) {
    entries_.clear();  // broken: probe everything again
  }
}

const FileIdentity& ProbeCache::look_at(const fs::path& file) {
  const auto [seen, is_new] = seen_.try_emplace(file.native());
  if (is_new) {
    try {
      seen->second = File(file).identity();
    } catch (const Error&) {  // gone
    }
  }
  return seen->second;
}

std::vector<WatchedLibrary> ProbeCache::watch(const std::vector<LinkedLibrary>& libraries) {
  std::vector<WatchedLibrary> out;
  out.reserve(libraries.size());
  for (const LinkedLibrary& library : libraries) {
    out.push_back({library, look_at(library.path)});
  }
  return out;
}

bool ProbeCache::is_current(const ProbeEntry& entry) {
  return std::all_of(entry.links.begin(), entry.links.end(), [&](const WatchedLibrary& link) {
    return link.stamp == look_at(link.library.path);
  });
}

const ProbeEntry* ProbeCache::find(const fs::path& library) const {
  const auto found = entries_.find(library);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<ProbeEntry> ProbeCache::take(const fs::path& library) {
  auto found = entries_.extract(library);
  changed_ = false;
  return found.empty() ? std::nullopt : std::optional(std::move(found.mapped()));
}

void ProbeCache::store(const fs::path& library, ProbeEntry entry) {
  entries_.insert_or_assign(library, std::move(entry));
  changed_ = true;
}

void ProbeCache::forget(const fs::path& library) {
  changed_ = entries_.erase(library) > 0 || changed_;
}

void ProbeCache::save() {
  if (!changed_ || folder_.empty()) {
    return;
  }
  json libraries = json::object();
  WrittenLinks links;
  for (const auto& [library, entry] : entries_) {
    std::error_code error;
    if (fs::exists(library, error)) {
      libraries[library.string()] = entry_to_json(entry, links);
    }
  }
  try {
    fs::create_directories(folder_);
    write_file_atomically(file_in(folder_), json{{"version", version_text()},
                                                 {"links", links.take()},
                                                 {"libraries", std::move(libraries)}}
                                                .dump());
    changed_ = false;
  } catch (const std::exception& failure) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "quench",
        fmt::format("{}: cannot be written, so plugins are probed again next time: {}",
                    file_in(folder_).string(), printable(failure.what())));
  }
}

}  // namespace quench
