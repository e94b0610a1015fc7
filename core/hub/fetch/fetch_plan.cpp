#include "core/hub/fetch/fetch_plan.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/base/io/file.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/fetch/incomplete_blob.hpp"
#include "core/hub/snapshot.hpp"

namespace quench {

namespace {

constexpr uint64_t kMaxIndex = uint64_t{64} << 20;

using References = std::map<std::string, std::string>;

class Planner {
 public:
  Planner(HubApi& api, const std::filesystem::path& root) : api_(api) { plan_.root = root; }

  void add(const FetchRequest& request) {
    PlannedRevision revision;
    revision.spec = request.spec;
    revision.commit = commit_of(request.spec);
    revision.files = wanted_files(
        request.spec, request.purpose, api_.files(request.spec, revision.commit),
        [&](const HubFile& file) { return content(request.spec, revision.commit, file); });
    count(revision);
    plan_.revisions.push_back(std::move(revision));
  }

  FetchPlan take() { return std::move(plan_); }

 private:
  // One list serves all revisions of a repository.
  const References& references_of(const HubSpec& spec) {
    const std::string key = repository_text(spec);
    const auto known = references_.find(key);
    return known != references_.end() ? known->second : references_[key] = api_.references(spec);
  }

  std::string commit_of(const HubSpec& spec) {
    if (is_commit(spec.revision)) {
      return spec.revision;
    }
    const References& known = references_of(spec);
    if (const auto found = known.find(spec.revision); found != known.end()) {
      return found->second;
    }
    try {
      return api_.commit_of(spec);  // a shortened commit, or refs/pr/1
    } catch (const Error& error) {
      if (error.code() != QUENCH_NOT_FOUND) {
        throw;
      }
      std::vector<std::string> names;
      for (const auto& [name, commit] : known) {
        names.push_back(name);
      }
      const std::string near = nearest(spec.revision, names);
      fail(QUENCH_NOT_FOUND, "{}{}", error.what(), near.empty() ? "" : "; nearest is " + near);
    }
  }

  // An index of shards that the cache has is not asked for again.
  std::string content(const HubSpec& spec, const std::string& commit, const HubFile& file) {
    const CachedRepository cache(plan_.root, spec);
    if (cache.has(file) && file.size <= kMaxIndex) {
      std::string text = read_file(cache.blob(file.hash), kMaxIndex);
      if (blob_hash(file.hash, text) == file.hash) {
        return text;
      }
    }
    return api_.content(spec, commit, file);
  }

  void count(PlannedRevision& revision) {
    const CachedRepository cache(plan_.root, revision.spec);
    for (const HubFile& file : revision.files) {
      revision.bytes += file.size;
      if (!counted_.insert({repository_text(revision.spec), file.hash}).second) {
        continue;
      }
      plan_.bytes += file.size;
      ++plan_.files;
      if (!cache.has(file)) {
        revision.missing_bytes += file.size - bytes_left_over(cache.blobs(), file);
        ++revision.missing_files;
      }
    }
    plan_.missing_bytes += revision.missing_bytes;
    plan_.missing_files += revision.missing_files;
  }

  HubApi& api_;
  FetchPlan plan_;
  std::map<std::string, References> references_;
  std::set<std::pair<std::string, std::string>> counted_;  // repository and hash
};

}  // namespace

FetchPlan plan_fetch(const std::vector<FetchRequest>& requests, HubApi& api,
                     const std::filesystem::path& root, const OnListed& on_listed) {
  Planner planner(api, root);
  std::set<decltype(FetchRequest().key())> seen;
  std::vector<std::string> absent;
  size_t done = 0;
  for (const FetchRequest& request : requests) {
    on_listed(done++, requests.size());
    if (!seen.insert(request.key()).second) {
      continue;
    }
    try {
      planner.add(request);
    } catch (const Error& error) {
      if (error.code() != QUENCH_NOT_FOUND) {
        throw;
      }
      absent.emplace_back(error.what());
    }
  }
  if (!absent.empty()) {
    constexpr size_t kShown = 10;
    std::string text;
    for (size_t i = 0; i < std::min(absent.size(), kShown); ++i) {
      text += (i == 0 ? "" : "\n") + absent[i];
    }
    if (absent.size() > kShown) {
      text += fmt::format("\nand {} more like these", absent.size() - kShown);
    }
    fail(QUENCH_NOT_FOUND, "{}", text);
  }
  return planner.take();
}

namespace {

nlohmann::json question(const HubSpec& spec) {
  return {{"hub listing", repository_text(spec)}, {"file", spec.file}, {"revision", spec.revision}};
}

}  // namespace

void remember_listings(const FetchPlan& plan, const Fingerprints& memory) {
  for (const PlannedRevision& revision : plan.revisions) {
    if (std::none_of(revision.files.begin(), revision.files.end(),
                     [](const HubFile& file) { return holds_weights(file.path); })) {
      continue;
    }
    nlohmann::json files = nlohmann::json::array();
    for (const HubFile& file : revision.files) {
      files.push_back(to_json(file));
    }
    memory.remember(question(revision.spec), {},
                    canonical_json({{"commit", revision.commit}, {"files", files}}));
  }
}

std::optional<PlannedRevision> remembered_listing(const HubSpec& spec, const Fingerprints& memory) {
  const auto text = memory.find(question(spec), {});
  if (!text) {
    return std::nullopt;
  }
  const nlohmann::json answer = parse_json(*text, "remembered listing");
  PlannedRevision out;
  out.spec = spec;
  try {
    out.commit = answer.at("commit").get<std::string>();
    for (const nlohmann::json& file : answer.at("files")) {
      out.files.push_back(hub_file_from(file));
      out.bytes += out.files.back().size;
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return is_commit(out.commit) ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace quench
