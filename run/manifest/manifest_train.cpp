#include "run/manifest/manifest_train.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/config/problems.hpp"
#include "quench/abi/kind/optimizer.h"
#include "run/manifest/decay_fields.hpp"
#include "run/manifest/fields.hpp"
#include "run/manifest/learning_rate.hpp"
#include "run/manifest/manifest_items.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

using nlohmann::json;

namespace {

using RateShape = LearningRateSchedule::Shape;

using Fork = ManifestFork;
const Fields<Fork> kFork([](Fields<Fork>& f) {
  f.amount(
       "steps", [](Fork & fork) -> auto& { return fork.schedule.steps; },
       "Step at which the fork ends")
      .required();
  f.amount(
       "decay_steps", [](Fork & fork) -> auto& { return fork.schedule.decay_steps; },
       "Steps of its decay")
      .required();
  f.number(
      "final", [](Fork & fork) -> auto& { return fork.schedule.final; },
      "The learning rate at the end");
  add_decay_shape<Fork>(
      f, [](Fork & fork) -> auto& { return fork.schedule; });
  add_cycles<Fork>(
      f, [](Fork & fork) -> auto& { return fork.schedule; });
  f.amount("every", &Fork::every, "Steps between its checkpoints");
  f.integer("order", &Fork::order, 0, kMaxSeed,
            "Seed of the order in which its data come, in place of the training's");
  f.own(
      "optimizer",
      [](const Catalog& catalog) { return plugin_schema(catalog, QUENCH_KIND_OPTIMIZER); },
      [](MappingReader& reader, Fork& fork) { fork.optimizer = read_plugin(reader, "optimizer"); },
      "Optimizer of its steps, in place of the training's, from whose state it goes on");
  f.choice("mark", &Fork::mark, branch_marks());
});

// The last step of the constant phase, or nothing if the schedule has none.
std::optional<int64_t> end_of_constant(const LearningRateSchedule& schedule) {
  if (schedule.shape == RateShape::kConstant) {
    return schedule.steps;
  }
  return schedule.shape == RateShape::kWsd ? std::optional(*schedule.steps - schedule.decay_steps)
                                           : std::nullopt;
}

// Adds the fork to `training`, which has its schedule, if it is sound; else what is wrong is told.
void read_fork(const YamlNode::Member& member, MappingReader& outer, ManifestTraining& training) {
  Problems& problems = outer.problems();
  const size_t before = problems.size();
  const std::string where = "train: fork " + printable(member.key);
  ManifestFork out;
  out.name = member.key;
  out.place = member.key_place;
  if (member.key.empty() || member.key.find_first_of("@/{}") != std::string::npos ||
      member.key == training.branch) {
    problems.add(member.key_place,
                 fmt::format("{}: wanted a name of its own without @, /, {{ and }}", where));
  }
  out.schedule = training.schedule;
  out.schedule.shape = RateShape::kWsd;
  out.schedule.final = 0;
  out.schedule.decay = LearningRateSchedule::Decay::kLinear;
  out.schedule.decay_power = 1;
  out.schedule.cycle_steps = 0;
  out.schedule.cycle_factor = 1;
  out.every = training.every;
  out = kFork.read(member.value, where, problems, std::move(out));
  out.begin = *out.schedule.steps - out.schedule.decay_steps;
  const auto end = end_of_constant(training.schedule);
  if (!end) {
    problems.add(member.key_place,
                 fmt::format("{}: forks start from a constant rate; wanted the schedule constant "
                             "or wsd",
                             where));
  } else if (problems.size() == before &&
             (out.schedule.decay_steps < 1 || out.begin < training.schedule.warmup ||
              out.begin > *end)) {
    problems.add(member.key_place,
                 fmt::format("{}: starts at step {} = steps - decay_steps, wanted {}..{}, where "
                             "the rate is constant",
                             where, out.begin, training.schedule.warmup, *end));
  }
  if (problems.size() == before) {
    check_decay(member.value, where, out.schedule, problems);
  }
  if (problems.size() == before) {
    training.forks.push_back(std::move(out));
  }
}

constexpr long long kMaxBatch = 1LL << 24;  // sequences of a batch, ids of a sequence
constexpr int64_t kMaxSteps = int64_t{1} << 40;

const Fields<ManifestValidation> kValidation([](Fields<ManifestValidation>& f) {
  f.name("corpus", &ManifestValidation::corpus).required();
  f.integer("sequences", &ManifestValidation::sequences, 1, kMaxBatch);
  f.amount("every", &ManifestValidation::every, "Steps; 0: at checkpoints");
});

// The number of steps, given directly or through a number of tokens; nothing where it is wrong.
std::optional<int64_t> length_in_steps(MappingReader& reader, const ManifestTraining& out) {
  const Place& place = reader.node().place;
  const auto steps = reader.amount("steps");
  const auto tokens = reader.amount("tokens");
  const bool has_steps = reader.get("steps") != nullptr;
  const bool has_tokens = reader.get("tokens") != nullptr;
  if (has_steps == has_tokens) {
    reader.add(place, has_steps ? "`steps` and `tokens` are both given; wanted one of them"
                                : "`steps` (or `tokens`) is missing");
    return std::nullopt;
  }
  const auto per_step = static_cast<int64_t>(std::max<uint64_t>(1, out.batch * out.length));
  if (!steps && !tokens) {
    return std::nullopt;  // told where it was read
  }
  const int64_t count = steps ? *steps : *tokens / per_step + (*tokens % per_step == 0 ? 0 : 1);
  if (count < 1 || count > kMaxSteps) {
    reader.add(place, fmt::format("{} steps, wanted 1..{}", count, kMaxSteps));
    return std::nullopt;
  }
  return count;
}

void check_micro_batch(MappingReader& reader, ManifestTraining& out) {
  if (out.micro_batch == 0) {
    out.micro_batch = out.batch;
  }
  if (out.batch % out.micro_batch != 0) {
    reader.add(reader.get("micro_batch")->place,
               fmt::format("`micro_batch`: got {}, wanted a divisor of the batch, {}",
                           out.micro_batch, out.batch));
    out.micro_batch = out.batch;
  }
}

void read_every(MappingReader& reader, ManifestTraining& out) {
  out.every = reader.amount("every").value_or(*out.schedule.steps);
  if (out.every < 1) {
    reader.add(reader.get("every")->place, "`every`: got 0, wanted at least 1");
    out.every = *out.schedule.steps;
  }
}

void read_at(MappingReader& reader, ManifestTraining& out) {
  const YamlNode* node = reader.get("at");
  if (node == nullptr) {
    return;
  }
  for (const YamlNode& item : node->items) {
    const json value = item.is_scalar() ? yaml_to_json(item) : json();
    if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
        value.get<int64_t>() > *out.schedule.steps) {
      reader.add(item.place, fmt::format("at: got {}, wanted a step in 1..{}", item.described(),
                                         *out.schedule.steps));
    } else {
      out.at.push_back(value.get<int64_t>());
    }
  }
  if (!node->is_sequence() || node->items.empty()) {
    reader.add(node->place, fmt::format("`at`: got {}, wanted a list of steps", node->described()));
  }
}

void read_precision(MappingReader& reader, ManifestTraining& out) {
  const std::string precision = reader.text("precision", "float32");
  out.bfloat16 = precision == "bfloat16" || precision == "bf16";
  if (!out.bfloat16 && precision != "float32" && precision != "fp32") {
    reader.add(
        reader.get("precision")->place,
        fmt::format("`precision`: got \"{}\", wanted float32 or bfloat16", printable(precision)));
  }
}

// In the order in which they are read: a key may rest on those before it.
using Training = ManifestTraining;
const Fields<Training> kTraining([](Fields<Training>& f) {
  f.config("model", &Training::model, "config.json of the model: its path, or its content")
      .required();
  f.name("corpus", &Training::corpus, "A name in `corpora`").required();
  f.own("tokenizer", tokenizer_schema(), [](MappingReader& reader, Training& out) {
     read_tokenizer(reader, out.tokenizer);
   }).required();
  f.integer("document_end", &Training::document_end, 0, INT32_MAX, "Id appended to every document");
  f.section("validation", &Training::validation, kValidation).or_null();
  f.own(
       "optimizer",
       [](const Catalog& catalog) { return plugin_schema(catalog, QUENCH_KIND_OPTIMIZER); },
       [](MappingReader& reader, Training& out) {
         out.optimizer = read_plugin(reader, "optimizer");
       })
      .required();
  f.integer("batch", &Training::batch, 1, kMaxBatch, "Sequences per step").required();
  f.integer("length", &Training::length, 2, kMaxBatch, "Ids per sequence").required();
  f.integer("micro_batch", &Training::micro_batch, 1, kMaxBatch,
            "Sequences per forward; divides the batch")
      .then(check_micro_batch);
  f.own("steps", described(reference("amount"), "Length of the run"),
        [](MappingReader& reader, Training& out) {
          const std::optional<int64_t> steps = length_in_steps(reader, out);
          out.has_length = steps.has_value();
          out.schedule.steps = steps.value_or(1);
        });
  f.own("tokens", described(reference("amount"), "Length in tokens, instead of steps"),
        [](MappingReader&, Training&) {});  // read with `steps`
  f.own("lr", training_rate_schema(), [](MappingReader& reader, Training& out) {
     if (const YamlNode* rate = reader.get("lr")) {
       const int64_t steps = out.has_length ? *out.schedule.steps : kMaxSteps;
       out.schedule = read_training_schedule(*rate, "train: lr", steps, reader.problems());
       out.schedule.steps = out.has_length ? steps : 1;
     }
   }).required();
  f.own("every", described(reference("amount"), "Steps between checkpoints"), read_every);
  f.amount("snapshots", &Training::snapshots, "Steps between weights that averages include");
  f.own("at",
        {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}}}, {"minItems", 1}},
        read_at);
  f.number("clip", &Training::clip, "Largest norm of the gradient");
  f.own("precision", {{"enum", {"float32", "fp32", "bfloat16", "bf16"}}}, read_precision);
  f.seed(&Training::seed, "train.seed");
  f.name("branch", &Training::branch, "Name of the branch of the whole run");
  f.choice("mark", &Training::mark, branch_marks());
  f.each("forks", nullptr, read_fork)
      .schema([](const Catalog& catalog) -> json {
        return {{"type", "object"}, {"additionalProperties", kFork.schema(catalog)}};
      })
      .or_null();
});

}  // namespace

ManifestTraining read_training(const YamlNode& node, Problems& problems) {
  ManifestTraining out;
  out.place = node.place;
  out = kTraining.read(node, "train", problems, std::move(out),
                       {{"forks", "under `train`"}, {"seeds", home_of_seeds("train.seed")}});
  if (out.branch.empty()) {
    out.branch = out.forks.empty() ? "" : "trunk";
  }
  return out;
}

json train_schema(const Catalog& catalog) {
  return kTraining.schema(catalog);
}

}  // namespace quench
