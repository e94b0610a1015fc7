#include "run/manifest/manifest_checkpoints.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/amount.hpp"
#include "core/error.hpp"
#include "run/manifest/learning_rate_entry.hpp"

namespace quench {

const std::vector<std::string>& branch_marks() {
  static const std::vector<std::string> kMarks = {"circle",   "square", "diamond",
                                                  "triangle", "cross",  "star"};
  return kMarks;
}

namespace {

constexpr int64_t kMaxThin = int64_t{1} << 31;

void read_list(const YamlNode& list, const std::string& where, ManifestBranch& out,
               Problems& problems) {
  for (const YamlNode& item : list.items) {
    const auto same = [&](const PlacedText& earlier) { return earlier.text == item.scalar; };
    if (!item.is_scalar()) {
      problems.add(item.place,
                   fmt::format("{}: revisions: got {}, wanted a name", where, item.described()));
    } else if (item.scalar.find('{') != std::string::npos) {
      problems.add(item.place,
                   fmt::format("{}: revisions: got the pattern \"{}\" in a list; wanted "
                               "a name, or the pattern alone",
                               where, printable(item.scalar)));
    } else if (std::any_of(out.revisions.begin(), out.revisions.end(), same)) {
      problems.add(item.place, fmt::format("{}: revision \"{}\" is given twice", where,
                                           printable(item.scalar)));
    } else {
      out.revisions.push_back({item.scalar, item.place});
    }
  }
}

void read_revisions(const YamlNode& node, const std::string& where, ManifestBranch& out,
                    Problems& problems) {
  out.revisions_place = node.place;
  if (node.is_scalar()) {
    out.pattern = node.scalar;
  } else if (node.is_sequence() && !node.items.empty()) {
    read_list(node, where, out, problems);
  } else {
    problems.add(node.place,
                 fmt::format("{}: `revisions`: got {}, wanted a pattern like "
                             "\"step{{step}}\" or a list of names",
                             where, node.is_sequence() ? "an empty list" : node.described()));
  }
}

// `offset: {step: 600, tokens: 4000B}`: where on the axes the branch begins.
void read_offset(const YamlNode& node, const std::string& where, ManifestBranch& out,
                 Problems& problems) {
  MappingReader reader(node, where + ": offset", problems);
  out.offset_step = reader.amount("step").value_or(0);
  out.offset_tokens = reader.amount("tokens").value_or(0);
  out.has_offset = true;
  reader.finish();
}

void read_thin(MappingReader& reader, ManifestBranch& out) {
  if (const YamlNode* thin = reader.get("thin")) {
    out.thin_place = thin->place;
    out.thin = static_cast<uint64_t>(reader.integer("thin", 1, 1, kMaxThin));
  }
}

void read_mark(MappingReader& reader, const std::string& where, ManifestBranch& out,
               Problems& problems) {
  out.mark = reader.text("mark", "");
  const YamlNode* node = reader.get("mark");
  if (node != nullptr && node->is_scalar() &&
      std::find(branch_marks().begin(), branch_marks().end(), out.mark) == branch_marks().end()) {
    const std::string near = nearest(out.mark, branch_marks());
    problems.add(node->place,
                 fmt::format("{}: mark = \"{}\", expected one of {}{}", where, printable(out.mark),
                             fmt::join(branch_marks(), ", "),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
}

// The path of a config.json, or the mapping itself as JSON.
void read_config(MappingReader& reader, ManifestBranch& out) {
  const YamlNode* config = reader.get("config");
  if (config == nullptr) {
    return;
  }
  out.config = {config->is_mapping() ? yaml_to_json(*config).dump() : reader.text("config", ""),
                config->place};
}

// What a branch has and `checkpoints` may give for all of them.
void read_shared(MappingReader& reader, const std::string& where, ManifestBranch& out,
                 Problems& problems) {
  if (const YamlNode* model = reader.get("model")) {
    out.model = {reader.text("model", ""), model->place};
    if (model->is_scalar() && out.model.text.empty()) {
      problems.add(model->place, where + ": `model` is empty");
    }
  }
  read_config(reader, out);
  if (const YamlNode* family = reader.get("family")) {
    out.family = reader.text("family", "");
    out.family_place = family->place;
  }
  if (const auto per_step = reader.amount("tokens_per_step")) {
    out.tokens_per_step = *per_step;
  }
  if (const YamlNode* rate = reader.get("lr")) {
    out.learning_rate = read_learning_rate(*rate, where, problems);
  }
  if (const YamlNode* phases = reader.get("phases")) {
    out.phases = read_ranges(*phases, where + ": phases", true, problems);
  }
}

// What belongs to one branch.
void read_own(MappingReader& reader, const std::string& where, ManifestBranch& out,
              Problems& problems) {
  if (const YamlNode* revisions = reader.get("revisions")) {
    read_revisions(*revisions, where, out, problems);
  }
  if (const YamlNode* pattern = reader.get("pattern")) {
    if (out.revisions.empty()) {
      problems.add(pattern->place,
                   where + ": `pattern` reads the names of a list in `revisions`; there is none");
    } else {
      out.pattern = reader.text("pattern", "");
    }
  }
  read_thin(reader, out);
  if (const YamlNode* match = reader.get("match")) {
    out.match = read_ranges(*match, where + ": match", false, problems);
  }
  read_mark(reader, where, out, problems);
}

ManifestBranch read_branch(const YamlNode::Member& member, const ManifestBranch& shared,
                           Problems& problems) {
  const std::string where = "branch " + printable(member.key);
  ManifestBranch out = shared;
  out.name = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  read_shared(reader, where, out, problems);
  read_own(reader, where, out, problems);
  if (const YamlNode* parent = reader.get("parent")) {
    out.parent = {reader.text("parent", ""), parent->place};
  }
  if (const YamlNode* offset = reader.get("offset")) {
    read_offset(*offset, where, out, problems);
  }
  if (const YamlNode* tokenizer = reader.get("tokenizer")) {
    out.tokenizer = {reader.text("tokenizer", ""), tokenizer->place};
  }
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
  if (shared.model.text != "train" && out.model.text == "train") {
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
                               "`train` says it",
                               member.key));
    }
  }
}

void read_branches(const YamlNode& node, const ManifestBranch& shared, ManifestCheckpoints& out,
                   Problems& problems) {
  if (!node.is_mapping() || node.members.empty()) {
    problems.add(node.place,
                 fmt::format("checkpoints: `branches`: got {}, wanted a mapping of names",
                             node.is_mapping() ? "an empty mapping" : node.described()));
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
  read_shared(reader, "checkpoints", shared, problems);
  if (const YamlNode* tokenizer = reader.get("tokenizer")) {
    out.tokenizer = {reader.text("tokenizer", ""), tokenizer->place};
  }
  if (shared.model.text == "train") {
    refuse_beside_train(node, problems);
  }
  if (branches == nullptr) {
    read_own(reader, "checkpoints", shared, problems);
    reader.finish(
        {{"parent", "under a name in `branches`"}, {"offset", "under a name in `branches`"}});
    out.branches.push_back(std::move(shared));
    return out;
  }
  read_branches(*branches, shared, out, problems);
  std::vector<std::pair<std::string, std::string>> homes;
  for (const char* key : {"revisions", "pattern", "thin", "match", "mark", "parent", "offset"}) {
    homes.emplace_back(key, "under a name in `branches`");
  }
  reader.finish(homes);
  return out;
}

}  // namespace quench
