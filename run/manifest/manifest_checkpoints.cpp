#include "run/manifest/manifest_checkpoints.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"
#include "run/manifest/fields.hpp"
#include "run/manifest/learning_rate.hpp"

namespace quench {

using nlohmann::json;

const std::vector<std::string>& branch_marks() {
  static const std::vector<std::string> kMarks = {"circle",   "square", "diamond",
                                                  "triangle", "cross",  "star"};
  return kMarks;
}

namespace {

constexpr long long kMaxThin = 1LL << 31;

void read_revisions(MappingReader& reader, ManifestBranch& out) {
  const YamlNode* node = reader.get("revisions");
  if (node == nullptr) {
    return;
  }
  out.revisions_place = node->place;
  if (node->is_scalar()) {
    out.pattern = node->scalar;
    return;
  }
  if (!node->is_sequence() || node->items.empty()) {
    reader.add(node->place, "`revisions`: " + unlike(*node,
                                                     "a pattern like \"step{step}\" or a list "
                                                     "of names"));
  }
  for (const YamlNode& item : node->items) {
    const bool pattern = item.is_scalar() && item.scalar.find('{') != std::string::npos;
    const std::string fault =
        pattern
            ? fmt::format("got the pattern \"{}\" in a list; wanted a name, or the pattern alone",
                          printable(item.scalar))
            : take_name(item, out.revisions);
    if (!fault.empty()) {
      reader.add(item.place, "`revisions`: " + fault);
    }
  }
}

json revisions_schema() {
  const json pattern = {{"not", {{"type", "string"}, {"pattern", "[{]"}}}};
  const json single = {{"allOf", {reference("name"), pattern}}};
  return {{"description", "A pattern with captures, \"step{step}\", or a list of names"},
          {"anyOf",
           {{{"type", json::array({"string", "number"})}},
            {{"type", "array"}, {"items", single}, {"minItems", 1}}}}};
}

void read_pattern(MappingReader& reader, ManifestBranch& out) {
  const YamlNode* pattern = reader.get("pattern");
  if (pattern == nullptr) {
    return;
  }
  if (out.revisions.empty()) {
    reader.add(pattern->place, "`pattern` reads the names of a list in `revisions`; there is none");
  } else {
    out.pattern = reader.text("pattern", "");
  }
}

void check_model(MappingReader& reader, ManifestBranch& out) {
  const YamlNode* model = reader.get("model");
  if (model != nullptr && model->is_scalar() && out.model.value.empty()) {
    reader.add(model->place, "`model` is empty");
  }
}

// Reads one end; null is open. Returns false for anything else.
bool read_end(const YamlNode& node, int64_t& end) {
  const auto value = node.is_scalar() ? parse_amount(node.scalar) : std::nullopt;
  end = value.value_or(end);
  return value.has_value() || node.is_null();
}

bool read_range(const YamlNode& node, ManifestRange& out) {
  if (node.is_scalar()) {
    const bool sound = read_end(node, out.first);
    out.last = out.first;
    return sound;
  }
  return node.is_sequence() && node.items.size() == 2 && read_end(node.items[0], out.first) &&
         read_end(node.items[1], out.last) && out.first <= out.last;
}

// A mapping of names to [first, last], each a count or null for an open end; a single count is a
// range of one. `apart`: ranges may share no more than an end.
std::vector<ManifestRange> read_ranges(const YamlNode& node, const std::string& where, bool apart,
                                       Problems& problems) {
  std::vector<ManifestRange> out;
  if (!node.is_mapping()) {
    problems.add(node.place, fmt::format("{}: got {}, wanted a mapping of names to [first, last]",
                                         where, node.described()));
    return out;
  }
  for (const YamlNode::Member& member : node.members) {
    ManifestRange range;
    range.name = member.key;
    range.place = member.value.place;
    if (!read_range(member.value, range)) {
      problems.add(
          member.value.place,
          fmt::format("{}: `{}`: wanted [first, last], both included, null for an open end", where,
                      printable(member.key)));
      continue;
    }
    const auto overlaps = [&](const ManifestRange& earlier) {
      return apart && range.first < earlier.last && earlier.first < range.last;
    };
    const auto other = std::find_if(out.begin(), out.end(), overlaps);
    if (other != out.end()) {
      problems.add(range.place, fmt::format("{}: `{}` overlaps with `{}`", where,
                                            printable(range.name), printable(other->name)));
    }
    out.push_back(std::move(range));
  }
  return out;
}

// A mapping of names to ranges. `apart`: as in read_ranges.
template <std::vector<ManifestRange> ManifestBranch::*Ranges, bool apart>
void add_ranges(Fields<ManifestBranch>& f, const char* name, const char* meaning) {
  f.own(name, described(reference("ranges"), meaning),
        [name](MappingReader& reader, ManifestBranch& out) {
          if (const YamlNode* ranges = reader.get(name)) {
            out.*Ranges =
                read_ranges(*ranges, reader.where() + ": " + name, apart, reader.problems());
          }
        });
}

}  // namespace

json tokenizer_schema() {
  return {{"description", "Folder, tokenizer.json, hf://org/name, bytes, or {plugin: file}"},
          {"anyOf",
           {{{"type", "string"}, {"minLength", 1}},
            {{"type", "object"},
             {"additionalProperties", {{"type", "string"}, {"minLength", 1}}},
             {"minProperties", 1},
             {"maxProperties", 1}}}}};
}

void read_tokenizer(MappingReader& reader, PlacedText& out) {
  const YamlNode* node = reader.get("tokenizer");
  if (node == nullptr) {
    return;
  }
  const bool names_plugin =
      node->is_mapping() && node->members.size() == 1 && node->members[0].value.is_scalar();
  if (names_plugin) {  // as on a command line
    out = {node->members[0].key + ":" + node->members[0].value.scalar, node->place};
  } else if (node->is_mapping()) {
    reader.add(node->place, fmt::format("`tokenizer`: got {}, wanted a file, or one plugin and its "
                                        "file: {{id: FILE}}",
                                        node->described()));
  } else {
    out = {reader.text("tokenizer", ""), node->place};
  }
}

namespace {

// Keys that a branch has and that `checkpoints` may give for all.
const Fields<ManifestBranch> kShared([](Fields<ManifestBranch>& f) {
  f.text("model", &ManifestBranch::model, "Folder, relative to the manifest, or hf://org/name")
      .schema({{"type", json::array({"string", "number"})}, {"minLength", 1}})
      .then(check_model);
  f.config("config", &ManifestBranch::config,
           "config.json for files without one: its path, or its content");
  f.text("family", &ManifestBranch::family, "Model plugin, overriding the config's choice");
  f.amount("tokens_per_step", &ManifestBranch::tokens_per_step, "Tokens of one training step");
  f.own("lr", learning_rate_schema(), [](MappingReader& reader, ManifestBranch& out) {
    if (const YamlNode* rate = reader.get("lr")) {
      out.learning_rate = read_learning_rate(*rate, reader.where(), reader.problems());
    }
  });
  add_ranges<&ManifestBranch::phases, true>(f, "phases", "Parts of the schedule by step");
  f.own("tokenizer", tokenizer_schema(),
        [](MappingReader& reader, ManifestBranch& out) { read_tokenizer(reader, out.tokenizer); });
});

// Keys of one branch.
const Fields<ManifestBranch> kOwn([](Fields<ManifestBranch>& f) {
  f.own("revisions", revisions_schema(), read_revisions);
  f.own(
      "pattern",
      described(reference("name"), "Pattern that reads step, tokens and other captures from names"),
      read_pattern);
  f.integer("thin", &ManifestBranch::thin, 1, kMaxThin,
            "Keep every n-th checkpoint, and always the first and last")
      .without("maximum");
  add_ranges<&ManifestBranch::match, false>(f, "match",
                                            "Keep checkpoints whose captures are in these ranges");
  f.choice("mark", &ManifestBranch::mark, branch_marks(), "How figures draw the checkpoints");
});

const Fields<ManifestOffset> kOffset([](Fields<ManifestOffset>& f) {
  f.amount("step", &ManifestOffset::step);
  f.amount("tokens", &ManifestOffset::tokens);
});

// Keys that only a named branch has.
const Fields<ManifestBranch> kNamed([](Fields<ManifestBranch>& f) {
  f.name("parent", &ManifestBranch::parent, "The branch that this one forks from");
  f.section("offset", &ManifestBranch::offset, kOffset,
            "The branch's first position; added to the positions of its revisions");
});

ManifestBranch read_branch(const YamlNode::Member& member, const ManifestBranch& shared,
                           Problems& problems) {
  const std::string where = "branch " + printable(member.key);
  ManifestBranch out = shared;
  out.name = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  kShared.read_keys(reader, out);
  kOwn.read_keys(reader, out);
  kNamed.read_keys(reader, out);
  if (member.key.empty() || member.key.find('@') != std::string::npos) {
    problems.add(member.key_place,
                 fmt::format("{}: wanted a name without `@`, which stands between branch and "
                             "revision",
                             where));
  }
  if (member.value.is_mapping() && reader.get("model") == nullptr &&
      shared.model.place.file == "") {
    problems.add(member.key_place, where + ": `model` is missing, here and under `checkpoints`");
  }
  if (shared.model.value != "train" && out.model.value == "train") {
    problems.add(out.model.place,
                 where + ": `model: train` stands under `checkpoints`, without `branches`");
  }
  reader.finish();
  return out;
}

// The branches of a training come from its schedule and its forks.
void refuse_beside_train(const YamlNode& node, Problems& problems) {
  for (const YamlNode::Member& member : node.members) {
    if (member.key == "branches" || member.key == "tokenizer" || member.key == "revisions" ||
        member.key == "match" || member.key == "thin" || member.key == "config" ||
        member.key == "tokens_per_step" || member.key == "lr" || member.key == "phases" ||
        member.key == "mark") {
      problems.add(member.key_place,
                   fmt::format("checkpoints: `{}` does not go with `model: train`; the section "
                               "`train` defines it",
                               member.key));
    }
  }
}

void read_branches(const YamlNode& node, const ManifestBranch& shared, ManifestCheckpoints& out,
                   Problems& problems) {
  if (!node.is_mapping() || node.members.empty()) {
    problems.add(node.place, "checkpoints: `branches`: " + unlike(node, "a mapping of names"));
    return;
  }
  for (const YamlNode::Member& member : node.members) {
    out.branches.push_back(read_branch(member, shared, problems));
  }
}

}  // namespace

ManifestCheckpoints read_checkpoints(const YamlNode& node, Problems& problems) {
  ManifestCheckpoints out;
  out.place = node.place;
  MappingReader reader(node, "checkpoints", problems);
  ManifestBranch shared;
  shared.place = node.place;
  const YamlNode* branches = reader.get("branches");
  if (branches == nullptr) {
    reader.require("model");
  }
  kShared.read_keys(reader, shared);
  out.tokenizer = std::exchange(shared.tokenizer, {});  // of the run; a branch may have its own
  if (shared.model.value == "train") {
    refuse_beside_train(node, problems);
  }
  std::vector<std::pair<std::string, std::string>> homes;
  const auto under_a_name = [&](const Fields<ManifestBranch>& fields) {
    for (const auto& field : fields.all()) {
      homes.emplace_back(field.name(), "under a name in `branches`");
    }
  };
  under_a_name(kNamed);
  if (branches == nullptr) {
    kOwn.read_keys(reader, shared);
    reader.finish(homes);
    out.branches.push_back(std::move(shared));
    return out;
  }
  read_branches(*branches, shared, out, problems);
  under_a_name(kOwn);
  reader.finish(homes);
  return out;
}

json checkpoints_schema() {
  json keys = json::object();
  kShared.add_properties(keys);
  kOwn.add_properties(keys);
  json branch = keys;
  kNamed.add_properties(branch);
  keys["branches"] = {{"description", "The branches of the trajectory by their names"},
                      {"type", "object"},
                      {"minProperties", 1},
                      {"propertyNames", {{"pattern", "^[^@]+$"}}},
                      {"additionalProperties", closed(std::move(branch))}};
  json out = closed(std::move(keys));
  json apart = json::array();
  for (const char* key : {"revisions", "thin", "match", "mark"}) {
    apart.push_back({{"not", {{"required", {"branches", key}}}}});
  }
  out["allOf"] = apart;
  return out;
}

}  // namespace quench
