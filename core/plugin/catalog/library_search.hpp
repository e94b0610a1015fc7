// The libraries on a search path that may be loaded at all.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "core/base/io/trust.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

class LibrarySearch {
 public:
  // Why a library or folder may not be loaded from goes to `rejected`, which must outlive this.
  LibrarySearch(const std::filesystem::path& self, std::vector<Catalog::Rejected>& rejected);

  // Adds what a folder holds, but no file a second time.
  void add(const std::filesystem::path& folder);

  // Canonical, in order of precedence.
  const std::vector<std::filesystem::path>& found() const { return found_; }

 private:
  bool accept(const std::filesystem::path& folder);

  Trusted trusted_;
  std::vector<Catalog::Rejected>& rejected_;
  std::set<std::filesystem::path> seen_;
  std::vector<std::filesystem::path> found_;
};

}  // namespace quench
