#include "report/pairing.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/sweep_point.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

const nlohmann::json& part(const nlohmann::json& object, const char* key) {
  static const nlohmann::json none;
  return object.is_object() && object.contains(key) ? object.at(key) : none;
}

nlohmann::json parts(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  nlohmann::json out = nlohmann::json::array();
  for (const char* key : keys) {
    out.push_back(part(object, key));
  }
  return out;
}

bool is_axis(const std::string& dimension) {
  return dimension == "step" || dimension == "tokens" || dimension == "lr";
}

std::string missing_draw(const Selector& side, const Group& group) {
  return base_of(group) == nullptr
             ? fmt::format("{}: {}: draw 0 is missing", side.name,
                           value_text(dimension_value(*group[0]->record, "checkpoint")))
             : "";
}

std::string too_many(const ContrastSpec& spec, const std::vector<Group>& a,
                     const std::vector<Group>& b, const Group& in_a, const Group& in_b) {
  return fmt::format(
      "{} cells of {}, which differ in {}, fit {} cells of {}, which differ in {}; select one on a "
      "side, or add what should be equal to `match`",
      a.size(), spec.a.name, fmt::join(differing(in_a), ", "), b.size(), spec.b.name,
      fmt::join(differing(in_b), ", "));
}

std::vector<CellLine> lines_of(const Group& group, bool by_branch) {
  Freedom checkpoint;
  checkpoint.checkpoint = true;
  std::map<std::string, Group> lines;
  for (const Observation* it : group) {
    const std::vector<std::string> also =
        by_branch ? std::vector<std::string>{"model", "branch"} : std::vector<std::string>{"model"};
    lines[common_key(*it, checkpoint, also)].push_back(it);
  }
  std::vector<CellLine> out;
  out.reserve(lines.size());
  for (const auto& [key, line] : lines) {
    out.push_back(cells_of(line));
  }
  return out;
}

// The checkpoints that `at` chooses on one side, for people: "step 5 and step 7".
std::string chosen_places(const SelectedCells& side, const std::string& at) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (const Observation* it : side.found) {
    if (at == "last" ? it->is_last : it->position == 0) {
      add_once(value_text(dimension_value(*it->record, "checkpoint")), names);
    }
  }
  const size_t more = names.size() - std::min(names.size(), kMost);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

bool names_bits(const Selector& side) {
  return std::any_of(side.conditions.begin(), side.conditions.end(), [](const Condition& each) {
    return each.first == "bits" || each.first == "params.bits";
  });
}

// The parameters of the sweep that have one value in all of these: they tell no rows apart.
std::vector<std::string> same_sweep(const Group& all) {
  std::vector<std::string> out;
  const nlohmann::json point = all.empty() ? nlohmann::json() : sweep_point(*all.front()->record);
  for (const auto& [path, value] : sweep_values(point.is_object() ? point : nlohmann::json())) {
    const std::string dimension = "sweep." + path;
    if (std::all_of(all.begin(), all.end(), [&, &value = value](const Observation* it) {
          return dimension_value(*it->record, dimension) == value;
        })) {
      out.push_back(dimension);
    }
  }
  return out;
}

// Whether the weights of `it` are the checkpoint that a list of members calls `name`.
bool is_member(const Observation& it, const std::string& name) {
  const nlohmann::json revision = dimension_value(*it.record, "revision");
  return it.record->averaging.is_null() &&
         value_text(revision.is_null() ? dimension_value(*it.record, "model") : revision) == name;
}

// The branch of a member by the content of its weights, where records tell it; else the branch of
// the average. Branches that end at one step have revisions of one name.
nlohmann::json branch_of_member(const Observation& average, size_t index, const Group& candidates) {
  nlohmann::json out = dimension_value(*average.record, "branch");
  const nlohmann::json contents = part(part(average.record->parts, "averaging"), "members");
  if (!contents.is_array() || index >= contents.size()) {
    return out;
  }
  const nlohmann::json own = out;
  for (const Observation* it : candidates) {
    if (part(it->record->parts, "weights") == contents[index]) {
      out = dimension_value(*it->record, "branch");
      if (out == own) {
        break;  // a revision that lies on two branches is the same weights on both
      }
    }
  }
  return out;
}

}  // namespace

void add_once(const std::string& text, std::vector<std::string>& list) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

std::string common_key(const Observation& it, const Freedom& free,
                       const std::vector<std::string>& match) {
  const Record& record = *it.record;
  nlohmann::json key = {record.metric, record.label, sweep_point(record, free.sweep),
                        metric_text(record.parts, record.details),
                        parts(record.environment, {"dtype", "device", "isa"})};
  if (!free.checkpoint) {
    key.push_back(
        parts(record.checkpoint, {"model", "branch", "revision", "commit", "step", "tokens"}));
  }
  if (!free.averaging) {
    key.push_back(parts(record.averaging, {"id", "params", "label"}));
  }
  if (!free.quantizer) {
    key.push_back(parts(record.quantizer, {"id", "params", "label", "calibration"}));
  }
  for (const std::string& dimension : match) {
    const nlohmann::json value = dimension_value(record, dimension);
    if (value.is_null() && is_axis(dimension)) {
      return "";
    }
    key.push_back(value);
  }
  return key.dump();
}

std::map<std::string, Group> grouped(const Group& found, const Freedom& free,
                                     const std::vector<std::string>& match, const std::string& at) {
  std::map<std::string, Group> out;
  for (const Observation* it : found) {
    if ((at == "last" && !it->is_last) || (at == "first" && it->position > 0)) {
      continue;
    }
    const std::string key = common_key(*it, free, match);
    if (!key.empty()) {
      out[key].push_back(it);
    }
  }
  return out;
}

std::vector<Group> cells_of(const Group& group) {
  std::vector<Group> out;
  std::map<std::string, size_t> places;
  for (const Observation* it : group) {
    const auto [found, is_new] = places.emplace(it->cell, out.size());
    if (is_new) {
      out.emplace_back();
    }
    out[found->second].push_back(it);
  }
  std::stable_sort(out.begin(), out.end(), [](const Group& x, const Group& y) {
    return x.front()->position < y.front()->position;
  });
  return out;
}

std::vector<std::string> differing(const Group& group) {
  std::vector<std::string> out;
  std::set<std::string> names(dimension_names().begin(), dimension_names().end());
  for (const Observation* it : group) {
    for (const auto& item : part(it->record->quantizer, "params").items()) {
      names.insert("params." + item.key());
    }
    const nlohmann::json point = sweep_point(*it->record);
    if (point.is_object()) {
      for (const auto& item : point.items()) {
        names.insert("sweep." + item.key());
      }
    }
  }
  names.erase("seed");
  names.erase("job");
  for (const std::string& name : names) {
    const nlohmann::json first = dimension_value(*group[0]->record, name);
    if (std::any_of(group.begin(), group.end(), [&](const Observation* it) {
          return dimension_value(*it->record, name) != first;
        })) {
      out.push_back(name);
    }
  }
  return out;
}

const Observation* base_of(const Group& group) {
  const Observation* best = nullptr;
  for (const Observation* it : group) {
    if (it->is_base() && (best == nullptr || it->seed < best->seed)) {
      best = it;
    }
  }
  return best;
}

std::string common_text(const Observation& it, const Observation& other, const Freedom& free,
                        const std::vector<std::string>& match) {
  std::vector<std::string> dimensions = match;
  const auto add = [&](const char* name) {
    if (std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end() &&
        !dimension_value(*it.record, name).is_null()) {
      dimensions.emplace_back(name);
    }
  };
  const auto equal = [&](const char* name) {
    return dimension_value(*it.record, name) == dimension_value(*other.record, name);
  };
  if (!free.quantizer || equal("label")) {
    add("label");
  }
  if (!free.averaging || equal("averaging")) {
    add("averaging");
  }
  if (!free.checkpoint) {
    add("branch");
    add("checkpoint");
  }
  if (!it.record->label.empty() && it.record->label != it.record->metric) {
    add("metric");
  }
  std::vector<std::string> words;
  words.reserve(dimensions.size() + 1);
  const bool labelled =
      std::find(dimensions.begin(), dimensions.end(), "label") != dimensions.end();
  // A label that nobody chose begins with the id of its quantizer.
  const bool label_says_quantizer =
      labelled &&
      dimension_text("label", dimension_value(*it.record, "label"))
          .starts_with(dimension_text("quantizer", dimension_value(*it.record, "quantizer")));
  for (const std::string& name : dimensions) {
    const nlohmann::json value = dimension_value(*it.record, name);
    const bool is_known = !value.is_null() || name == "bits";  // of float weights
    if (is_known && !(label_says_quantizer && name == "quantizer")) {
      words.push_back(dimension_text(name, value));
    }
  }
  if (!it.text.empty()) {
    words.push_back(it.text);
  }
  std::vector<std::string> said = free.sweep;
  said.insert(said.end(), dimensions.begin(), dimensions.end());
  const nlohmann::json point = sweep_point(*it.record);
  for (const auto& [path, value] : sweep_values(point.is_object() ? point : nlohmann::json())) {
    if (dimension_value(*other.record, "sweep." + path) != value) {
      said.push_back("sweep." + path);
    }
  }
  if (const std::string text = point_text(*it.record, said); !text.empty()) {
    words.push_back(text);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

Freedom freedom_of(const SelectedCells& a, const SelectedCells& b) {
  Freedom free = {a.by_quantizer || b.by_quantizer, a.by_averaging || b.by_averaging,
                  a.by_checkpoint || b.by_checkpoint, a.by_sweep};
  free.sweep.insert(free.sweep.end(), b.by_sweep.begin(), b.by_sweep.end());
  Group all = a.found;
  all.insert(all.end(), b.found.begin(), b.found.end());
  for (std::string& dimension : same_sweep(all)) {
    free.sweep.push_back(std::move(dimension));
  }
  return free;
}

std::vector<std::string> matched(const ContrastSpec& spec, const Freedom& free) {
  std::vector<std::string> match;
  if (!names_bits(spec.a) || !names_bits(spec.b)) {
    match.emplace_back("bits");
  }
  if (!free.checkpoint) {
    match.emplace_back("checkpoint");
  }
  return spec.match.value_or(match);
}

std::string no_pair_text(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells& b,
                         const std::vector<std::string>& match) {
  if (spec.b.name.empty() || spec.b_is_members) {
    return fmt::format("no cell of {} has what it takes", spec.a.name);
  }
  const std::string places =
      spec.at == "all" || std::any_of(match.begin(), match.end(), is_axis)
          ? ""
          : fmt::format(
                "; {} is {} for {} and {} for {}: name a checkpoint on each side, or leave "
                "out `at`",
                spec.at, chosen_places(a, spec.at), spec.a.name, chosen_places(b, spec.at),
                spec.b.name);
  return fmt::format("no cell of {} agrees with one of {}{}{}{}", spec.a.name, spec.b.name,
                     match.empty() ? "" : " in ", fmt::join(match, ", "), places);
}

Pairing pairs_of(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells& b) {
  Pairing out;
  out.free = freedom_of(a, b);
  out.match = matched(spec, out.free);
  // Where the sides must lie at the same place of an axis, side a says which.
  const bool by_axis = std::any_of(out.match.begin(), out.match.end(), is_axis);
  const auto of_a = grouped(a.found, out.free, out.match, spec.at);
  const auto of_b = grouped(b.found, out.free, out.match, by_axis ? "all" : spec.at);
  for (const auto& [key, in_a] : of_a) {
    const auto found = of_b.find(key);
    if (found == of_b.end()) {
      continue;
    }
    const std::vector<Group> cells_a = cells_of(in_a);
    const std::vector<Group> cells_b = cells_of(found->second);
    if (cells_a.size() > 1 && cells_b.size() > 1) {
      add_once(too_many(spec, cells_a, cells_b, in_a, found->second), out.ambiguities);
      add_once(out.ambiguities.back(), out.problems);
      continue;
    }
    const Group& several = cells_a.size() > 1 ? in_a : found->second;
    const std::vector<std::string> open =
        cells_a.size() + cells_b.size() > 2 ? differing(several) : std::vector<std::string>();
    for (const Group& one_a : cells_a) {
      for (const Group& one_b : cells_b) {
        const std::string no_a = missing_draw(spec.a, one_a);
        const std::string no_b = missing_draw(spec.b, one_b);
        add_once(no_a, out.problems);
        add_once(no_b, out.problems);
        if (no_a.empty() && no_b.empty()) {
          out.pairs.push_back({one_a, one_b, open});
        }
      }
    }
  }
  return out;
}

Pairing pairs_with_members(const ContrastSpec& spec, const SelectedCells& a,
                           const std::vector<Observation>& observations) {
  Pairing out;
  out.free = freedom_of(a, {});
  out.free.averaging = true;
  out.free.checkpoint = true;
  out.match = spec.match.value_or(std::vector<std::string>{"bits"});
  Group raw;
  for (const Observation& it : observations) {
    if (!it.is_float() && it.floating != nullptr && it.record->averaging.is_null()) {
      raw.push_back(&it);
    }
  }
  Freedom of_members = out.free;
  of_members.quantizer = false;  // a member is measured by the method of its average
  const auto candidates = grouped(raw, of_members, out.match, "all");
  for (const auto& [key, in_a] : grouped(a.found, of_members, out.match, spec.at)) {
    for (const Group& average : cells_of(in_a)) {
      const Observation* base = base_of(average);
      const nlohmann::json members = part(average.front()->record->averaging, "members");
      if (base == nullptr || !members.is_array()) {
        add_once(base == nullptr ? missing_draw(spec.a, average)
                                 : fmt::format("{}: a checkpoint that is no average has no members",
                                               spec.a.name),
                 out.problems);
        continue;
      }
      const auto found = candidates.find(key);
      const Group near = found != candidates.end() ? found->second : Group();
      for (size_t index = 0; index < members.size(); ++index) {
        const std::string name = value_text(members[index]);
        const nlohmann::json branch = branch_of_member(*base, index, near);
        Group fits;
        Group of_branch;
        for (const Observation* it : near) {
          if (is_member(*it, name)) {
            fits.push_back(it);
            if (dimension_value(*it->record, "branch") == branch) {
              of_branch.push_back(it);
            }
          }
        }
        const std::vector<Group> cells = cells_of(of_branch.empty() ? fits : of_branch);
        if (cells.empty() || base_of(cells.front()) == nullptr) {
          add_once(fmt::format("{} at {}: its member {} is not measured with {}", spec.a.name,
                               value_text(dimension_value(*base->record, "checkpoint")), name,
                               value_text(dimension_value(*base->record, "label"))),
                   out.problems);
        } else {
          out.pairs.push_back({average, cells.front(), {}});
        }
      }
    }
  }
  return out;
}

LinePairing line_pairs_of(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells* b,
                          bool by_branch) {
  LinePairing out;
  out.free = freedom_of(a, b != nullptr ? *b : SelectedCells());
  Freedom no_checkpoint = out.free;
  no_checkpoint.checkpoint = true;
  out.match = matched(spec, no_checkpoint);
  if (by_branch && !out.free.checkpoint) {  // nobody chose branches, so they have to agree
    out.match.emplace_back("branch");
  }
  out.free.checkpoint = true;
  const auto of_a = grouped(a.found, out.free, out.match, "all");
  const auto of_b =
      b != nullptr ? grouped(b->found, out.free, out.match, "all") : std::map<std::string, Group>();
  for (const auto& [key, in_a] : of_a) {
    const std::vector<CellLine> lines_a = lines_of(in_a, by_branch);
    if (b == nullptr) {
      for (const CellLine& line : lines_a) {
        out.pairs.push_back({line, {}});
      }
      continue;
    }
    const auto found = of_b.find(key);
    const std::vector<CellLine> lines_b =
        found != of_b.end() ? lines_of(found->second, by_branch) : std::vector<CellLine>();
    if (lines_a.size() > 1 && lines_b.size() > 1) {
      add_once(fmt::format("{} lines of checkpoints of {}, which differ in {}, fit {} of {}, which "
                           "differ in {}; select one on a side, or add what should be equal to "
                           "`match`",
                           lines_a.size(), spec.a.name, fmt::join(differing(in_a), ", "),
                           lines_b.size(), spec.b.name, fmt::join(differing(found->second), ", ")),
               out.ambiguities);
      continue;
    }
    if (lines_a.size() + lines_b.size() > 2) {
      out.open = differing(lines_a.size() > 1 ? in_a : found->second);
    }
    for (const CellLine& line_a : lines_a) {
      for (const CellLine& line_b : lines_b) {
        out.pairs.push_back({line_a, line_b});
      }
    }
  }
  return out;
}

}  // namespace quench
