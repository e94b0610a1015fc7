#include "run/cluster/task_states.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/parse_number.hpp"

namespace quench {

namespace {

constexpr uint64_t kMostIndices = 1'000'000;  // of one line of sacct

std::vector<std::string> fields_of(const std::string& line, char separator, size_t most) {
  std::vector<std::string> out;
  size_t begin = 0;
  while (out.size() + 1 < most) {
    const size_t end = line.find(separator, begin);
    if (end == std::string::npos) {
      break;
    }
    out.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  out.push_back(line.substr(begin));
  return out;
}

std::optional<uint64_t> number_of(std::string_view text) {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  while (text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  return parse_number<uint64_t>(text);
}

// "3,5-7%2"; nothing if it has another form.
std::optional<std::vector<uint64_t>> indices_of(const std::string& text) {
  std::vector<uint64_t> out;
  for (const std::string& part :
       fields_of(text.substr(0, text.find('%')), ',', static_cast<size_t>(-1))) {
    const std::vector<std::string> ends = fields_of(part, '-', 2);
    const auto first = number_of(ends.front());
    const auto last = number_of(ends.back());
    if (!first || !last || *last < *first || *last - *first + out.size() >= kMostIndices) {
      return std::nullopt;
    }
    for (uint64_t i = *first; i <= *last; ++i) {
      out.push_back(i);
    }
  }
  return out;
}

// "CANCELLED by 1000" is "cancelled", "NODE_FAIL" is "node fail". A state that is not known to be
// an end counts as active: so nothing is sent twice.
TaskState slurm_state(const std::string& word, const std::string& reason) {
  constexpr std::array<const char*, 11> kEnds = {
      "completed",     "failed",    "cancelled", "timeout", "preempted",    "node fail",
      "out of memory", "boot fail", "deadline",  "revoked", "launch failed"};
  TaskState out;
  for (const char c : word.substr(0, word.find_first_of(" +"))) {
    out.state += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  out.active = std::find(kEnds.begin(), kEnds.end(), out.state) == kEnds.end();
  const bool says_something = reason != "None" && reason != "(null)";
  out.reason = out.active && out.state != "running" && says_something ? reason : "";
  return out;
}

}  // namespace

TaskStates parse_squeue(const std::string& text, const std::string& job) {
  TaskStates out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = fields_of(line, '|', 4);
    if (fields.size() < 4 || fields[0] != job) {
      continue;
    }
    if (const auto index = number_of(fields[1])) {
      out[*index] = slurm_state(fields[2], fields[3]);
    }
  }
  return out;
}

TaskStates parse_sacct(const std::string& text, const std::string& job) {
  TaskStates out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = fields_of(line, '|', 2);
    if (fields.size() < 2 || !fields[0].starts_with(job + "_")) {
      continue;
    }
    std::string index = fields[0].substr(job.size() + 1);
    if (index.starts_with('[') && index.ends_with(']')) {
      index = index.substr(1, index.size() - 2);
    }
    if (const auto indices = indices_of(index)) {
      for (const uint64_t each : *indices) {
        out[each] = slurm_state(fields[1], "");
      }
    }
  }
  return out;
}

TaskStates parse_condor(const std::string& text) {
  // JobStatus 1..7 of the manual; 3 and 4 are ends.
  constexpr std::array<const char*, 8> kStates = {
      "", "idle", "running", "removed", "completed", "held", "transferring output", "suspended"};
  TaskStates out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = fields_of(line, ',', 4);
    const auto process = number_of(fields[0]);
    const auto status = fields.size() < 2 ? std::nullopt : number_of(fields[1]);
    if (!process || !status) {
      continue;
    }
    TaskState state;
    state.state = *status > 0 && *status < kStates.size() ? kStates[*status]
                                                          : "status " + std::to_string(*status);
    state.active = *status != 3 && *status != 4;
    const auto code = fields.size() < 3 ? std::nullopt : number_of(fields[2]);
    if (*status == 4 && code && *code != 0) {
      state.state = "failed";
      state.reason = "exit code " + std::to_string(*code);
    }
    if (*status == 5 && fields.size() == 4) {
      state.reason = fields[3].substr(std::min(fields[3].find_first_not_of(' '), fields[3].size()));
    }
    out[*process] = state;
  }
  return out;
}

}  // namespace quench
