#include "run/manifest/branch_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/amount.hpp"
#include "core/error.hpp"
#include "run/manifest/learning_rate_entry.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

const std::vector<std::string>& branch_marks() {
  static const std::vector<std::string> kMarks = {"circle",   "square", "diamond",
                                                  "triangle", "cross",  "star"};
  return kMarks;
}

namespace {

using nlohmann::json;

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

// `offset: {step: 600, tokens: 4000B}`: the branch's beginning on the axes.
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

// ---- keys that a branch has and that `checkpoints` may give for all branches

void read_model(MappingReader& reader, BranchEntry& entry) {
  if (const YamlNode* model = reader.get("model")) {
    entry.out.model = {reader.text("model", ""), model->place};
    if (model->is_scalar() && entry.out.model.text.empty()) {
      entry.problems.add(model->place, entry.where + ": `model` is empty");
    }
  }
}

const std::vector<BranchKey> kShared = {
    {"model",
     [](const Catalog&) {
       return described({{"type", json::array({"string", "number"})}, {"minLength", 1}},
                        "Folder, relative to the manifest, or hf://org/name");
     },
     read_model},
    {"config",
     [](const Catalog&) {
       return described({{"type", json::array({"string", "object"})}},
                        "config.json for files without one: its path, or its content");
     },
     [](MappingReader& reader, BranchEntry& entry) { read_config(reader, entry.out); }},
    {"family",
     [](const Catalog&) {
       return described({{"type", "string"}}, "Model plugin, overriding the config's choice");
     },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* family = reader.get("family")) {
         entry.out.family = reader.text("family", "");
         entry.out.family_place = family->place;
       }
     }},
    {"tokens_per_step",
     [](const Catalog&) { return described(reference("amount"), "Tokens of one training step"); },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const auto per_step = reader.amount("tokens_per_step")) {
         entry.out.tokens_per_step = *per_step;
       }
     }},
    {"lr", [](const Catalog&) { return learning_rate_schema(); },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* rate = reader.get("lr")) {
         entry.out.learning_rate = read_learning_rate(*rate, entry.where, entry.problems);
       }
     }},
    {"phases",
     [](const Catalog&) { return described(reference("ranges"), "Parts of the schedule by step"); },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* phases = reader.get("phases")) {
         entry.out.phases = read_ranges(*phases, entry.where + ": phases", true, entry.problems);
       }
     }},
    {"tokenizer",
     [](const Catalog&) {
       return described({{"type", "string"}}, "Folder, tokenizer.json, hf://org/name or bytes");
     },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* tokenizer = reader.get("tokenizer")) {
         entry.out.tokenizer = {reader.text("tokenizer", ""), tokenizer->place};
       }
     }}};

// ---- keys of one branch

json revisions_schema(const Catalog&) {
  const json pattern = {{"not", {{"type", "string"}, {"pattern", "[{]"}}}};
  const json single = {{"allOf", {reference("name"), pattern}}};
  return {{"description", "A pattern with captures, \"step{step}\", or a list of names"},
          {"anyOf",
           {{{"type", json::array({"string", "number"})}},
            {{"type", "array"}, {"items", single}, {"minItems", 1}}}}};
}

void read_pattern(MappingReader& reader, BranchEntry& entry) {
  const YamlNode* pattern = reader.get("pattern");
  if (pattern == nullptr) {
    return;
  }
  if (entry.out.revisions.empty()) {
    entry.problems.add(pattern->place, entry.where +
                                           ": `pattern` reads the names of a list in `revisions`; "
                                           "there is none");
  } else {
    entry.out.pattern = reader.text("pattern", "");
  }
}

const std::vector<BranchKey> kOwn = {
    {"revisions", revisions_schema,
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* revisions = reader.get("revisions")) {
         read_revisions(*revisions, entry.where, entry.out, entry.problems);
       }
     }},
    {"pattern",
     [](const Catalog&) {
       return described(reference("name"),
                        "Pattern that reads step, tokens and other captures from names");
     },
     read_pattern},
    {"thin",
     [](const Catalog&) {
       return described({{"type", "integer"}, {"minimum", 1}},
                        "Keep every n-th checkpoint, and always the first and last");
     },
     [](MappingReader& reader, BranchEntry& entry) { read_thin(reader, entry.out); }},
    {"match",
     [](const Catalog&) {
       return described(reference("ranges"), "Keep checkpoints whose captures are in these ranges");
     },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* match = reader.get("match")) {
         entry.out.match = read_ranges(*match, entry.where + ": match", false, entry.problems);
       }
     }},
    {"mark",
     [](const Catalog&) {
       return json{{"description", "How figures draw the checkpoints"}, {"enum", branch_marks()}};
     },
     [](MappingReader& reader, BranchEntry& entry) {
       read_mark(reader, entry.where, entry.out, entry.problems);
     }}};

// ---- keys that only a named branch has

const std::vector<BranchKey> kNamed = {
    {"parent",
     [](const Catalog&) {
       return described(reference("name"), "The branch that this one forks from");
     },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* parent = reader.get("parent")) {
         entry.out.parent = {reader.text("parent", ""), parent->place};
       }
     }},
    {"offset",
     [](const Catalog&) {
       return described(closed({{"step", reference("amount")}, {"tokens", reference("amount")}}),
                        "The branch's first position; added to the positions of its revisions");
     },
     [](MappingReader& reader, BranchEntry& entry) {
       if (const YamlNode* offset = reader.get("offset")) {
         read_offset(*offset, entry.where, entry.out, entry.problems);
       }
     }}};

}  // namespace

std::span<const BranchKey> shared_branch_keys() {
  return kShared;
}

std::span<const BranchKey> own_branch_keys() {
  return kOwn;
}

std::span<const BranchKey> named_branch_keys() {
  return kNamed;
}

}  // namespace quench
