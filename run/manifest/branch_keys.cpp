#include "run/manifest/branch_keys.hpp"

#include <algorithm>

#include "run/manifest/learning_rate_entry.hpp"

namespace quench {

const std::vector<std::string>& branch_marks() {
  static const std::vector<std::string> kMarks = {"circle",   "square", "diamond",
                                                  "triangle", "cross",  "star"};
  return kMarks;
}

namespace {

using nlohmann::json;

constexpr long long kMaxThin = 1LL << 31;

void read_list(const YamlNode& list, MappingReader& reader, ManifestBranch& out) {
  for (const YamlNode& item : list.items) {
    const auto same = [&](const auto& earlier) { return earlier.value == item.scalar; };
    if (!item.is_scalar()) {
      reader.add(item.place, fmt::format("revisions: got {}, wanted a name", item.described()));
    } else if (item.scalar.find('{') != std::string::npos) {
      reader.add(item.place, fmt::format("revisions: got the pattern \"{}\" in a list; wanted a "
                                         "name, or the pattern alone",
                                         printable(item.scalar)));
    } else if (std::any_of(out.revisions.begin(), out.revisions.end(), same)) {
      reader.add(item.place, fmt::format("revision \"{}\" is given twice", printable(item.scalar)));
    } else {
      out.revisions.push_back({item.scalar, item.place});
    }
  }
}

void read_revisions(MappingReader& reader, ManifestBranch& out) {
  const YamlNode* node = reader.get("revisions");
  if (node == nullptr) {
    return;
  }
  out.revisions_place = node->place;
  if (node->is_scalar()) {
    out.pattern = node->scalar;
  } else if (node->is_sequence() && !node->items.empty()) {
    read_list(*node, reader, out);
  } else {
    reader.add(node->place,
               fmt::format("`revisions`: got {}, wanted a pattern like \"step{{step}}\" or a list "
                           "of names",
                           node->is_sequence() ? "an empty list" : node->described()));
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
  f.text("tokenizer", &ManifestBranch::tokenizer, "Folder, tokenizer.json, hf://org/name or bytes");
});

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

const Fields<ManifestBranch> kNamed([](Fields<ManifestBranch>& f) {
  f.name("parent", &ManifestBranch::parent, "The branch that this one forks from");
  f.section("offset", &ManifestBranch::offset, kOffset,
            "The branch's first position; added to the positions of its revisions");
});

}  // namespace

const Fields<ManifestBranch>& shared_branch_keys() {
  return kShared;
}

const Fields<ManifestBranch>& own_branch_keys() {
  return kOwn;
}

const Fields<ManifestBranch>& named_branch_keys() {
  return kNamed;
}

}  // namespace quench
