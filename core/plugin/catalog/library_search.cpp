#include "core/plugin/catalog/library_search.hpp"

#include <string>
#include <system_error>
#include <utility>

#include "core/plugin/catalog/search_path.hpp"

namespace quench {

namespace fs = std::filesystem;

LibrarySearch::LibrarySearch(const fs::path& self, std::vector<Catalog::Rejected>& rejected)
    : trusted_(trusted_with_plugins(self)), rejected_(rejected) {}

void LibrarySearch::add(const fs::path& folder) {
  if (!accept(folder)) {
    return;
  }
  std::set<fs::path> refused_folders;
  for (const fs::path& found : libraries_in(folder)) {
    std::error_code error;
    const fs::path library = fs::canonical(found, error);
    if (error) {
      rejected_.push_back({found, error.message()});
      continue;
    }
    const fs::path holder = library.parent_path();
    if (refused_folders.contains(holder) || !seen_.insert(library).second) {
      continue;
    }
    if (holder != folder && !accept(holder)) {
      refused_folders.insert(holder);
      continue;
    }
    if (std::string fault = distrust_of_file(library, trusted_); !fault.empty()) {
      rejected_.push_back({library, std::move(fault)});
      continue;
    }
    found_.push_back(library);
  }
}

bool LibrarySearch::accept(const fs::path& folder) {
  const std::string fault = folder_fault(folder, trusted_);
  if (!fault.empty()) {
    rejected_.push_back({folder, fault});
  }
  return fault.empty();
}

}  // namespace quench
