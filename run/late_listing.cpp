#include "run/late_listing.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLatestListing{60};

bool lists(const fs::path& folder, const std::string& name) {
  std::error_code unreadable;
  const fs::directory_iterator entries(folder, unreadable);
  return std::any_of(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    return entry.path().filename() == name;
  });
}

}  // namespace

void wait_until_listed(const fs::path& folder, const std::vector<std::string>& names) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& name : names) {
    while (std::ifstream(folder / name).good() && !lists(folder, name) &&
           std::chrono::steady_clock::now() - start < kLatestListing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

}  // namespace quench
