#include "core/hub/hub_file.hpp"

#include <nlohmann/json.hpp>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kGitDigits = 40;

}  // namespace

bool is_blob_hash(std::string_view text) {
  return (text.size() == kSha256Digits || text.size() == kGitDigits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string blob_hash(const std::string& name, std::string_view content) {
  return name.size() == kSha256Digits ? sha256_hex(content) : git_blob_id(content);
}

std::string blob_hash(const std::string& name, const File& file, const std::atomic<bool>* cancel) {
  return name.size() == kSha256Digits ? sha256_of(file, cancel) : git_blob_id(file, cancel);
}

std::string file_fault(const HubFile& file) {
  if (!is_plain_path(file.path)) {
    return fmt::format("a file is called '{}'", printable(file.path));
  }
  if (!is_blob_hash(file.hash)) {
    return fmt::format("{} has no hash", printable(file.path));
  }
  return file.size > kMaxHubFile ? fmt::format("{} has no size", printable(file.path)) : "";
}

nlohmann::json to_json(const HubFile& file) {
  return {{"path", file.path}, {"bytes", file.size}, {"hash", file.hash}};
}

HubFile hub_file_from(const nlohmann::json& entry) {
  const HubFile out = {entry.at("path").get<std::string>(), entry.at("bytes").get<uint64_t>(),
                       entry.at("hash").get<std::string>()};
  if (const std::string fault = file_fault(out); !fault.empty()) {
    fail(QUENCH_DATA_LOSS, "{}", fault);
  }
  return out;
}

}  // namespace quench
