#include "run/manifest/training_forks.hpp"

#include <utility>

#include "run/manifest/fields.hpp"
#include "run/manifest/learning_rate_entry.hpp"

namespace quench {

namespace {

using nlohmann::json;
using Shape = LearningRateSchedule::Shape;

using Fork = ManifestFork;
const Fields<Fork> kFork([](Fields<Fork>& f) {
  f.own("steps", described(reference("amount"), "Step at which the fork ends"),
        [](MappingReader& reader, Fork& out) {
          out.schedule.steps = reader.amount("steps").value_or(1);
        })
      .required();
  f.own("decay_steps", described(reference("amount"), "Steps of its decay"),
        [](MappingReader& reader, Fork& out) {
          out.schedule.decay_steps = reader.amount("decay_steps").value_or(1);
        })
      .required();
  f.number(
      "final", [](Fork & fork) -> auto& { return fork.schedule.final; },
      "The learning rate at the end");
  f.choice(
      "decay", [](Fork & fork) -> auto& { return fork.schedule.decays_with_square_root; },
      decay_shapes());
  f.amount("every", &Fork::every, "Steps between its checkpoints");
  f.integer("order", &Fork::order, 0, kMaxSeed,
            "Seed of the order in which its data come, in place of the training's");
  f.choice("mark", &Fork::mark, branch_marks());
});

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
  out.schedule = training.schedule;
  out.schedule.shape = Shape::kWsd;
  out.schedule.final = 0;
  out.schedule.decays_with_square_root = false;
  out.every = training.every;
  out = kFork.read(member.value, where, problems, std::move(out));
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
                 fmt::format("{}: starts at step {} = steps - decay_steps, wanted {}..{}, where "
                             "the rate is constant",
                             where, out.begin, training.schedule.warmup, *end));
  }
  return out;
}

}  // namespace

void read_forks(MappingReader& outer, ManifestTraining& out) {
  Problems& problems = outer.problems();
  const YamlNode* node = outer.get("forks");
  if (node == nullptr || node->is_null()) {
    return;
  }
  if (!node->is_mapping()) {
    outer.add(node->place,
              fmt::format("`forks`: got {}, wanted a mapping of names", node->described()));
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

json forks_schema() {
  return {{"type", json::array({"object", "null"})}, {"additionalProperties", kFork.schema()}};
}

}  // namespace quench
