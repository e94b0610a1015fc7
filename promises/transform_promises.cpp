// What every transform must do, whatever it moves.
#include <algorithm>
#include <cmath>
#include <memory>

#include "promises/candidate.hpp"
#include "promises/edited_model.hpp"
#include "promises/kinds.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench::promises {

namespace {

// An instance, destroyed whatever happens.
class Instance {
 public:
  explicit Instance(Candidate& candidate) : table(table_of<quench_transform_table>(candidate)) {
    const std::string parameters = complete(candidate, {});
    quench_error error{sizeof error, 0, {}};
    const quench_status status =
        table.create(parameters.data(), parameters.size(), &transform, &error);
    expect(status == QUENCH_OK, "create: got the error \"{}\"", error.message);
  }
  ~Instance() {
    if (transform != nullptr) {
      table.destroy(transform);
    }
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const quench_transform_table& table;
  quench_transform* transform = nullptr;
};

// In two calls, which say the same as one.
void show_rows(const Instance& instance, const EditedModel& model) {
  for (uint32_t g = 0; g < EditedModel::kGroups; ++g) {
    const std::vector<float> all = model.rows_of(g);
    const int64_t in = model.group(g).linears[0].in_features;
    const auto half = static_cast<int64_t>(all.size() / 2);
    for (const int64_t from : {int64_t{0}, half}) {
      const std::vector<float> part(all.begin() + from, all.begin() + from + half);
      kit::OwnedTensor<float> rows = tensor<float>({half / in, in}, part);
      const quench_tensor x = rows.view();
      const quench_group_args group = {sizeof group,          0, 0, g, &model.group(g), in,
                                       {QUENCH_DEVICE_CPU, 0}};
      const quench_observe_args args = {sizeof args, 0, &x, nullptr, nullptr, nullptr, nullptr};
      quench_error error{sizeof error, 0, {}};
      const quench_status status =
          instance.table.observe(instance.transform, &group, &args, &error);
      expect(status == QUENCH_OK, "observe: got the error \"{}\"", error.message);
      expect(rows.values() == part, "observe: writes to the rows, which are only shown");
    }
  }
}

std::unique_ptr<EditedModel> transformed(Candidate& candidate) {
  auto model = std::make_unique<EditedModel>();
  const Instance instance(candidate);
  if ((instance.table.needs(instance.transform) & QUENCH_TRANSFORM_NEEDS_ROWS) != 0) {
    show_rows(instance, *model);
  }
  quench_error error{sizeof error, 0, {}};
  const quench_status status = instance.table.apply(instance.transform, &model->editor(), &error);
  expect(model->fault().empty(), "{}", model->fault());
  if (status == QUENCH_UNSUPPORTED && *error.message != '\0') {
    skip("it does not take the small model that it is tried on");
  }
  expect(status == QUENCH_OK, "apply: got the error \"{}\"", error.message);
  return model;
}

void a_model_is_changed(Candidate& candidate) {
  transformed(candidate);
}

void needs_are_known(Candidate& candidate) {
  const Instance instance(candidate);
  const uint32_t needs = instance.table.needs(instance.transform);
  expect((needs & ~QUENCH_TRANSFORM_NEEDS_ROWS) == 0,
         "needs has the bits {:#x}, of which this host knows none",
         needs & ~QUENCH_TRANSFORM_NEEDS_ROWS);
}

void the_function_stays(Candidate& candidate) {
  constexpr double kRounding = 1e-9;  // of float64, over a few products of eight columns
  const std::vector<double> before = EditedModel().logits();
  const std::unique_ptr<EditedModel> model = transformed(candidate);
  const std::vector<double> after = model->logits();
  for (size_t i = 0; i < before.size(); ++i) {
    expect(is_near(after[i], before[i], kRounding, kRounding),
           "logit [{}, {}] is {} behind it and {} before, after {}", i / EditedModel::kIds,
           i % EditedModel::kIds, after[i], before[i],
           model->changes().empty() ? "no change" : model->changes().back().first);
  }
}

void changes_say_what_they_are(Candidate& candidate) {
  const std::unique_ptr<EditedModel> model = transformed(candidate);
  expect(!model->changes().empty(),
         "apply: begins no change, wanted one for each group, or one "
         "for the residual stream");
  for (const auto& [name, how] : model->changes()) {
    const auto begins = [&, named = name](uint32_t g) {
      return named == model->group(g).linears[0].name;
    };
    expect(name == "residual stream" || begins(0) || begins(1) || begins(2) || begins(3),
           "changes \"{}\", wanted a group's first linear or residual stream", name);
    expect(!how.empty(), "does not say how it changes {}", name);
  }
}

void expect_same_model(const EditedModel& got, const EditedModel& wanted, const char* as) {
  expect(got.changes() == wanted.changes(), "begins other changes {}", as);
  for (const auto& [name, values] : wanted.weights()) {
    expect_same(name, got.weights().at(name), values, as);
  }
}

void the_same_again(Candidate& candidate) {
  const std::unique_ptr<EditedModel> first = transformed(candidate);
  expect_same_model(*transformed(candidate), *first, "the second time");
  if (candidate.start_afresh()) {
    expect_same_model(*transformed(candidate), *first, "in another process");
  }
}

void threads_do_not_matter(Candidate& candidate) {
  candidate.set_threads(1);
  const std::unique_ptr<EditedModel> one = transformed(candidate);
  candidate.set_threads(3);
  expect_same_model(*transformed(candidate), *one, "on 3 threads");
}

void nothing_is_printed(Candidate& candidate) {
  transformed(candidate);
  const auto printed = candidate.printed();
  if (!printed) {
    skip("what it prints is not seen here");
  }
  expect(printed->empty(), "prints \"{}\", wanted messages through the host's log", *printed);
}

constexpr Promise kPromises[] = {
    {"a small model is changed, and what is shown stays as it was", a_model_is_changed, true},
    {"needs has known bits alone", needs_are_known},
    {"the model's function stays the same", the_function_stays},
    {"each change has the name of what it changes, and says how", changes_say_what_they_are},
    {"the same model gives the same weights", the_same_again},
    {"the number of threads changes nothing", threads_do_not_matter},
    {"nothing is printed", nothing_is_printed},
};

}  // namespace

std::span<const Promise> transform_promises() {
  return kPromises;
}

}  // namespace quench::promises
