// What each library holds: from the cache where its content and links are what they were, else from
// the list of what came with the program, else probed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/installation_list.hpp"
#include "core/plugin/catalog/probe.hpp"
#include "core/plugin/catalog/probe_cache.hpp"
#include "core/plugin/catalog/shipped_descriptions.hpp"

namespace quench {

class LibraryProbes {
 public:
  // Why a library is of no use goes to `rejected`, which must outlive this like `options`.
  LibraryProbes(const CatalogOptions& options, std::vector<Catalog::Rejected>& rejected);

  // Notes the library for probing unless the cache knows it.
  void look_up(const std::filesystem::path& library);

  // Probes what was noted, and keeps what was learnt; how many libraries it was. Throws like
  // probe_libraries.
  size_t probe();

  // nullptr where the library was rejected.
  const ProbeEntry* find(const std::filesystem::path& library) const {
    return cache_.find(library);
  }

 private:
  struct FileHash {
    std::string sha256;
    std::string build_id;  // "" where it has none
    FileIdentity stamp;
    std::filesystem::path interpreter;  // of a Python file
  };
  bool is_confined(const std::filesystem::path& library) const;  // while it is probed
  // What came with the program and is described in its list.
  bool take_shipped(const std::filesystem::path& library, const FileHash& hash);
  void keep(const std::filesystem::path& library, const FileHash& hash, ProbeResult result);
  static FileHash hash_file(const std::filesystem::path& path);
  // Rejects a Python file that does not say what it stands on.
  static nlohmann::json code_of(const FileHash& hash, ProbeResult& result);

  const CatalogOptions& options_;
  std::vector<Catalog::Rejected>& rejected_;
  const InstallationList installed_;
  ShippedDescriptions shipped_;
  ProbeCache cache_;
  std::vector<std::filesystem::path> unknown_;
  std::vector<FileHash> hashes_;  // of `unknown_`
};

// Asks a library that did not answer in time once more: why it is rejected, or "". Where it
// answers, what was probed is forgotten, and the next catalog has it. Throws like probe_libraries.
std::string ask_again(const CatalogOptions& options, const std::filesystem::path& library);

}  // namespace quench
