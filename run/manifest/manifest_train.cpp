#include "run/manifest/manifest_train.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "run/manifest/learning_rate_entry.hpp"

namespace quench {

namespace {

using Shape = LearningRateSchedule::Shape;

constexpr long long kMaxCount = 1LL << 24;  // sequences of a batch, ids of a sequence
constexpr int64_t kMaxSteps = int64_t{1} << 40;

PlacedText placed(MappingReader& reader, const std::string& key) {
  const YamlNode* node = reader.get(key);
  return node == nullptr ? PlacedText() : PlacedText{reader.text(key, ""), node->place};
}

PlacedText required(MappingReader& reader, const std::string& key) {
  reader.require(key);
  return placed(reader, key);
}

void read_model(MappingReader& reader, ManifestTraining& out) {
  const YamlNode* model = reader.require("model");
  if (model != nullptr) {
    out.model = {model->is_mapping() ? yaml_to_json(*model).dump() : reader.text("model", ""),
                 model->place};
  }
}

void read_validation(MappingReader& outer, ManifestTraining& out, Problems& problems) {
  const YamlNode* node = outer.get("validation");
  if (node == nullptr || node->is_null()) {
    return;
  }
  MappingReader reader(*node, "train: validation", problems);
  out.validation_corpus = required(reader, "corpus");
  out.validation_sequences = static_cast<uint64_t>(reader.integer("sequences", 64, 1, kMaxCount));
  out.validation_every = reader.amount("every").value_or(0);
  reader.finish();
}

// `{id: {parameters}}`, or the id alone.
void read_optimizer(MappingReader& reader, ManifestTraining& out, Problems& problems) {
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
  const YamlNode::Member& entry = node->members.front();
  out.optimizer = entry.key;
  out.optimizer_place = entry.key_place;
  out.optimizer_parameters = entry.value;
  if (!entry.value.is_mapping() && !entry.value.is_null()) {
    problems.add(entry.value.place,
                 fmt::format("train: optimizer {}: got {}, wanted a mapping of parameters",
                             printable(entry.key), entry.value.described()));
    out.optimizer_parameters = {};
  }
}

// Steps, or as many as it takes to see that many tokens.
int64_t read_length(MappingReader& reader, const ManifestTraining& training, const Place& place,
                    Problems& problems) {
  const auto steps = reader.amount("steps");
  const auto tokens = reader.amount("tokens");
  if (reader.get("steps") != nullptr && reader.get("tokens") != nullptr) {
    problems.add(place, "train: `steps` and `tokens` are both given; wanted one of them");
    return 1;
  }
  if (reader.get("steps") == nullptr && reader.get("tokens") == nullptr) {
    problems.add(place, "train: `steps` (or `tokens`) is missing");
    return 1;
  }
  const auto per_step =
      static_cast<int64_t>(std::max<uint64_t>(1, training.batch * training.length));
  const int64_t count = steps    ? *steps
                        : tokens ? *tokens / per_step + (*tokens % per_step == 0 ? 0 : 1)
                                 : 1;
  if (count < 1 || count > kMaxSteps) {
    problems.add(place, fmt::format("train: {} steps, expected 1..{}", count, kMaxSteps));
    return 1;
  }
  return count;
}

void read_batch(MappingReader& reader, ManifestTraining& out, const Place& place,
                Problems& problems) {
  reader.require("batch");
  reader.require("length");
  out.batch = static_cast<uint64_t>(reader.integer("batch", 1, 1, kMaxCount));
  out.length = static_cast<uint64_t>(reader.integer("length", 2, 2, kMaxCount));
  out.micro_batch = static_cast<uint64_t>(
      reader.integer("micro_batch", static_cast<long long>(out.batch), 1, kMaxCount));
  if (out.batch % out.micro_batch != 0) {
    const YamlNode* node = reader.get("micro_batch");
    problems.add(node != nullptr ? node->place : place,
                 fmt::format("train: micro_batch = {}, expected a divisor of the batch, {}",
                             out.micro_batch, out.batch));
    out.micro_batch = out.batch;
  }
}

void read_at(MappingReader& reader, ManifestTraining& out, Problems& problems) {
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

void read_precision(MappingReader& reader, ManifestTraining& out, Problems& problems) {
  const std::string precision = reader.text("precision", "float32");
  out.bfloat16 = precision == "bfloat16" || precision == "bf16";
  if (!out.bfloat16 && precision != "float32" && precision != "fp32") {
    problems.add(reader.get("precision")->place,
                 fmt::format("train: precision = \"{}\", expected float32 or bfloat16",
                             printable(precision)));
  }
}

std::string read_mark_of(MappingReader& reader, const std::string& where, Problems& problems) {
  std::string mark = reader.text("mark", "");
  const YamlNode* node = reader.get("mark");
  if (node != nullptr &&
      std::find(branch_marks().begin(), branch_marks().end(), mark) == branch_marks().end()) {
    problems.add(node->place, fmt::format("{}: mark = \"{}\", expected one of {}", where,
                                          printable(mark), fmt::join(branch_marks(), ", ")));
  }
  return mark;
}

// The last step of the part at the peak, or nothing where the schedule has no such part.
std::optional<int64_t> end_of_constant(const LearningRateSchedule& schedule) {
  if (schedule.shape == Shape::kConstant) {
    return schedule.steps;
  }
  return schedule.shape == Shape::kWsd ? std::optional(*schedule.steps - schedule.decay_steps)
                                       : std::nullopt;
}

ManifestFork read_fork(const YamlNode::Member& member, const ManifestTraining& training,
                       Problems& problems) {
  const std::string where = "train: fork " + printable(member.key);
  ManifestFork out;
  out.name = member.key;
  out.place = member.key_place;
  if (member.key.empty() || member.key.find_first_of("@/{}") != std::string::npos ||
      member.key == training.branch) {
    problems.add(member.key_place,
                 fmt::format("{}: wanted a name of its own without @, /, {{ and }}", where));
  }
  MappingReader reader(member.value, where, problems);
  reader.require("steps");
  reader.require("decay_steps");
  out.schedule = training.schedule;
  out.schedule.shape = Shape::kWsd;
  out.schedule.steps = reader.amount("steps").value_or(1);
  out.schedule.decay_steps = reader.amount("decay_steps").value_or(1);
  out.schedule.final = reader.number("final", 0, 0);
  out.schedule.decays_with_square_root = read_decay(reader, where, problems);
  out.begin = *out.schedule.steps - out.schedule.decay_steps;
  out.every = reader.amount("every").value_or(training.every);
  out.mark = read_mark_of(reader, where, problems);
  reader.finish();
  const auto end = end_of_constant(training.schedule);
  if (!end) {
    problems.add(member.key_place,
                 fmt::format("{}: forks start from a constant rate; wanted the schedule constant "
                             "or wsd",
                             where));
  } else if (out.schedule.decay_steps < 1 || out.begin < training.schedule.warmup ||
             out.begin > *end) {
    problems.add(member.key_place,
                 fmt::format("{}: starts at step {} = steps - decay_steps, expected {}..{}, where "
                             "the rate is constant",
                             where, out.begin, training.schedule.warmup, *end));
  }
  return out;
}

void read_forks(MappingReader& outer, ManifestTraining& out, Problems& problems) {
  const YamlNode* node = outer.get("forks");
  if (node == nullptr || node->is_null()) {
    return;
  }
  if (!node->is_mapping()) {
    problems.add(node->place, fmt::format("train: `forks`: got {}, wanted a mapping of names",
                                          node->described()));
    return;
  }
  for (const YamlNode::Member& member : node->members) {
    const size_t before = problems.size();
    ManifestFork fork = read_fork(member, out, problems);
    if (problems.size() == before) {  // nothing is worked out from a fork that is not sound
      out.forks.push_back(std::move(fork));
    }
  }
}

}  // namespace

ManifestTraining read_training(const YamlNode& node, Problems& problems) {
  ManifestTraining out;
  out.place = node.place;
  MappingReader reader(node, "train", problems);
  read_model(reader, out);
  out.corpus = required(reader, "corpus");
  out.tokenizer = required(reader, "tokenizer");
  if (reader.get("document_end") != nullptr) {
    out.document_end = reader.integer("document_end", 0, 0, INT32_MAX);
  }
  read_validation(reader, out, problems);
  read_optimizer(reader, out, problems);
  read_batch(reader, out, node.place, problems);
  const int64_t steps = read_length(reader, out, node.place, problems);
  out.schedule.steps = steps;
  if (const YamlNode* rate = reader.require("lr")) {
    out.schedule_place = rate->place;
    out.schedule = read_training_schedule(*rate, "train: lr", steps, problems);
  }
  out.every = reader.amount("every").value_or(steps);
  out.snapshots = reader.amount("snapshots").value_or(0);
  if (out.every < 1) {
    problems.add(reader.get("every")->place, "train: every = 0, expected at least 1");
    out.every = steps;
  }
  read_at(reader, out, problems);
  out.clip = reader.number("clip", 1, 0);
  read_precision(reader, out, problems);
  if (reader.get("seed") != nullptr) {
    out.seed = static_cast<uint64_t>(reader.integer("seed", 0, 0, 1LL << 62));
  }
  out.branch = reader.text("branch", "");
  out.mark = read_mark_of(reader, "train", problems);
  read_forks(reader, out, problems);
  if (out.branch.empty()) {
    out.branch = out.forks.empty() ? "" : "trunk";
  }
  reader.finish({{"forks", "under `train`"}});
  return out;
}

}  // namespace quench
