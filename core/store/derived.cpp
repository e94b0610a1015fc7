#include "core/store/derived.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/json_members.hpp"

namespace quench {

namespace {

using nlohmann::json;

// difference(float value, quantized value) / scale(float value), per unit and direction.
struct Derivation {
  std::string_view name;
  std::string_view unit;
  int direction;
  double (*value)(double floating, double quantized);
  double (*scale)(double floating);
  const char* impossible;  // why the scale is 0
};

constexpr Derivation kDerivations[] = {
    {"quantization_error", "nats/token", -1, [](double f, double q) { return q / f - 1; },
     [](double f) { return f; }, "the float loss is 0, so there is no ratio to it"},
    {"relative_accuracy_drop", "accuracy", 1, [](double f, double q) { return (f - q) / (1 - f); },
     [](double f) { return 1 - f; },
     "the float model makes no error, so there is no ratio to its errors"},
};
// Members of a record's field, sorted by name as in canonical JSON; none: the whole field.
struct CommonField {
  std::string_view name;
  std::span<const std::string_view> members;
};

constexpr std::string_view kAveraging[] = {"id", "label", "members", "params"};
constexpr std::string_view kCheckpoint[] = {"branch",   "commit", "model",
                                            "revision", "step",   "tokens"};
constexpr std::string_view kDetails[] = {"corpora", "params"};
constexpr std::string_view kEnvironment[] = {"device", "dtype", "family", "isa"};
constexpr std::string_view kParts[] = {"averaging", "config",    "family",     "host",   "metric",
                                       "seed",      "tokenizer", "trajectory", "weights"};
constexpr CommonField kCommon[] = {
    {"environment", kEnvironment}, {"metric", {}}, {"parts", kParts}, {"unit", {}}};
// Say as a manifest does what `parts` says by content, so that they count only in its place: one
// corpus, and one checkpoint, may have two names.
constexpr CommonField kNamed[] = {
    {"averaging", kAveraging}, {"checkpoint", kCheckpoint}, {"details", kDetails}, {"label", {}}};

bool has(std::span<const std::string_view> members, std::string_view name) {
  return std::find(members.begin(), members.end(), name) != members.end();
}

void append(std::string_view field, std::string_view member, std::string_view text,
            std::string& out) {
  if (text != "null") {  // null counts as missing
    out.append(field).append(".").append(member).append("=").append(text).append("\n");
  }
}

// Appends what the line has of a field.
void append_field(const CommonField& common, const RecordLine& line, std::string& out) {
  const std::string_view text = line.field(common.name);
  if (common.members.empty()) {
    append(common.name, "", text, out);
  } else if (text.starts_with('{')) {
    JsonMembers members(text);
    while (members.next()) {
      if (has(common.members, members.name())) {
        append(common.name, members.name(), members.value(), out);
      }
    }
  }
}

// Everything that a float and a quantized value must share to be comparable, as text: weights,
// metric, corpora, environment, by the contents in the parts of their keys; only where a record has
// none by their names.
std::string common_ground(const RecordLine& line) {
  std::string out;
  for (const CommonField& common : kCommon) {
    append_field(common, line, out);
  }
  const auto says = [&](std::string_view part) { return out.find(part) != std::string::npos; };
  const bool metric = says("\nparts.metric=");
  const bool weights = says("\nparts.weights=") || says("\nparts.averaging=");
  for (const CommonField& named : kNamed) {
    if (!metric || (!weights && named.name != "details")) {
      append_field(named, line, out);
    }
  }
  return out;
}

double number_of(std::string_view text) {
  if (text.size() > 2 && text.front() == '"') {  // NaN, Infinity, -Infinity
    text = text.substr(1, text.size() - 2);
  }
  double out = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// [1.5,2.0]
std::vector<double> numbers_of(std::string_view list) {
  std::vector<double> out;
  while (list.size() > 2) {
    const size_t end = std::min(list.find(',', 1), list.size() - 1);
    out.push_back(number_of(list.substr(1, end - 1)));
    list.remove_prefix(end);
  }
  return out;
}

// The standard error of the mean difference of paired items (the spread between items cancels);
// nothing if it cannot be computed.
std::optional<double> paired_error(const std::vector<double>& floating,
                                   const std::vector<double>& quantized) {
  const size_t n = floating.size();
  if (n < 2 || quantized.size() != n) {
    return std::nullopt;
  }
  double mean = 0;
  for (size_t i = 0; i < n; ++i) {
    mean += quantized[i] - floating[i];
  }
  mean /= static_cast<double>(n);
  double squares = 0;
  for (size_t i = 0; i < n; ++i) {
    const double deviation = quantized[i] - floating[i] - mean;
    squares += deviation * deviation;
  }
  return std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
}

std::string text_of(double value) {
  return canonical_json(json_number(value));
}

struct FieldText {
  std::string_view name;
  std::string text;
};

// The fields in which a derived record differs from the quantized one, as canonical JSON.
std::vector<FieldText> own_fields(const Derivation& derivation, const RecordLine& floating,
                                  const RecordLine& quantized) {
  const double f = number_of(floating.field("value"));
  const double q = number_of(quantized.field("value"));
  std::string value = "null";
  std::string standard_error = "null";
  std::string details = "{}";
  std::string error = "null";
  if (derivation.scale(f) == 0) {
    error = fmt::format("\"{}: {}\"", derivation.name, derivation.impossible);
  } else {
    const std::vector<double> items = numbers_of(floating.field("items"));
    const auto spread = paired_error(items, numbers_of(quantized.field("items")));
    value = text_of(derivation.value(f, q));
    details = fmt::format("{{\"delta\":{},", text_of(q - f));
    if (spread) {
      standard_error = text_of(*spread / derivation.scale(f));
      details += fmt::format("\"delta_stderr\":{},", text_of(*spread));
    }
    details += fmt::format("\"float\":{},", text_of(f));
    if (spread) {
      details += fmt::format("\"items\":{},", items.size());
    }
    details +=
        fmt::format("\"metric\":{},\"quantized\":{}}}", quantized.field("metric"), text_of(q));
  }
  return {
      {"cached", "null"},  {"count", "1"},     {"details", details},
      {"direction", "-1"}, {"error", error},   {"index", "0"},
      {"items", "[]"},     {"key", "\"\""},    {"metric", fmt::format("\"{}\"", derivation.name)},
      {"parts", "null"},   {"seconds", "0.0"}, {"stderr", standard_error},
      {"unit", "\"1\""},   {"value", value}};
}

// The derived record as canonical JSON.
std::string body_of(const Derivation& derivation, const RecordLine& floating,
                    const RecordLine& quantized) {
  const std::vector<FieldText> own = own_fields(derivation, floating, quantized);
  std::string out;
  const auto fields = record_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto found = std::find_if(own.begin(), own.end(), [&](const FieldText& field) {
      return field.name == fields[i].name;
    });
    const std::string_view text =
        found == own.end() ? quantized.fields[i] : std::string_view(found->text);
    out.append(out.empty() ? "{\"" : ",\"").append(fields[i].name).append("\":").append(text);
  }
  return out + "}";
}

// "accuracy of 999 of 1000 questions" is an accuracy, too; it is compared with one of as many,
// since values that are compared share their unit.
bool is_of_unit(std::string_view unit, std::string_view wanted) {
  return unit == wanted ||
         (unit.starts_with(wanted) && unit.substr(wanted.size()).starts_with(" of "));
}

// The derivation that a line takes part in; nullptr for all other lines.
const Derivation* derivation_of(const RecordLine& line) {
  const auto matches = [&](const Derivation& derivation) {
    return is_of_unit(plain_text(line.field("unit")), derivation.unit) &&
           line.field("direction") == (derivation.direction > 0 ? "1" : "-1");
  };
  const auto found = std::find_if(std::begin(kDerivations), std::end(kDerivations), matches);
  const bool measured = line.index == 0 && !line.failed && line.field("value") != "null";
  return measured && found != std::end(kDerivations) ? &*found : nullptr;
}

bool is_float(const RecordLine& line) {
  return line.field("quantizer") == "null";
}

uint64_t job_of(const RecordLine& line) {
  const std::string_view text = line.field("job");
  uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// For each counted line, the body of the record derived from it; "" for most, and nothing for one
// whose float value is not there.
std::vector<std::optional<std::string>> derive(const RunScan& scan) {
  // By common ground and point of the sweep; the first value of both counts.
  std::unordered_map<std::string, std::map<uint64_t, size_t>> floats;
  for (const size_t i : scan.counted) {
    const RecordLine& line = scan.lines[i];
    if (derivation_of(line) != nullptr && is_float(line)) {
      floats[common_ground(line)].emplace(job_of(line), i);
    }
  }
  std::vector<std::optional<std::string>> out(scan.counted.size(), "");
  tbb::parallel_for(size_t{0}, out.size(), [&](size_t i) {
    const RecordLine& line = scan.lines[scan.counted[i]];
    const Derivation* derivation = derivation_of(line);
    if (derivation == nullptr || is_float(line)) {
      return;
    }
    const auto found = floats.find(common_ground(line));
    if (found == floats.end()) {
      out[i] = std::nullopt;
      return;
    }
    const auto same_job = found->second.find(job_of(line));
    const auto& place = same_job != found->second.end() ? *same_job : *found->second.begin();
    out[i] = body_of(*derivation, scan.lines[place.second], line);
  });
  return out;
}

}  // namespace

bool is_derived(std::string_view metric) {
  return std::any_of(std::begin(kDerivations), std::end(kDerivations),
                     [&](const Derivation& derivation) { return derivation.name == metric; });
}

std::vector<size_t> add_derived(RunScan& scan) {
  const auto bodies = std::make_shared<const std::vector<std::optional<std::string>>>(derive(scan));
  const std::vector<size_t> counted = scan.counted;
  std::vector<size_t> alone;
  for (size_t i = 0; i < counted.size(); ++i) {
    const std::optional<std::string>& body = (*bodies)[i];
    if (!body) {
      alone.push_back(counted[i]);
    }
    if (!body || body->empty()) {
      continue;
    }
    const RecordLine& quantized = scan.lines[counted[i]];
    RecordLine line = record_line(*body);
    line.file = quantized.file;
    line.line = quantized.line;
    line.offset = quantized.offset;
    scan.counted.push_back(scan.lines.size());
    scan.lines.push_back(line);
  }
  scan.contents.push_back(bodies);
  return alone;
}

std::vector<Record> with_derived(const std::vector<Record>& records) {
  std::vector<std::string> texts;
  RunScan scan;
  for (const Record& record : records) {
    texts.push_back(canonical_json(to_json(record)));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    scan.counted.push_back(i);
    scan.lines.push_back(record_line(texts[i]));
  }
  const std::vector<std::optional<std::string>> bodies = derive(scan);
  std::vector<Record> out;
  std::vector<Record> waiting;  // for the end of their evaluation
  for (size_t i = 0; i < records.size(); ++i) {
    out.push_back(records[i]);
    if (bodies[i] && !bodies[i]->empty()) {
      waiting.push_back(record_from_json(parse_json(*bodies[i], "derived value"), "derived value"));
    }
    if (records[i].index + 1 == records[i].count) {
      std::move(waiting.begin(), waiting.end(), std::back_inserter(out));
      waiting.clear();
    }
  }
  return out;
}

}  // namespace quench
