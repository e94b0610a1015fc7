#include "core/store/record_columns.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>
#include <unordered_map>

#include "core/store/derived.hpp"
#include "core/store/json_members.hpp"
#include "core/store/record.hpp"

namespace quench {

namespace {

constexpr RecordColumn kColumns[] = {
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

std::span<const RecordColumn> record_columns() {
  return kColumns;
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
  // The field of a column and the member inside it ("" for the field itself).
  struct Source {
    size_t field;
    std::string_view member;
  };
  std::vector<Source> sources;
  // The members of the objects seen so far; most records share their objects.
  std::array<std::unordered_map<std::string_view, std::vector<std::string_view>>, kRecordFields>
      known;
  std::vector<std::string_view> row;
};

ColumnReader::ColumnReader() : state_(std::make_unique<State>()) {
  for (const RecordColumn& column : kColumns) {
    const std::string_view path = column.path;
    const size_t dot = path.find('.');
    state_->sources.push_back({field_index(path.substr(0, dot)),
                               dot == std::string_view::npos ? "" : path.substr(dot + 1)});
  }
  state_->row.resize(std::size(kColumns));
}

ColumnReader::~ColumnReader() = default;

const std::vector<std::string_view>& ColumnReader::read(const RecordLine& line) {
  State& state = *state_;
  for (size_t c = 0; c < state.sources.size();) {
    const size_t field = state.sources[c].field;
    const std::string_view text = line.fields[field];
    if (state.sources[c].member.empty()) {
      state.row[c++] = text;
      continue;
    }
    // Columns of one object are adjacent.
    size_t end = c;
    while (end < state.sources.size() && state.sources[end].field == field) {
      ++end;
    }
    auto& known = state.known[field];
    if (known.size() > kMostKnown) {  // every record has its own: the memory it needed, say
      known.clear();
    }
    const auto [found, fresh] = known.try_emplace(text);
    if (fresh) {
      for (size_t i = c; i < end; ++i) {
        found->second.push_back(json_member(text, state.sources[i].member));
      }
    }
    std::copy(found->second.begin(), found->second.end(),
              state.row.begin() + static_cast<std::ptrdiff_t>(c));
    c = end;
  }
  return state.row;
}

}  // namespace quench
