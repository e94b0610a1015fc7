#include "core/store/attempt_name.hpp"

#include <algorithm>
#include <random>
#include <system_error>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

bool all_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// Parses "<job>-[<number>-]<8 hex>" from its end.
AttemptName parse(const std::string& stem) {
  AttemptName out;
  const size_t last = stem.rfind('-');
  if (last == std::string::npos || !all_of(stem.substr(last + 1), "0123456789abcdef")) {
    out.job = stem;
    return out;
  }
  out.job = stem.substr(0, last);
  out.id = stem.substr(last + 1);
  const size_t before = out.job.rfind('-');
  const std::string number = before == std::string::npos ? "" : out.job.substr(before + 1);
  if (all_of(number, "0123456789") && number.size() < 19) {
    out.number = std::stoull(number);
    out.id = stem.substr(before + 1);
    out.job.resize(before);
  }
  return out;
}

}  // namespace

std::vector<AttemptName> find_attempts(const fs::path& folder, const std::string& prefix,
                                       const std::string& extension) {
  std::vector<AttemptName> out;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) {
    return out;
  }
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(prefix + "-") && name.ends_with(extension)) {
      const size_t begin = prefix.size() + 1;
      out.push_back(parse(name.substr(begin, name.size() - begin - extension.size())));
      out.back().path = entries->path();
    }
  }
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string next_attempt(const fs::path& folder, const std::string& job) {
  uint64_t number = 0;
  for (const AttemptName& name : find_attempts(folder, "records", ".jsonl")) {
    if (name.job == job) {
      number = std::max(number, name.number);
    }
  }
  std::random_device random;
  return fmt::format("{:04}-{:08x}", number + 1, random());
}

}  // namespace quench
