#include "run/manifest/cluster_keys.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/config/amount.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMostCpus = 1 << 16;
constexpr long long kMostGpus = 1024;
constexpr long long kMostRetries = 10'000;
constexpr uint64_t kMostSeconds = uint64_t{366} * 86400;
constexpr size_t kLongestLine = 4096;

// The section while it is read.
struct Entry {
  Problems& problems;
  ManifestCluster out;
};

void complain(Entry& entry, const char* key, const YamlNode& node, const std::string& wanted) {
  entry.problems.add(
      node.place, fmt::format("cluster: `{}`: got {}, wanted {}", key, node.described(), wanted));
}

template <uint64_t ManifestCluster::*Member>
void read_count(MappingReader& reader, Entry& entry, const char* key, long long most) {
  const auto otherwise = static_cast<long long>(entry.out.*Member);
  entry.out.*Member = static_cast<uint64_t>(reader.integer(key, otherwise, 1, most));
}

template <uint64_t ManifestCluster::*Member>
void read_parsed(MappingReader& reader, Entry& entry, const char* key,
                 std::optional<uint64_t> (*parse)(std::string_view), const char* wanted) {
  const YamlNode* node = reader.get(key);
  if (node == nullptr) {
    return;
  }
  const auto value = node->is_scalar() ? parse(node->scalar) : std::nullopt;
  if (!value) {
    complain(entry, key, *node, wanted);
    return;
  }
  entry.out.*Member = *value;
}

// A name that stands alone in a line of the script.
template <std::string ManifestCluster::*Member>
void read_word(MappingReader& reader, Entry& entry, const char* key) {
  const YamlNode* node = reader.get(key);
  if (node == nullptr) {
    return;
  }
  const bool is_word = node->is_scalar() && !node->scalar.empty() &&
                       node->scalar.find_first_of(" \t\n\r\"'\\") == std::string::npos;
  if (!is_word) {
    complain(entry, key, *node, "one word");
    return;
  }
  entry.out.*Member = node->scalar;
}

constexpr const char* kDurationForms = "a time like 90m, 4h, 2d, 04:00:00 or 1-12:00:00";
constexpr const char* kSizeForms = "a size like 500MB, 32GB or 1.5TiB";

// What `submit` writes itself: given twice, the tasks would not do what it counts on.
const std::vector<std::string> kOwnSlurmOptions = {"--array",  "--output",  "--error",
                                                   "--signal", "--requeue", "--no-requeue",
                                                   "--chdir",  "--export"};

std::string fault_of_slurm_line(const std::string& line) {
  if (!line.starts_with("--") || line.size() == 2) {
    return "wanted an option of sbatch like --constraint=avx512";
  }
  const std::string name = line.substr(0, line.find_first_of("= "));
  for (const std::string& own : kOwnSlurmOptions) {
    if (name == own) {
      return fmt::format("`submit` sets {} itself", own);
    }
  }
  return "";
}

std::string fault_of_condor_line(const std::string& line) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos || equals == 0) {
    return "wanted a command of a submit file like requirements = (OpSysMajorVer == 9)";
  }
  return "";
}

std::string no_fault(const std::string&) {
  return "";
}

template <std::vector<std::string> ManifestCluster::*Member>
void read_lines(MappingReader& reader, Entry& entry, const char* key,
                std::string (*fault)(const std::string&)) {
  const YamlNode* node = reader.get(key);
  if (node == nullptr || node->is_null()) {
    return;
  }
  if (!node->is_sequence()) {
    complain(entry, key, *node, "a list of lines");
    return;
  }
  for (const YamlNode& item : node->items) {
    const bool is_line = item.is_scalar() && !item.scalar.empty() &&
                         item.scalar.find_first_of("\n\r") == std::string::npos &&
                         item.scalar.size() <= kLongestLine;
    if (!is_line) {
      complain(entry, key, item, "one line of text");
    } else if (const std::string why = fault(item.scalar); !why.empty()) {
      complain(entry, key, item, why.starts_with("wanted ") ? why.substr(7) : "nothing: " + why);
    } else {
      (entry.out.*Member).push_back(item.scalar);
    }
  }
}

// `2`, or `a100:2`.
void read_gpus(MappingReader& reader, Entry& entry) {
  const YamlNode* node = reader.get("gpus");
  if (node == nullptr) {
    return;
  }
  const std::string text = node->is_scalar() ? node->scalar : "";
  const size_t colon = text.rfind(':');
  const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::string type = colon == std::string::npos ? "" : text.substr(0, colon);
  const auto count = parse_number<long long>(digits);
  const bool sound = count && *count >= 0 && *count <= kMostGpus &&
                     (colon == std::string::npos || !type.empty()) &&
                     type.find_first_of(" \t\n\"'\\:") == std::string::npos;
  if (!sound) {
    complain(entry, "gpus", *node, "a number, or a type and a number like a100:2");
    return;
  }
  entry.out.gpus = static_cast<uint64_t>(*count);
  entry.out.gpu_type = type;
}

void read_to(MappingReader& reader, Entry& entry) {
  const YamlNode* node = reader.get("to");
  if (node == nullptr) {
    return;
  }
  entry.out.to = node->is_scalar() ? scheduler_of(node->scalar) : std::nullopt;
  if (!entry.out.to) {
    complain(entry, "to", *node, "slurm or htcondor");
  }
}

json whole_number(long long least, long long most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

json word_schema() {
  return {{"type", json::array({"string", "number"})}, {"pattern", "^[^ \\t\\n\"'\\\\]+$"}};
}

json lines_schema(const char* pattern) {
  return {{"type", json::array({"array", "null"})},
          {"items", {{"type", "string"}, {"pattern", pattern}}}};
}

json size_schema() {
  return {{"type", "string"}, {"pattern", "^[0-9]+([.][0-9]+)? ?[kMGT]i?B$"}};
}

// In the order of docs/configuration.md.
const std::vector<SectionKey<Entry>> kKeys = {
    {"to",
     [](const Catalog&) {
       return json{{"enum", {"slurm", "htcondor"}}, {"description", "Who runs the tasks"}};
     },
     read_to},
    {"shares",
     [](const Catalog&) {
       return described(whole_number(1, kMostTasks), "Tasks that the work is split into");
     },
     [](MappingReader& reader, Entry& entry) {
       read_count<&ManifestCluster::shares>(reader, entry, "shares", kMostTasks);
     }},
    {"at_once",
     [](const Catalog&) {
       return described(whole_number(1, kMostTasks), "Tasks that run at the same time, at most");
     },
     [](MappingReader& reader, Entry& entry) {
       read_count<&ManifestCluster::at_once>(reader, entry, "at_once", kMostTasks);
     }},
    {"time",
     [](const Catalog&) {
       return json{{"type", "string"},
                   {"pattern", "^([0-9]+[smhd]|([0-9]+-)?[0-9]{1,3}:[0-9]{2}:[0-9]{2})$"},
                   {"description", "Of one task, such as 4h (default: twice what plan estimates)"}};
     },
     [](MappingReader& reader, Entry& entry) {
       read_parsed<&ManifestCluster::time_seconds>(reader, entry, "time", parse_duration,
                                                   kDurationForms);
     }},
    {"memory",
     [](const Catalog&) {
       return described(size_schema(), "Of one task, such as 32GB (default: from plan's estimate)");
     },
     [](MappingReader& reader, Entry& entry) {
       read_parsed<&ManifestCluster::memory_bytes>(reader, entry, "memory", parse_size, kSizeForms);
     }},
    {"cpus",
     [](const Catalog&) { return described(whole_number(1, kMostCpus), "Threads of one task"); },
     [](MappingReader& reader, Entry& entry) {
       read_count<&ManifestCluster::cpus>(reader, entry, "cpus", kMostCpus);
     }},
    {"gpus",
     [](const Catalog&) {
       return json{{"anyOf",
                    {whole_number(0, kMostGpus),
                     {{"type", "string"}, {"pattern", "^([^ \\t\\n\"'\\\\:]+:)?[0-9]{1,4}$"}}}},
                   {"description", "Of one task: 1, or a100:1"}};
     },
     read_gpus},
    {"disk",
     [](const Catalog&) {
       return described(size_schema(), "Scratch space of one task, such as 20GB");
     },
     [](MappingReader& reader, Entry& entry) {
       read_parsed<&ManifestCluster::disk_bytes>(reader, entry, "disk", parse_size, kSizeForms);
     }},
    {"partition", [](const Catalog&) { return described(word_schema(), "Slurm's partition"); },
     [](MappingReader& reader, Entry& entry) {
       read_word<&ManifestCluster::partition>(reader, entry, "partition");
     }},
    {"account",
     [](const Catalog&) {
       return described(word_schema(), "Slurm's account, HTCondor's accounting group");
     },
     [](MappingReader& reader, Entry& entry) {
       read_word<&ManifestCluster::account>(reader, entry, "account");
     }},
    {"qos", [](const Catalog&) { return described(word_schema(), "Slurm's quality of service"); },
     [](MappingReader& reader, Entry& entry) {
       read_word<&ManifestCluster::qos>(reader, entry, "qos");
     }},
    {"grace",
     [](const Catalog&) {
       return json{{"type", "string"},
                   {"pattern", "^([0-9]+[smhd]|([0-9]+-)?[0-9]{1,3}:[0-9]{2}:[0-9]{2})$"},
                   {"default", "5m"},
                   {"description", "How long a task that must stop has to write its state"}};
     },
     [](MappingReader& reader, Entry& entry) {
       read_parsed<&ManifestCluster::grace_seconds>(reader, entry, "grace", parse_duration,
                                                    kDurationForms);
     }},
    {"requeue",
     [](const Catalog&) {
       return json{{"type", "boolean"},
                   {"default", true},
                   {"description", "Put a task back into the queue that was stopped unfinished"}};
     },
     [](MappingReader& reader, Entry& entry) { entry.out.requeue = reader.flag("requeue", true); }},
    {"retries",
     [](const Catalog&) {
       json out = described(whole_number(1, kMostRetries), "How often, at most");
       out["default"] = 20;
       return out;
     },
     [](MappingReader& reader, Entry& entry) {
       read_count<&ManifestCluster::retries>(reader, entry, "retries", kMostRetries);
     }},
    {"before",
     [](const Catalog&) {
       return described(lines_schema("^[^\\n\\r]+$"),
                        "Lines of shell before quench: module load x");
     },
     [](MappingReader& reader, Entry& entry) {
       read_lines<&ManifestCluster::before>(reader, entry, "before", no_fault);
     }},
    {"slurm",
     [](const Catalog&) {
       return described(lines_schema("^--[^\\n\\r]+$"), "Further options of sbatch");
     },
     [](MappingReader& reader, Entry& entry) {
       read_lines<&ManifestCluster::slurm>(reader, entry, "slurm", fault_of_slurm_line);
     }},
    {"htcondor",
     [](const Catalog&) {
       return described(lines_schema("^[^=\\n\\r]+=[^\\n\\r]*$"),
                        "Further commands of the submit file");
     },
     [](MappingReader& reader, Entry& entry) {
       read_lines<&ManifestCluster::htcondor>(reader, entry, "htcondor", fault_of_condor_line);
     }}};

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

const char* scheduler_name(Scheduler scheduler) {
  return scheduler == Scheduler::kSlurm ? "slurm" : "htcondor";
}

std::optional<Scheduler> scheduler_of(std::string_view name) {
  for (const Scheduler scheduler : {Scheduler::kSlurm, Scheduler::kHtcondor}) {
    if (name == scheduler_name(scheduler)) {
      return scheduler;
    }
  }
  return std::nullopt;
}

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

json cluster_schema(const Catalog& catalog) {
  json out = section_schema<Entry>(kKeys, catalog);
  out["type"] = json::array({"object", "null"});
  return out;
}

ManifestCluster read_cluster(const YamlNode& node, Problems& problems) {
  if (node.is_null()) {
    return {};
  }
  MappingReader reader(node, "cluster", problems);
  Entry entry{problems, {}};
  read_section<Entry>(kKeys, reader, entry);
  return entry.out;
}

}  // namespace quench
