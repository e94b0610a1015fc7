#include "train/verify_trained.hpp"

#include <algorithm>
#include <system_error>

#include "core/error.hpp"
#include "train/trained_states.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory() && !it->path().filename().string().starts_with('.')) {
      out.push_back(it->path());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TrainedFaults verify_trained(const fs::path& home, Depth depth) {
  const TrainedStates states(home);
  TrainedFaults out;
  const auto verify = [&](const fs::path& folder) {
    ++out.checked;
    try {
      if (std::string fault = states.fault(folder, depth); !fault.empty()) {
        out.faults.push_back(std::move(fault));
      }
    } catch (const Error& error) {
      if (error.code() == QUENCH_CANCELLED) {
        throw;
      }
      out.faults.emplace_back(error.what());
    }
  };
  for (const fs::path& folder : folders_in(home / "training")) {
    const bool holds_sums = folder.extension() == ".sums";
    for (const fs::path& sealed : holds_sums ? folders_in(folder) : std::vector{folder}) {
      verify(sealed);
    }
  }
  for (const fs::path& folder : folders_in(home / "tokens")) {
    if (folder.extension() == ".packed") {
      verify(folder);
    }
  }
  return out;
}

}  // namespace quench
