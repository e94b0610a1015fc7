#include "core/store/record_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/store/derived.hpp"
#include "core/store/json_members.hpp"
#include "core/store/record.hpp"

namespace quench {

namespace {

void add_values(const std::string& path, const nlohmann::json& value,
                std::vector<SweepValue>& out) {
  if (!value.is_object() || value.empty()) {
    out.emplace_back(path, value);
    return;
  }
  for (const auto& [name, inner] : value.items()) {
    add_values(path.empty() ? name : fmt::format("{}.{}", path, name), inner, out);
  }
}

// The last `words` words of a dotted path.
std::string ending(const std::string& path, size_t words) {
  size_t from = path.size();
  for (size_t i = 0; i < words && from != std::string::npos && from > 0; ++i) {
    from = path.rfind('.', from - 1);
  }
  return from == std::string::npos || from == 0 ? path : path.substr(from + 1);
}

}  // namespace

std::vector<SweepValue> sweep_values(const nlohmann::json& point) {
  std::vector<SweepValue> out;
  if (point.is_object() && !point.empty()) {
    add_values("", point, out);
  }
  return out;
}

std::vector<std::string> short_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    size_t words = 1;
    const auto is_shared = [&](const std::string& other) {
      return other != path && ending(other, words) == ending(path, words);
    };
    while (ending(path, words) != path && std::any_of(paths.begin(), paths.end(), is_shared)) {
      ++words;
    }
    out.push_back(ending(path, words));
  }
  return out;
}

namespace {

// Numbers and texts in one column are texts; a list makes it JSON.
ColumnType type_of(const nlohmann::json& value) {
  return value.is_structured()       ? ColumnType::kJson
         : value.is_number_integer() ? ColumnType::kInteger
         : value.is_number()         ? ColumnType::kReal
                                     : ColumnType::kText;
}

ColumnType common_type(ColumnType a, ColumnType b) {
  if (a == ColumnType::kJson || b == ColumnType::kJson) {
    return ColumnType::kJson;
  }
  if (a == ColumnType::kText || b == ColumnType::kText) {
    return ColumnType::kText;
  }
  return a == b ? a : ColumnType::kReal;
}

constexpr size_t kMostKnown = 4096;

double number_or(std::string_view text, double otherwise) {
  double out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

bool is_null(std::string_view text) {
  return text.empty() || text == "null";
}

// Ranks distinct texts by `key_of`, so that rows compare integers.
template <typename KeyOf>
class Ranks {
 public:
  Ranks(const RunScan& scan, const std::vector<size_t>& lines, size_t field, KeyOf key_of) {
    std::vector<std::string_view> texts;
    for (const size_t i : lines) {
      const std::string_view text = scan.lines[i].fields[field];
      if (rank_.emplace(text, 0).second) {
        texts.push_back(text);
      }
    }
    std::sort(texts.begin(), texts.end(), [&](std::string_view a, std::string_view b) {
      return std::tuple(key_of(a), a) < std::tuple(key_of(b), b);
    });
    for (size_t i = 0; i < texts.size(); ++i) {
      rank_[texts[i]] = i;
    }
  }
  size_t operator()(std::string_view text) const { return rank_.at(text); }

 private:
  std::unordered_map<std::string_view, size_t> rank_;
};

size_t field_index(std::string_view name) {
  const auto fields = record_fields();
  return static_cast<size_t>(
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; }) -
      fields.begin());
}

}  // namespace

const std::vector<RecordColumn>& record_columns() {
  static const std::vector<RecordColumn> columns = {
      {"job", "job", ColumnType::kInteger},
      {"model", "checkpoint.model", ColumnType::kText},
      {"revision", "checkpoint.revision", ColumnType::kText},
      {"commit", "checkpoint.commit", ColumnType::kText},
      {"branch", "checkpoint.branch", ColumnType::kText},
      {"phase", "checkpoint.phase", ColumnType::kText},
      {"step", "checkpoint.step", ColumnType::kInteger},
      {"tokens", "checkpoint.tokens", ColumnType::kInteger},
      {"lr", "checkpoint.lr", ColumnType::kReal},
      {"averaging_label", "averaging.label", ColumnType::kText},
      {"quantizer_id", "quantizer.id", ColumnType::kText},
      {"quantizer_label", "quantizer.label", ColumnType::kText},
      {"bits_per_weight", "quantizer.bits_per_weight", ColumnType::kReal},
      {"params", "quantizer.params", ColumnType::kJson},
      {"calibration", "quantizer.calibration", ColumnType::kText},
      {"stored_bytes", "details.stored_bytes", ColumnType::kReal},
      {"draw", "draw", ColumnType::kInteger},
      {"jitter", "jitter", ColumnType::kInteger},
      {"metric", "metric", ColumnType::kText},
      {"label", "label", ColumnType::kText},
      {"value", "value", ColumnType::kReal},
      {"stderr", "stderr", ColumnType::kReal},
      {"unit", "unit", ColumnType::kText},
      {"direction", "direction", ColumnType::kInteger},
      {"error", "error", ColumnType::kText},
      {"seconds", "seconds", ColumnType::kReal},
      {"family", "environment.family", ColumnType::kText},
      {"dtype", "environment.dtype", ColumnType::kText},
      {"device", "environment.device", ColumnType::kText},
      {"seed", "environment.seed", ColumnType::kInteger},
      {"cached", "cached", ColumnType::kText},
      {"key", "key", ColumnType::kText},
  };
  return columns;
}

std::vector<RecordColumn> columns_of(const RunScan& scan, const std::vector<size_t>& lines) {
  std::set<std::string_view> points;
  for (const size_t i : lines) {
    points.insert(json_member(scan.lines[i].field("environment"), "sweep"));
  }
  std::map<std::string, ColumnType> swept;
  for (const std::string_view point : points) {
    for (const auto& [path, value] :
         sweep_values(nlohmann::json::parse(point, nullptr, /*allow_exceptions=*/false))) {
      const auto [found, is_new] = swept.emplace(path, type_of(value));
      if (!is_new && !value.is_null()) {
        found->second = common_type(found->second, type_of(value));
      }
    }
  }
  std::vector<RecordColumn> out = record_columns();
  auto place = out.begin() + 1;  // behind `job`
  for (const auto& [path, type] : swept) {
    place = out.insert(place, {"sweep." + path, "environment.sweep." + path, type}) + 1;
  }
  return out;
}

void sort_records(const RunScan& scan, std::vector<size_t>& lines) {
  const auto by_checkpoint = [](std::string_view text) {
    const std::string_view parent = json_member(text, "parent");
    return std::tuple(!is_null(parent), json_member(text, "branch"),
                      number_or(json_member(text, "step"), -1),
                      number_or(json_member(text, "tokens"), -1), json_member(text, "revision"));
  };
  const auto by_label = [](std::string_view text) {
    return std::tuple(!is_null(text), json_member(text, "label"));
  };
  const auto by_text = [](std::string_view text) {
    const bool quoted = text.size() > 2 && text.front() == '"';
    return std::tuple(quoted && is_derived(text.substr(1, text.size() - 2)), text);
  };
  const Ranks checkpoint(scan, lines, field_index("checkpoint"), by_checkpoint);
  const Ranks averaging(scan, lines, field_index("averaging"), by_label);
  const Ranks quantizer(scan, lines, field_index("quantizer"), by_label);
  const Ranks label(scan, lines, field_index("label"), by_text);
  const Ranks metric(scan, lines, field_index("metric"), by_text);
  using Row =
      std::tuple<double, size_t, size_t, size_t, double, double, size_t, size_t, uint32_t, size_t>;
  std::vector<Row> rows;
  rows.reserve(lines.size());
  for (const size_t i : lines) {
    const RecordLine& line = scan.lines[i];
    rows.emplace_back(number_or(line.field("job"), 0), checkpoint(line.field("checkpoint")),
                      averaging(line.field("averaging")), quantizer(line.field("quantizer")),
                      number_or(line.field("draw"), -1), number_or(line.field("jitter"), -1),
                      label(line.field("label")), metric(line.field("metric")), line.index, i);
  }
  std::sort(rows.begin(), rows.end());
  for (size_t i = 0; i < rows.size(); ++i) {
    lines[i] = std::get<9>(rows[i]);
  }
}

struct ColumnReader::State {
  // Neighbouring columns that are members of one field; or one column, the field itself.
  struct Group {
    size_t field;
    std::vector<std::string> members;  // dotted; empty: the field itself
    // The members of the objects seen so far; most records share their objects.
    std::unordered_map<std::string_view, std::vector<std::string_view>> known = {};
  };
  std::vector<Group> groups;
  std::vector<std::string_view> row;
};

ColumnReader::ColumnReader(const std::vector<RecordColumn>& columns)
    : state_(std::make_unique<State>()) {
  std::vector<State::Group>& groups = state_->groups;
  for (const RecordColumn& column : columns) {
    const size_t dot = column.path.find('.');
    const size_t field = field_index(std::string_view(column.path).substr(0, dot));
    if (dot == std::string::npos) {
      groups.push_back({field, {}});
      continue;
    }
    if (groups.empty() || groups.back().field != field || groups.back().members.empty()) {
      groups.push_back({field, {}});
    }
    groups.back().members.push_back(column.path.substr(dot + 1));
  }
  state_->row.resize(columns.size());
}

ColumnReader::~ColumnReader() = default;

const std::vector<std::string_view>& ColumnReader::read(const RecordLine& line) {
  auto to = state_->row.begin();
  for (State::Group& group : state_->groups) {
    const std::string_view text = line.fields[group.field];
    if (group.members.empty()) {
      *to++ = text;
      continue;
    }
    if (group.known.size() > kMostKnown) {  // every record has its own: the memory it needed, say
      group.known.clear();
    }
    const auto [found, fresh] = group.known.try_emplace(text);
    if (fresh) {
      for (const std::string& member : group.members) {
        found->second.push_back(json_at(text, member));
      }
    }
    to = std::copy(found->second.begin(), found->second.end(), to);
  }
  return state_->row;
}

}  // namespace quench
