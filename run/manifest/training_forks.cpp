#include "run/manifest/training_forks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "run/manifest/learning_rate_entry.hpp"
#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

namespace {

using nlohmann::json;
using Shape = LearningRateSchedule::Shape;

// One fork while it is read.
struct ForkEntry {
  std::string where;
  Problems& problems;
  const ManifestTraining& training;
  ManifestFork out;
};

json amount(const char* description) {
  return described(reference("amount"), description);
}

const std::vector<SectionKey<ForkEntry>> kForkKeys = {
    {"steps", [](const Catalog&) { return amount("Step at which the fork ends"); },
     [](MappingReader& reader, ForkEntry& entry) {
       reader.require("steps");
       entry.out.schedule.steps = reader.amount("steps").value_or(1);
     },
     true},
    {"decay_steps", [](const Catalog&) { return amount("Steps of its decay"); },
     [](MappingReader& reader, ForkEntry& entry) {
       reader.require("decay_steps");
       entry.out.schedule.decay_steps = reader.amount("decay_steps").value_or(1);
     },
     true},
    {"final",
     [](const Catalog&) {
       return described({{"type", "number"}, {"minimum", 0}}, "The learning rate at the end");
     },
     [](MappingReader& reader, ForkEntry& entry) {
       entry.out.schedule.final = reader.number("final", 0, 0);
     }},
    {"decay",
     [](const Catalog&) {
       return json{{"enum", {"linear", "1-sqrt"}}};
     },
     [](MappingReader& reader, ForkEntry& entry) {
       entry.out.schedule.decays_with_square_root = read_decay(reader, entry.where, entry.problems);
     }},
    {"every", [](const Catalog&) { return amount("Steps between its checkpoints"); },
     [](MappingReader& reader, ForkEntry& entry) {
       entry.out.every = reader.amount("every").value_or(entry.training.every);
     }},
    {"order",
     [](const Catalog&) {
       return described({{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxSeed}},
                        "Seed of the order in which its data come, in place of the training's");
     },
     [](MappingReader& reader, ForkEntry& entry) {
       if (reader.get("order") != nullptr) {
         entry.out.order = static_cast<uint64_t>(reader.integer("order", 0, 0, kMaxSeed));
       }
     }},
    {"mark",
     [](const Catalog&) {
       return json{{"enum", branch_marks()}};
     },
     [](MappingReader& reader, ForkEntry& entry) {
       entry.out.mark = read_training_mark(reader, entry.where, entry.problems);
     }}};

// The last step of the constant phase, or nothing if the schedule has none.
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
  ForkEntry entry{where, problems, training, std::move(out)};
  entry.out.schedule = training.schedule;
  entry.out.schedule.shape = Shape::kWsd;
  MappingReader reader(member.value, where, problems);
  read_section<ForkEntry>(kForkKeys, reader, entry);
  out = std::move(entry.out);
  out.begin = *out.schedule.steps - out.schedule.decay_steps;
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

}  // namespace

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
    if (problems.size() == before) {  // compute nothing from an invalid fork
      out.forks.push_back(std::move(fork));
    }
  }
}

json forks_schema(const Catalog& catalog) {
  return {{"type", json::array({"object", "null"})},
          {"additionalProperties", section_schema<ForkEntry>(kForkKeys, catalog)}};
}

std::string read_training_mark(MappingReader& reader, const std::string& where,
                               Problems& problems) {
  std::string mark = reader.text("mark", "");
  const YamlNode* node = reader.get("mark");
  if (node != nullptr &&
      std::find(branch_marks().begin(), branch_marks().end(), mark) == branch_marks().end()) {
    problems.add(node->place, fmt::format("{}: mark = \"{}\", expected one of {}", where,
                                          printable(mark), fmt::join(branch_marks(), ", ")));
  }
  return mark;
}

}  // namespace quench
