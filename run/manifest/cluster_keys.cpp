#include "run/manifest/cluster_keys.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config/amount.hpp"
#include "core/parse_number.hpp"
#include "run/manifest/fields.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMostCpus = 1 << 16;
constexpr long long kMostGpus = 1024;
constexpr long long kMostRetries = 10'000;
constexpr uint64_t kMostSeconds = uint64_t{366} * 86400;
constexpr size_t kLongestLine = 4096;

// The section as Python reads it; a key that is not given and has no default is not there.
using Cluster = json;
using ClusterFields = Fields<Cluster>;

// The member that a key fills.
auto at(const char* name) {
  return [name](Cluster& cluster) -> json& { return cluster[name]; };
}

// A name that stands alone in a line of the script.
std::optional<std::string> parse_word(const std::string& text) {
  const bool sound = !text.empty() && text.find_first_of(" \t\n\r\"'\\") == std::string::npos;
  return sound ? std::optional(text) : std::nullopt;
}

std::optional<std::string> parse_scheduler(const std::string& text) {
  return text == "slurm" || text == "htcondor" ? std::optional(text) : std::nullopt;
}

// `2`, or `a100:2`.
std::optional<std::string> parse_gpus(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string type = colon == std::string::npos ? "" : text.substr(0, colon);
  const auto count =
      parse_number<long long>(colon == std::string::npos ? text : text.substr(colon + 1));
  const bool sound = count && *count >= 0 && *count <= kMostGpus &&
                     (colon == std::string::npos || !type.empty()) &&
                     type.find_first_of(" \t\n\"'\\:") == std::string::npos;
  return sound ? std::optional(text) : std::nullopt;
}

// What `submit` writes itself: given twice, the tasks would not do what it counts on.
const std::vector<std::string> kOwnSlurmOptions = {"--array",  "--output",  "--error",
                                                   "--signal", "--requeue", "--no-requeue",
                                                   "--chdir",  "--export"};

std::string fault_of_slurm_line(const std::string& line) {
  if (!line.starts_with("--") || line.size() == 2) {
    return "an option of sbatch like --constraint=avx512";
  }
  const std::string name = line.substr(0, line.find_first_of("= "));
  for (const std::string& own : kOwnSlurmOptions) {
    if (name == own) {
      return fmt::format("nothing: `submit` sets {} itself", own);
    }
  }
  return "";
}

std::string fault_of_condor_line(const std::string& line) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos || equals == 0) {
    return "a command of a submit file like requirements = (OpSysMajorVer == 9)";
  }
  return "";
}

std::string fault_of_shell_line(const std::string&) {
  return "";
}

// ---- kinds of keys

ClusterFields::Field& add_count(ClusterFields& f, const char* name, long long most,
                                const char* meaning) {
  return f.integer(name, at(name), 1, most, meaning);
}

ClusterFields::Field& add_time(ClusterFields& f, const char* name, const char* meaning) {
  return f.parsed(
      name, at(name), parse_duration, "a time like 90m, 4h, 2d, 04:00:00 or 1-12:00:00",
      {{"type", "string"}, {"pattern", "^([0-9]+[smhd]|([0-9]+-)?[0-9]{1,3}:[0-9]{2}:[0-9]{2})$"}},
      meaning);
}

void add_size(ClusterFields& f, const char* name, const char* meaning) {
  f.parsed(name, at(name), parse_size, "a size like 500MB, 32GB or 1.5TiB",
           {{"type", "string"}, {"pattern", "^[0-9]+([.][0-9]+)? ?[kMGT]i?B$"}}, meaning);
}

void add_word(ClusterFields& f, const char* name, const char* meaning) {
  f.parsed(name, at(name), parse_word, "one word",
           {{"type", {"string", "number"}}, {"pattern", "^[^ \\t\\n\"'\\\\]+$"}}, meaning);
}

// Lines of text; `fault` says what a line must be, if it is not.
void add_lines(ClusterFields& f, const char* name, const char* meaning, const char* pattern,
               std::string (*fault)(const std::string& line)) {
  f.list(
       name, at(name), "a list of lines", {{"type", "string"}, {"pattern", pattern}},
       [fault](const YamlNode& item, json& lines) -> std::string {
         const bool is_line = item.is_scalar() && !item.scalar.empty() &&
                              item.scalar.find_first_of("\n\r") == std::string::npos &&
                              item.scalar.size() <= kLongestLine;
         const std::string wanted = is_line ? fault(item.scalar) : "one line of text";
         if (!wanted.empty()) {
           return unlike(item, wanted);
         }
         lines.push_back(item.scalar);
         return "";
       },
       meaning, /*least=*/0)
      .or_null();
}

// In the order of docs/configuration.md.
const ClusterFields kCluster([](ClusterFields& f) {
  f.parsed("to", at("to"), parse_scheduler, "slurm or htcondor", {{"enum", {"slurm", "htcondor"}}},
           "Who runs the tasks");
  add_count(f, "shares", kMostTasks, "Tasks that the work is split into");
  add_count(f, "at_once", kMostTasks, "Tasks that run at the same time, at most");
  add_time(f, "time", "Of one task, such as 4h (default: twice what plan estimates)");
  add_size(f, "memory", "Of one task, such as 32GB (default: from plan's estimate)");
  add_count(f, "cpus", kMostCpus, "Threads of one task");
  f.parsed("gpus", at("gpus"), parse_gpus, "a number, or a type and a number like a100:2",
           {{"anyOf",
             {{{"type", "integer"}, {"minimum", 0}, {"maximum", kMostGpus}},
              {{"type", "string"}, {"pattern", "^([^ \\t\\n\"'\\\\:]+:)?[0-9]{1,4}$"}}}}},
           "Of one task: 1, or a100:1");
  add_size(f, "disk", "Scratch space of one task, such as 20GB");
  add_word(f, "partition", "Slurm's partition");
  add_word(f, "account", "Slurm's account, HTCondor's accounting group");
  add_word(f, "qos", "Slurm's quality of service");
  add_time(f, "grace", "How long a task that must stop has to write its state")
      .schema({{"default", "5m"}});
  f.flag("requeue", at("requeue"), "Put a task back into the queue that was stopped unfinished")
      .schema({{"default", true}});
  add_count(f, "retries", kMostRetries, "How often, at most").schema({{"default", 20}});
  add_lines(f, "before", "Lines of shell before quench: module load x", "^[^\\n\\r]+$",
            fault_of_shell_line);
  add_lines(f, "slurm", "Further options of sbatch", "^--[^\\n\\r]+$", fault_of_slurm_line);
  add_lines(f, "htcondor", "Further commands of the submit file", "^[^=\\n\\r]+=[^\\n\\r]*$",
            fault_of_condor_line);
});

std::optional<uint64_t> within_a_year(uint64_t seconds) {
  return seconds > 0 && seconds <= kMostSeconds ? std::optional(seconds) : std::nullopt;
}

// "1-12:00:00" or "04:00:00".
std::optional<uint64_t> clock_seconds(std::string_view text) {
  uint64_t days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto read = parse_number<uint64_t>(text.substr(0, dash));
    if (!read || *read > 366) {
      return std::nullopt;
    }
    days = *read;
    text.remove_prefix(dash + 1);
  }
  const size_t first = text.find(':');
  const size_t second = text.rfind(':');
  if (first == std::string_view::npos || second == first) {
    return std::nullopt;
  }
  const auto hours = parse_number<uint64_t>(text.substr(0, first));
  const auto minutes = parse_number<uint64_t>(text.substr(first + 1, second - first - 1));
  const auto seconds = parse_number<uint64_t>(text.substr(second + 1));
  const bool two_digits = second - first == 3 && text.size() - second == 3;
  if (!hours || !minutes || !seconds || !two_digits || *hours > 999 || *minutes > 59 ||
      *seconds > 59) {
    return std::nullopt;
  }
  return within_a_year(days * 86400 + *hours * 3600 + *minutes * 60 + *seconds);
}

}  // namespace

std::optional<uint64_t> parse_duration(std::string_view text) {
  if (text.find(':') != std::string_view::npos) {
    return clock_seconds(text);
  }
  constexpr std::array<std::pair<char, uint64_t>, 4> kUnits = {
      {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.empty() && text.back() == unit) {
      const auto count = parse_number<uint64_t>(text.substr(0, text.size() - 1));
      return count && *count <= kMostSeconds ? within_a_year(*count * seconds) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  const std::optional<uint64_t> bytes = text.ends_with('B') ? parse_bytes(text) : std::nullopt;
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

const Fields<json>& cluster_keys() {
  return kCluster;
}

json usual_cluster() {
  return {{"grace", 300}, {"requeue", true}, {"retries", 20}};
}

}  // namespace quench
