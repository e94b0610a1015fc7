#include "core/plugin/catalog/library_probes.hpp"

#include <utility>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/foreign_code.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/library/elf_file.hpp"

namespace quench {

namespace fs = std::filesystem;

LibraryProbes::LibraryProbes(const CatalogOptions& options,
                             std::vector<Catalog::Rejected>& rejected)
    : options_(options),
      rejected_(rejected),
      installed_(own_plugins(options.self)),
      shipped_(own_plugins(options.self)),
      cache_(options.cache_dir) {}

void LibraryProbes::look_up(const fs::path& library) {
  try {
    const ProbeEntry* entry = cache_.find(library);
    const fs::path interpreter =
        is_python_file(library) ? interpreter_of(library, options_.python) : fs::path();
    const bool confined = is_confined(library);
    if (confined && !interpreter.empty()) {
      require_confinable(interpreter, library, options_.python);
    }
    const bool same_links = entry != nullptr && cache_.is_current(*entry) &&
                            entry->interpreter == interpreter && entry->confined == confined;
    if (same_links && entry->stamp == File(library).identity()) {
      installed_.check(library, entry->sha256);
      return;
    }
    FileHash hash = hash_file(library);
    installed_.check(library, hash.sha256);
    hash.interpreter = interpreter;
    if (same_links && entry->sha256 == hash.sha256) {
      ProbeEntry same = *entry;
      same.stamp = hash.stamp;
      cache_.store(library, std::move(same));
      return;
    }
    if (take_shipped(library, hash)) {
      return;
    }
    unknown_.push_back(library);
    hashes_.push_back(std::move(hash));
  } catch (const Error& failure) {
    cache_.forget(library);
    rejected_.push_back({library, failure.what(), true});
  }
}

bool LibraryProbes::is_confined(const fs::path& library) const {
  return options_.sandbox == Sandbox::kStrict && !installed_.has(library);
}

size_t LibraryProbes::probe() {
  std::vector<ProbeResult> results = probe_libraries(unknown_, probe_options(options_));
  for (size_t i = 0; i < unknown_.size(); ++i) {
    // One that came with the program does not hang: the machine was busy.
    if (results[i].passing || (results[i].timed_out && installed_.has(unknown_[i]))) {
      cache_.forget(unknown_[i]);
      rejected_.push_back({unknown_[i], std::move(results[i].rejected), true});
      continue;
    }
    keep(unknown_[i], hashes_[i], std::move(results[i]));
  }
  cache_.save();
  return unknown_.size();
}

bool LibraryProbes::take_shipped(const fs::path& library, const FileHash& hash) {
  if (!installed_.has(library)) {
    return false;
  }
  std::optional<ProbeResult> described = shipped_.find(library, hash.build_id);
  if (described) {
    keep(library, hash, std::move(*described));
  }
  return described.has_value();
}

void LibraryProbes::keep(const fs::path& library, const FileHash& hash, ProbeResult result) {
  for (PluginDescription& item : result.items) {
    item.sha256 = hash.sha256;
  }
  if (!hash.interpreter.empty()) {  // another version may make more of a rejected file
    result.watched.push_back({"python", hash.interpreter, ""});
  }
  std::vector<WatchedLibrary> links = cache_.watch(result.watched);
  if (!result.items.empty() && links.empty()) {  // the items of a library have the same
    links = cache_.watch(result.items.front().links);
  }
  nlohmann::json code = code_of(hash, result);
  cache_.store(library, {hash.stamp, hash.sha256, std::move(code), std::move(links),
                         hash.interpreter, std::move(result.rejected), result.timed_out,
                         std::move(result.items), is_confined(library)});
}

std::string ask_again(const CatalogOptions& options, const fs::path& library) {
  const ProbeResult result =
      probe_libraries({library}, {options.self, options.probe_seconds, false, options.python})
          .front();
  if (!result.timed_out) {
    forget_probes(options.cache_dir);  // others may have met the same busy machine
  }
  return result.rejected;
}

nlohmann::json LibraryProbes::code_of(const FileHash& hash, ProbeResult& result) {
  if (hash.interpreter.empty() || result.surroundings.is_null()) {
    return code_of_library(hash.build_id, hash.sha256);
  }
  try {
    return code_of_python(result.surroundings, hash.sha256);
  } catch (const std::exception& failure) {
    result.items.clear();
    result.rejected = fmt::format("its description cannot be read: {}", printable(failure.what()));
    return nullptr;
  }
}

LibraryProbes::FileHash LibraryProbes::hash_file(const fs::path& path) {
  const File file(path);
  FileHash out = {sha256_of(file), "", file.identity(), {}};
  try {
    out.build_id = read_elf(path).build_id;
  } catch (const Error& failure) {
    if (failure.code() != QUENCH_INVALID_ARGUMENT && failure.code() != QUENCH_DATA_LOSS) {
      throw;  // what may pass would give the library another identity
    }
    // No library: probing says what is wrong with it.
  }
  return out;
}

}  // namespace quench
