#include "run/manifest/manifest_checkpoints.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "run/manifest/branch_keys.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

namespace {

using nlohmann::json;

ManifestBranch read_branch(const YamlNode::Member& member, const ManifestBranch& shared,
                           Problems& problems) {
  const std::string where = "branch " + printable(member.key);
  BranchEntry entry{where, problems, shared};
  ManifestBranch& out = entry.out;
  out.name = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  for (const auto& keys : {shared_branch_keys(), own_branch_keys(), named_branch_keys()}) {
    read_keys(keys, reader, entry);
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
  return std::move(out);
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
  BranchEntry entry{"checkpoints", problems, {}};
  ManifestBranch& shared = entry.out;
  shared.place = node.place;
  const YamlNode* branches = reader.get("branches");
  if (branches == nullptr) {
    reader.require("model");
  }
  read_keys(shared_branch_keys(), reader, entry);
  out.tokenizer = std::exchange(shared.tokenizer, {});  // of the run; a branch may have its own
  if (shared.model.text == "train") {
    refuse_beside_train(node, problems);
  }
  std::vector<std::pair<std::string, std::string>> homes;
  const auto under_a_name = [&](std::span<const BranchKey> keys) {
    for (const BranchKey& key : keys) {
      homes.emplace_back(key.name, "under a name in `branches`");
    }
  };
  under_a_name(named_branch_keys());
  if (branches == nullptr) {
    read_keys(own_branch_keys(), reader, entry);
    reader.finish(homes);
    out.branches.push_back(std::move(shared));
    return out;
  }
  read_branches(*branches, shared, out, problems);
  under_a_name(own_branch_keys());
  reader.finish(homes);
  return out;
}

json checkpoints_schema(const Catalog& catalog) {
  json keys = json::object();
  add_properties(shared_branch_keys(), catalog, keys);
  add_properties(own_branch_keys(), catalog, keys);
  json branch = keys;
  add_properties(named_branch_keys(), catalog, branch);
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
