#include "core/store/merged_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/difference.hpp"
#include "core/store/merged_files.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestText = uint64_t{64} << 20;
constexpr const char* kManifests[] = {"manifest.yaml", "manifest.json"};
constexpr size_t kShownParts = 8;  // differences, or shares, in one message

std::optional<nlohmann::json> json_in(const fs::path& run, const char* name) {
  const fs::path path = run / name;
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) {
    return std::nullopt;
  }
  return parse_json(read_file(path, kLargestText), path.string());
}

}  // namespace

void refuse_other_manifests(const std::vector<fs::path>& runs) {
  std::optional<nlohmann::json> first;
  fs::path of_first;
  for (const fs::path& run : runs) {
    for (const char* name : kManifests) {
      std::error_code unreadable;
      if (fs::exists(run / name, unreadable)) {
        require_plain(run / name);  // it is copied
      }
    }
    const std::optional<nlohmann::json> manifest = json_in(run, "manifest.json");
    if (!manifest) {
      continue;  // no attempt has begun there
    }
    if (!first) {
      first = manifest;
      of_first = run;
    }
    const std::vector<Difference> differences = explain_difference(*first, *manifest);
    std::vector<std::string> lines;
    for (size_t i = 0; i < std::min(differences.size(), kShownParts); ++i) {
      lines.push_back(difference_text(differences[i]));
    }
    if (differences.size() > kShownParts) {
      lines.push_back(fmt::format("... and {} more", differences.size() - kShownParts));
    }
    if (!lines.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: another manifest than {}:\n  {}",
           printable(run.string(), 4096), printable(of_first.string(), 4096),
           fmt::join(lines, "\n  "));
    }
  }
}

nlohmann::json merged_shares(const std::vector<fs::path>& runs, std::vector<std::string>& notes) {
  std::set<nlohmann::json> shares;
  for (const fs::path& run : runs) {
    const nlohmann::json description = json_in(run, "run.json").value_or(nlohmann::json::object());
    if (const auto share = description.find("share");
        share != description.end() && share->is_object()) {
      shares.insert(*share);
    }
    if (const auto before = description.find("shares");
        before != description.end() && before->is_array()) {
      shares.insert(before->begin(), before->end());
    }
  }
  std::set<std::string> splits;
  std::set<uint64_t> numbers;
  uint64_t of = 0;
  for (const nlohmann::json& share : shares) {
    splits.insert(share.value("split", ""));
    numbers.insert(share.value("number", uint64_t{0}));
    of = std::max(of, share.value("of", uint64_t{0}));
  }
  if (splits.size() > 1) {
    notes.push_back(fmt::format(
        "the runs have shares of different splits ({}): cells may be missing; `quench run` on "
        "the joined folder computes them",
        fmt::join(splits, ", ")));
  } else if (!splits.empty() && numbers.size() < of) {
    std::vector<std::string> missing;
    for (uint64_t number = 1; number <= of && missing.size() < kShownParts; ++number) {
      if (!numbers.contains(number)) {
        missing.push_back(fmt::format("{}/{}", number, of));
      }
    }
    notes.push_back(fmt::format("not here yet: share {}", fmt::join(missing, ", ")));
  }
  return shares;
}

void write_description(const std::vector<fs::path>& runs, const fs::path& into,
                       const nlohmann::json& shares) {
  for (const char* name : kManifests) {
    for (const fs::path& run : runs) {
      std::error_code unreadable;
      if (!fs::exists(into / name, unreadable) && fs::exists(run / name, unreadable)) {
        write_file_atomically(into / name, read_file(run / name, kLargestText));
      }
    }
  }
  std::optional<nlohmann::json> description = json_in(into, "run.json");
  for (size_t i = 0; i < runs.size() && !description; ++i) {
    description = json_in(runs[i], "run.json");
  }
  if (description) {
    if (!shares.empty()) {
      (*description)["share"] = nullptr;
      (*description)["shares"] = shares;
    }
    const std::string text = description->dump(1) + "\n";
    std::error_code unreadable;
    const fs::path path = into / "run.json";
    if (!fs::exists(path, unreadable) || read_file(path, kLargestText) != text) {
      write_file_atomically(path, text);
    }
  }
}

}  // namespace quench
