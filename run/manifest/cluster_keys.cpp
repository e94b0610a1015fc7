#include "run/manifest/cluster_keys.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMostCpus = 1 << 16;
constexpr long long kMostGpus = 1024;
constexpr long long kMostRetries = 10'000;
constexpr uint64_t kMostSeconds = uint64_t{366} * 86400;
constexpr size_t kLongestLine = 4096;

// A key: its schema, with its range and default, and how its value is read. A value that stays null
// is not given.
struct Key {
  const char* name;
  json schema;
  void (*read)(const Key& key, MappingReader& reader, Problems& problems, json& value);
  json (*parse)(const std::string& text) = nullptr;  // null: the text has another form
  const char* wanted = "";                           // that form
  std::string (*fault)(const std::string& line) = nullptr;
};

void complain(Problems& problems, const Key& key, const YamlNode& node, const std::string& wanted) {
  problems.add(node.place,
               fmt::format("cluster: `{}`: got {}, wanted {}", key.name, node.described(), wanted));
}

void read_count(const Key& key, MappingReader& reader, Problems&, json& value) {
  const long long count = reader.integer(key.name, key.schema.value("default", 0LL), 1,
                                         key.schema.at("maximum").get<long long>());
  if (count > 0) {
    value = count;
  }
}

void read_flag(const Key& key, MappingReader& reader, Problems&, json& value) {
  value = reader.flag(key.name, key.schema.at("default").get<bool>());
}

void read_text(const Key& key, MappingReader& reader, Problems& problems, json& value) {
  const YamlNode* node = reader.get(key.name);
  if (node == nullptr) {
    if (key.schema.contains("default")) {
      value = key.parse(key.schema.at("default").get<std::string>());
    }
    return;
  }
  value = node->is_scalar() ? key.parse(node->scalar) : json();
  if (value.is_null()) {
    complain(problems, key, *node, key.wanted);
  }
}

void read_lines(const Key& key, MappingReader& reader, Problems& problems, json& value) {
  const YamlNode* node = reader.get(key.name);
  if (node == nullptr || node->is_null()) {
    return;
  }
  if (!node->is_sequence()) {
    complain(problems, key, *node, "a list of lines");
    return;
  }
  value = json::array();
  for (const YamlNode& item : node->items) {
    const bool is_line = item.is_scalar() && !item.scalar.empty() &&
                         item.scalar.find_first_of("\n\r") == std::string::npos &&
                         item.scalar.size() <= kLongestLine;
    const std::string fault = is_line && key.fault != nullptr ? key.fault(item.scalar) : "";
    if (!is_line || !fault.empty()) {
      complain(problems, key, item, is_line ? fault : "one line of text");
    } else {
      value.push_back(item.scalar);
    }
  }
}

json parsed(const std::optional<uint64_t>& number) {
  return number ? json(*number) : json();
}

json parse_scheduler(const std::string& text) {
  return text == "slurm" || text == "htcondor" ? json(text) : json();
}

// A name that stands alone in a line of the script.
json parse_word(const std::string& text) {
  return text.empty() || text.find_first_of(" \t\n\r\"'\\") != std::string::npos ? json()
                                                                                 : json(text);
}

// `2`, or `a100:2`.
json parse_gpus(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string type = colon == std::string::npos ? "" : text.substr(0, colon);
  const auto count =
      parse_number<long long>(colon == std::string::npos ? text : text.substr(colon + 1));
  const bool sound = count && *count >= 0 && *count <= kMostGpus &&
                     (colon == std::string::npos || !type.empty()) &&
                     type.find_first_of(" \t\n\"'\\:") == std::string::npos;
  return sound ? json(text) : json();
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

Key count_key(const char* name, const char* description, long long most) {
  return {name,
          {{"type", "integer"}, {"minimum", 1}, {"maximum", most}, {"description", description}},
          read_count};
}

Key time_key(const char* name, const char* description) {
  return {name,
          {{"type", "string"},
           {"pattern", "^([0-9]+[smhd]|([0-9]+-)?[0-9]{1,3}:[0-9]{2}:[0-9]{2})$"},
           {"description", description}},
          read_text,
          [](const std::string& text) { return parsed(parse_duration(text)); },
          "a time like 90m, 4h, 2d, 04:00:00 or 1-12:00:00"};
}

Key size_key(const char* name, const char* description) {
  return {name,
          {{"type", "string"},
           {"pattern", "^[0-9]+([.][0-9]+)? ?[kMGT]i?B$"},
           {"description", description}},
          read_text,
          [](const std::string& text) { return parsed(parse_size(text)); },
          "a size like 500MB, 32GB or 1.5TiB"};
}

Key word_key(const char* name, const char* description) {
  return {name,
          {{"type", {"string", "number"}},
           {"pattern", "^[^ \\t\\n\"'\\\\]+$"},
           {"description", description}},
          read_text,
          parse_word,
          "one word"};
}

Key lines_key(const char* name, const char* description, const char* pattern,
              std::string (*fault)(const std::string&)) {
  return {name,
          {{"type", {"array", "null"}},
           {"items", {{"type", "string"}, {"pattern", pattern}}},
           {"description", description}},
          read_lines,
          nullptr,
          "",
          fault};
}

Key with_default(Key key, const json& value) {
  key.schema["default"] = value;
  return key;
}

// In the order of docs/configuration.md.
const std::vector<Key>& keys() {
  static const std::vector<Key> kKeys = {
      {"to",
       {{"enum", {"slurm", "htcondor"}}, {"description", "Who runs the tasks"}},
       read_text,
       parse_scheduler,
       "slurm or htcondor"},
      count_key("shares", "Tasks that the work is split into", kMostTasks),
      count_key("at_once", "Tasks that run at the same time, at most", kMostTasks),
      time_key("time", "Of one task, such as 4h (default: twice what plan estimates)"),
      size_key("memory", "Of one task, such as 32GB (default: from plan's estimate)"),
      count_key("cpus", "Threads of one task", kMostCpus),
      {"gpus",
       {{"anyOf",
         {{{"type", "integer"}, {"minimum", 0}, {"maximum", kMostGpus}},
          {{"type", "string"}, {"pattern", "^([^ \\t\\n\"'\\\\:]+:)?[0-9]{1,4}$"}}}},
        {"description", "Of one task: 1, or a100:1"}},
       read_text,
       parse_gpus,
       "a number, or a type and a number like a100:2"},
      size_key("disk", "Scratch space of one task, such as 20GB"),
      word_key("partition", "Slurm's partition"),
      word_key("account", "Slurm's account, HTCondor's accounting group"),
      word_key("qos", "Slurm's quality of service"),
      with_default(time_key("grace", "How long a task that must stop has to write its state"),
                   "5m"),
      {"requeue",
       {{"type", "boolean"},
        {"default", true},
        {"description", "Put a task back into the queue that was stopped unfinished"}},
       read_flag},
      with_default(count_key("retries", "How often, at most", kMostRetries), 20),
      lines_key("before", "Lines of shell before quench: module load x", "^[^\\n\\r]+$", nullptr),
      lines_key("slurm", "Further options of sbatch", "^--[^\\n\\r]+$", fault_of_slurm_line),
      lines_key("htcondor", "Further commands of the submit file", "^[^=\\n\\r]+=[^\\n\\r]*$",
                fault_of_condor_line)};
  return kKeys;
}

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

json cluster_schema() {
  json properties = json::object();
  for (const Key& key : keys()) {
    properties[key.name] = key.schema;
  }
  json out = closed(std::move(properties));
  out["type"] = {"object", "null"};
  return out;
}

json read_cluster(const YamlNode* node, Problems& problems) {
  YamlNode nothing;
  nothing.kind = YamlNode::Kind::kMapping;
  MappingReader reader(node == nullptr || node->is_null() ? nothing : *node, "cluster", problems);
  json out = json::object();
  for (const Key& key : keys()) {
    json value;
    key.read(key, reader, problems, value);
    if (!value.is_null()) {
      out[key.name] = std::move(value);
    }
  }
  reader.finish();
  return out;
}

}  // namespace quench
