// What a fetch would bring, pinned to commits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/hub/fetch/hub_api.hpp"
#include "core/hub/fetch/wanted_files.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

struct FetchRequest {
  HubSpec spec;
  Purpose purpose = Purpose::kModel;
  auto key() const { return std::tuple(spec.dataset, spec.repository, spec.revision, spec.file); }
};

struct PlannedRevision {
  HubSpec spec;
  std::string commit;
  std::vector<HubFile> files;
  uint64_t bytes = 0;
  uint64_t missing_bytes =
      0;  // that no earlier revision of the plan brings; less what is left over
  size_t missing_files = 0;
};

struct FetchPlan {
  std::filesystem::path root;  // of the cache
  std::vector<PlannedRevision> revisions;
  uint64_t bytes = 0;  // files of several revisions that are equal count once
  uint64_t missing_bytes = 0;
  size_t files = 0;
  size_t missing_files = 0;
};

using OnListed = std::function<void(size_t done, size_t total)>;

// Asks the hub for each request and tells `on_listed` before; writes nothing. Requests that are
// equal are one. Throws Error(NOT_FOUND) with all that does not exist, in one line; else what
// HubApi throws.
FetchPlan plan_fetch(
    const std::vector<FetchRequest>& requests, HubApi& api, const std::filesystem::path& root,
    const OnListed& on_listed = [](size_t, size_t) {});

// Keeps the files of each revision with weights under its spec; the latest counts.
void remember_listings(const FetchPlan& plan, const Fingerprints& memory);
// Spec, commit, files and their bytes; what is missing is not looked up. Nothing for a revision
// that no plan had.
std::optional<PlannedRevision> remembered_listing(const HubSpec& spec, const Fingerprints& memory);

}  // namespace quench
