#include "run/manifest/manifest_checkpoints.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "run/manifest/branch_keys.hpp"

namespace quench {

namespace {

using nlohmann::json;

ManifestBranch read_branch(const YamlNode::Member& member, const ManifestBranch& shared,
                           Problems& problems) {
  const std::string where = "branch " + printable(member.key);
  ManifestBranch out = shared;
  out.name = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  shared_branch_keys().read_keys(reader, out);
  own_branch_keys().read_keys(reader, out);
  named_branch_keys().read_keys(reader, out);
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
  shared_branch_keys().read_keys(reader, shared);
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
  under_a_name(named_branch_keys());
  if (branches == nullptr) {
    own_branch_keys().read_keys(reader, shared);
    reader.finish(homes);
    out.branches.push_back(std::move(shared));
    return out;
  }
  read_branches(*branches, shared, out, problems);
  under_a_name(own_branch_keys());
  reader.finish(homes);
  return out;
}

json checkpoints_schema() {
  json keys = json::object();
  shared_branch_keys().add_properties(keys);
  own_branch_keys().add_properties(keys);
  json branch = keys;
  named_branch_keys().add_properties(branch);
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
