// What describes runs that are joined: their manifests, and which shares they are.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

// Throws Error(INVALID_ARGUMENT) with the differences if one of the runs has another manifest.
void refuse_other_manifests(const std::vector<std::filesystem::path>& runs);

// What the joined run's run.json says of shares: a list, in order. Adds what is odd about them to
// `notes`, one line each.
nlohmann::json merged_shares(const std::vector<std::filesystem::path>& runs,
                             std::vector<std::string>& notes);

// Writes manifest and run.json where the joined run has none, and the shares.
void write_description(const std::vector<std::filesystem::path>& runs,
                       const std::filesystem::path& into, const nlohmann::json& shares);

}  // namespace quench
