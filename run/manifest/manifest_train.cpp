#include "run/manifest/manifest_train.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "run/manifest/learning_rate_entry.hpp"
#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/section_keys.hpp"
#include "run/manifest/section_schemas.hpp"
#include "run/manifest/training_forks.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxCount = 1LL << 24;  // sequences of a batch, ids of a sequence
constexpr int64_t kMaxSteps = int64_t{1} << 40;

// The section while it is read.
struct TrainEntry {
  Place place;
  Problems& problems;
  ManifestTraining out = {};
  int64_t steps = 1;
};

PlacedText placed(MappingReader& reader, const std::string& key) {
  const YamlNode* node = reader.get(key);
  return node == nullptr ? PlacedText() : PlacedText{reader.text(key, ""), node->place};
}

PlacedText required(MappingReader& reader, const std::string& key) {
  reader.require(key);
  return placed(reader, key);
}

json count() {
  return {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxCount}};
}
json amount(const char* description) {
  return described(reference("amount"), description);
}

void read_model(MappingReader& reader, TrainEntry& entry) {
  const YamlNode* model = reader.require("model");
  if (model != nullptr) {
    entry.out.model = {model->is_mapping() ? yaml_to_json(*model).dump() : reader.text("model", ""),
                       model->place};
  }
}

const std::vector<SectionKey<ManifestTraining>> kValidationKeys = {
    {"corpus", [](const Catalog&) { return reference("name"); },
     [](MappingReader& reader, ManifestTraining& out) {
       out.validation_corpus = required(reader, "corpus");
     },
     true},
    {"sequences", [](const Catalog&) { return count(); },
     [](MappingReader& reader, ManifestTraining& out) {
       out.validation_sequences =
           static_cast<uint64_t>(reader.integer("sequences", 64, 1, kMaxCount));
     }},
    {"every",
     [](const Catalog&) { return described(reference("amount"), "Steps; 0: at checkpoints"); },
     [](MappingReader& reader, ManifestTraining& out) {
       out.validation_every = reader.amount("every").value_or(0);
     }}};

void read_validation(MappingReader& outer, TrainEntry& entry) {
  const YamlNode* node = outer.get("validation");
  if (node == nullptr || node->is_null()) {
    return;
  }
  MappingReader reader(*node, "train: validation", entry.problems);
  read_section<ManifestTraining>(kValidationKeys, reader, entry.out);
}

json optimizer_schema(const Catalog& catalog) {
  json members = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind("optimizer")) {
    members[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  return one_of_ids(std::move(members), ids);
}

// `{id: {parameters}}`, or the id alone.
void read_optimizer(MappingReader& reader, TrainEntry& entry) {
  ManifestTraining& out = entry.out;
  Problems& problems = entry.problems;
  const YamlNode* node = reader.require("optimizer");
  if (node == nullptr) {
    return;
  }
  out.optimizer_place = node->place;
  if (node->is_scalar()) {
    out.optimizer = node->scalar;
    return;
  }
  if (!node->is_mapping() || node->members.size() != 1) {
    problems.add(node->place, fmt::format("train: `optimizer`: got {}, wanted `{{id: "
                                          "{{parameters}}}}`",
                                          node->described()));
    return;
  }
  const YamlNode::Member& chosen = node->members.front();
  out.optimizer = chosen.key;
  out.optimizer_place = chosen.key_place;
  out.optimizer_parameters = chosen.value;
  if (!chosen.value.is_mapping() && !chosen.value.is_null()) {
    problems.add(chosen.value.place,
                 fmt::format("train: optimizer {}: got {}, wanted a mapping of parameters",
                             printable(chosen.key), chosen.value.described()));
    out.optimizer_parameters = {};
  }
}

// The number of steps, given directly or through a number of tokens.
int64_t read_length(MappingReader& reader, const TrainEntry& entry) {
  const auto steps = reader.amount("steps");
  const auto tokens = reader.amount("tokens");
  const bool has_steps = reader.get("steps") != nullptr;
  const bool has_tokens = reader.get("tokens") != nullptr;
  if (has_steps == has_tokens) {
    entry.problems.add(entry.place,
                       has_steps ? "train: `steps` and `tokens` are both given; wanted one of them"
                                 : "train: `steps` (or `tokens`) is missing");
    return 1;
  }
  const auto per_step =
      static_cast<int64_t>(std::max<uint64_t>(1, entry.out.batch * entry.out.length));
  const int64_t count = steps    ? *steps
                        : tokens ? *tokens / per_step + (*tokens % per_step == 0 ? 0 : 1)
                                 : 1;
  if (count < 1 || count > kMaxSteps) {
    entry.problems.add(entry.place,
                       fmt::format("train: {} steps, expected 1..{}", count, kMaxSteps));
    return 1;
  }
  return count;
}

void read_micro_batch(MappingReader& reader, TrainEntry& entry) {
  ManifestTraining& out = entry.out;
  out.micro_batch = static_cast<uint64_t>(
      reader.integer("micro_batch", static_cast<long long>(out.batch), 1, kMaxCount));
  if (out.batch % out.micro_batch != 0) {
    const YamlNode* node = reader.get("micro_batch");
    entry.problems.add(node != nullptr ? node->place : entry.place,
                       fmt::format("train: micro_batch = {}, expected a divisor of the batch, {}",
                                   out.micro_batch, out.batch));
    out.micro_batch = out.batch;
  }
}

void read_every(MappingReader& reader, TrainEntry& entry) {
  ManifestTraining& out = entry.out;
  out.every = reader.amount("every").value_or(entry.steps);
  if (out.every < 1) {
    entry.problems.add(reader.get("every")->place, "train: every = 0, expected at least 1");
    out.every = entry.steps;
  }
}

void read_at(MappingReader& reader, TrainEntry& entry) {
  ManifestTraining& out = entry.out;
  Problems& problems = entry.problems;
  const YamlNode* node = reader.get("at");
  if (node == nullptr) {
    return;
  }
  for (const YamlNode& item : node->items) {
    const nlohmann::json value = item.is_scalar() ? yaml_to_json(item) : nlohmann::json();
    if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
        value.get<int64_t>() > *out.schedule.steps) {
      problems.add(item.place, fmt::format("train: at: got {}, wanted a step in 1..{}",
                                           item.described(), *out.schedule.steps));
    } else {
      out.at.push_back(value.get<int64_t>());
    }
  }
  if (!node->is_sequence() || node->items.empty()) {
    problems.add(node->place,
                 fmt::format("train: `at`: got {}, wanted a list of steps", node->described()));
  }
}

void read_precision(MappingReader& reader, TrainEntry& entry) {
  ManifestTraining& out = entry.out;
  const std::string precision = reader.text("precision", "float32");
  out.bfloat16 = precision == "bfloat16" || precision == "bf16";
  if (!out.bfloat16 && precision != "float32" && precision != "fp32") {
    entry.problems.add(reader.get("precision")->place,
                       fmt::format("train: precision = \"{}\", expected float32 or bfloat16",
                                   printable(precision)));
  }
}

// In the order in which they are read: a key may rest on those before it.
const std::vector<SectionKey<TrainEntry>> kTrainKeys = {
    {"model",
     [](const Catalog&) {
       return described({{"type", json::array({"string", "object"})}},
                        "config.json of the model: its path, or its content");
     },
     read_model, true},
    {"corpus", [](const Catalog&) { return described(reference("name"), "A name in `corpora`"); },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.corpus = required(reader, "corpus");
     },
     true},
    {"tokenizer",
     [](const Catalog&) {
       return described({{"type", "string"}}, "Folder, tokenizer.json or bytes");
     },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.tokenizer = required(reader, "tokenizer");
     },
     true},
    {"document_end",
     [](const Catalog&) {
       return described({{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}},
                        "Id appended to every document");
     },
     [](MappingReader& reader, TrainEntry& entry) {
       if (reader.get("document_end") != nullptr) {
         entry.out.document_end = reader.integer("document_end", 0, 0, INT32_MAX);
       }
     }},
    {"validation",
     [](const Catalog& catalog) {
       return json{
           {"anyOf",
            {{{"type", "null"}}, section_schema<ManifestTraining>(kValidationKeys, catalog)}}};
     },
     read_validation},
    {"optimizer", optimizer_schema, read_optimizer, true},
    {"batch", [](const Catalog&) { return described(count(), "Sequences per step"); },
     [](MappingReader& reader, TrainEntry& entry) {
       reader.require("batch");
       entry.out.batch = static_cast<uint64_t>(reader.integer("batch", 1, 1, kMaxCount));
     },
     true},
    {"length",
     [](const Catalog&) {
       return described({{"type", "integer"}, {"minimum", 2}, {"maximum", kMaxCount}},
                        "Ids per sequence");
     },
     [](MappingReader& reader, TrainEntry& entry) {
       reader.require("length");
       entry.out.length = static_cast<uint64_t>(reader.integer("length", 2, 2, kMaxCount));
     },
     true},
    {"micro_batch",
     [](const Catalog&) { return described(count(), "Sequences per forward; divides the batch"); },
     read_micro_batch},
    {"steps", [](const Catalog&) { return amount("Length of the run"); },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.steps = read_length(reader, entry);
       entry.out.schedule.steps = entry.steps;
     }},
    {"tokens", [](const Catalog&) { return amount("Length in tokens, instead of steps"); },
     [](MappingReader&, TrainEntry&) {}},  // read with `steps`
    {"lr", [](const Catalog&) { return training_rate_schema(); },
     [](MappingReader& reader, TrainEntry& entry) {
       if (const YamlNode* rate = reader.require("lr")) {
         entry.out.schedule_place = rate->place;
         entry.out.schedule =
             read_training_schedule(*rate, "train: lr", entry.steps, entry.problems);
       }
     },
     true},
    {"every", [](const Catalog&) { return amount("Steps between checkpoints"); }, read_every},
    {"snapshots",
     [](const Catalog&) { return amount("Steps between weights that averages include"); },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.snapshots = reader.amount("snapshots").value_or(0);
     }},
    {"at",
     [](const Catalog&) {
       return json{
           {"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}, {"minItems", 1}};
     },
     read_at},
    {"clip",
     [](const Catalog&) {
       return described({{"type", "number"}, {"minimum", 0}}, "Largest norm of the gradient");
     },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.clip = reader.number("clip", 1, 0);
     }},
    {"precision",
     [](const Catalog&) {
       return json{{"enum", {"float32", "fp32", "bfloat16", "bf16"}}};
     },
     read_precision},
    {"seed",
     [](const Catalog&) {
       return json{{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxSeed}};
     },
     [](MappingReader& reader, TrainEntry& entry) {
       if (reader.get("seed") != nullptr) {
         entry.out.seed = static_cast<uint64_t>(reader.integer("seed", 0, 0, kMaxSeed));
       }
     }},
    {"branch",
     [](const Catalog&) {
       return described(reference("name"), "Name of the branch of the whole run");
     },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.branch = reader.text("branch", "");
     }},
    {"mark",
     [](const Catalog&) {
       return json{{"enum", branch_marks()}};
     },
     [](MappingReader& reader, TrainEntry& entry) {
       entry.out.mark = read_training_mark(reader, "train", entry.problems);
     }},
    {"forks", forks_schema, [](MappingReader& reader, TrainEntry& entry) {
       read_forks(reader, entry.out, entry.problems);
     }}};

}  // namespace

ManifestTraining read_training(const YamlNode& node, Problems& problems) {
  TrainEntry entry{node.place, problems};
  entry.out.place = node.place;
  MappingReader reader(node, "train", problems);
  read_section<TrainEntry>(kTrainKeys, reader, entry, {{"forks", "under `train`"}});
  if (entry.out.branch.empty()) {
    entry.out.branch = entry.out.forks.empty() ? "" : "trunk";
  }
  return std::move(entry.out);
}

json train_schema(const Catalog& catalog) {
  return section_schema<TrainEntry>(kTrainKeys, catalog);
}

}  // namespace quench
