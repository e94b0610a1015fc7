#include "core/pass/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace {

constexpr const char* kName = "piece";

}  // namespace

Journal::Journal(const std::filesystem::path& folder, const std::string& key)
    : path_(folder / (key + ".jsonl")) {
  load();
}

Journal::~Journal() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

// Stores values as bits, so that non-finite values survive, too.
void Journal::load() {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    const Unsealed found = unseal(kName, line);
    if (found.fault != nullptr) {
      continue;
    }
    const auto pair = nlohmann::json::parse(found.body, nullptr, /*allow_exceptions=*/false);
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
        pair[1].is_number_unsigned()) {
      values_[pair[0].get<uint64_t>()] = std::bit_cast<double>(pair[1].get<uint64_t>());
    }
  }
}

std::optional<double> Journal::get(uint64_t index) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(index);
  return found != values_.end() ? std::optional(found->second) : std::nullopt;
}

void Journal::put(uint64_t index, double value) {
  try {
    check_running_code();
  } catch (const Error&) {
    return;  // the value may be of other code than the key says; the evaluation's end reports it
  }
  const std::lock_guard lock(mutex_);
  values_[index] = value;
  if (descriptor_ < 0) {
    std::error_code ignored;
    std::filesystem::create_directories(path_.parent_path(), ignored);
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  // A newline first ends a line that an earlier process left torn.
  const std::string line =
      "\n" + seal(kName, canonical_json({index, std::bit_cast<uint64_t>(value)})) + "\n";
  if (descriptor_ >= 0 && write(descriptor_, line.data(), line.size()) < 0) {
    close(descriptor_);
    descriptor_ = -1;
  }
}

void Journal::forget() {
  const std::lock_guard lock(mutex_);
  values_.clear();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace quench
