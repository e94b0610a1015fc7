#include "run/grid/hub_memory.hpp"

#include <algorithm>
#include <system_error>

#include "core/arithmetic/build_id.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/grid/identity.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// A config.json that the manifest names instead of the checkpoint's.
std::vector<fs::path> named_config(const CheckpointCell& cell) {
  return cell.config.empty() || cell.config.front() == '{' ? std::vector<fs::path>()
                                                           : std::vector<fs::path>{cell.config};
}

bool are_blobs(const std::vector<fs::path>& files, const HubEnvironment& hub) {
  return std::all_of(files.begin(), files.end(),
                     [&](const fs::path& file) { return is_blob(file, hub); });
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->is_regular_file(gone)) {
      out.push_back(it->path());
    }
  }
  return out;
}

}  // namespace

nlohmann::json HubMemory::question(const CheckpointCell& cell) const {
  if (!is_hub_spec(cell.location)) {
    return nullptr;
  }
  const std::string commit =
      cell.located ? cell.located->commit : known_commit(cell.location, hub_);
  if (commit.empty()) {
    return nullptr;
  }
  const HubSpec spec = parse_hub_spec(cell.location);
  return {{"hub", repository_text(spec)},
          {"commit", commit},
          {"file", spec.file},
          {"checkpoint", arithmetic_build_id()},
          {"config", cell.config}};
}

std::optional<nlohmann::json> HubMemory::checkpoint(const CheckpointCell& cell) const {
  const nlohmann::json asked = question(cell);
  const auto text = asked.is_null() ? std::nullopt : fingerprints_.find(asked, named_config(cell));
  if (!text) {
    return std::nullopt;
  }
  nlohmann::json answer = parse_json(*text, "remembered commit");
  const std::string formats = answer.at("formats").get<std::string>();
  return formats.empty() || formats == formats_key(catalog_) ? std::optional(std::move(answer))
                                                             : std::nullopt;
}

void HubMemory::remember_checkpoint(const CheckpointCell& cell, const std::vector<fs::path>& files,
                                    nlohmann::json answer) const {
  const nlohmann::json asked = question(cell);
  if (asked.is_null() || !are_blobs(files, hub_)) {
    return;
  }
  const fs::path place = locate_checkpoint(cell, hub_).path;
  const fs::path config = place / "config.json";
  if (fs::exists(config) && !is_blob(config, hub_)) {
    return;
  }
  answer["formats"] = reading_key(catalog_, place);
  fingerprints_.remember(asked, named_config(cell), canonical_json(answer));
}

std::optional<TokenizerIdentity> HubMemory::tokenizer(const CheckpointCell& cell) const {
  nlohmann::json asked = question(cell);
  if (asked.is_null()) {
    return std::nullopt;
  }
  asked["tokenizer of"] = code_of_kind(catalog_, "tokenizer") + formats_key(catalog_);
  const auto text = fingerprints_.find(asked, {});
  if (!text) {
    return std::nullopt;
  }
  const nlohmann::json answer = parse_json(*text, "remembered tokenizer");
  const nlohmann::json& plugin = answer.at("plugin");
  return TokenizerIdentity{
      answer.at("file").get<std::string>(),
      plugin.is_null() ? nullptr : catalog_.find("tokenizer", plugin.get<std::string>())};
}

void HubMemory::remember_tokenizer(const CheckpointCell& cell,
                                   const TokenizerIdentity& identity) const {
  nlohmann::json asked = question(cell);
  if (asked.is_null() || !are_blobs(files_in(locate_checkpoint(cell, hub_).path), hub_)) {
    return;
  }
  asked["tokenizer of"] = code_of_kind(catalog_, "tokenizer") + formats_key(catalog_);
  const nlohmann::json plugin =
      identity.plugin == nullptr ? nlohmann::json() : nlohmann::json(identity.plugin->id);
  fingerprints_.remember(asked, {}, canonical_json({{"file", identity.file}, {"plugin", plugin}}));
}

}  // namespace quench
