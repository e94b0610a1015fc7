#include "core/hub/fetch/listing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/snapshot.hpp"

namespace quench {

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
