// The optimizers against the rules of their papers in float64, and against themselves on two
// threads.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/optimizers/optimizer_library.hpp"
#include "tests/plugins/optimizers/reference_rules.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

// float32 state and weights of size 1: one step rounds a few times in units of 6e-8.
constexpr double kOneStep = 1e-6;

// Numbers in [-1, 1), the same for a seed.
std::vector<float> numbers(uint64_t seed, size_t count) {
  std::vector<float> out(count);
  uint64_t state = seed * 2 + 1;
  for (float& value : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return out;
}

// An optimizer of one tensor [rows, columns].
class Stepped {
 public:
  Stepped(const std::string& id, const nlohmann::json& parameters, int64_t rows, int64_t columns,
          int32_t role = QUENCH_ROLE_MATRIX)
      : item_(plugin_item(library_of(id), "optimizer")),
        table_(table_of<quench_optimizer_table>(item_)),
        shape_{rows, columns},
        weight_({rows, columns}) {
    weight_.values() = numbers(1, weight_.values().size());
    const std::string json = complete_parameters(item_, parameters);
    REQUIRE(table_.create(json.data(), json.size(), &optimizer_, &error_) == QUENCH_OK);
    const quench_parameter_info info = {sizeof info, role, "w", 2, shape_, 0, 0, nullptr};
    REQUIRE(table_.begin(optimizer_, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error_) == QUENCH_OK);
  }
  ~Stepped() { table_.destroy(optimizer_); }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  void step(const ReferenceStep& s, const std::vector<float>& gradient, int32_t decays = 1) {
    kit::OwnedTensor<float> given({shape_[0], shape_[1]});
    given.values() = gradient;
    const quench_tensor weight = weight_.view();
    const quench_tensor view = given.view();
    const quench_step_args args = {sizeof args,
                                   0,
                                   0,
                                   static_cast<uint64_t>(s.step),
                                   s.lr,
                                   s.peak,
                                   decays,
                                   &weight,
                                   &view,
                                   nullptr,
                                   s.gradient_scale};
    const quench_status status = table_.step(optimizer_, &args, &error_);
    INFO(error_.message);
    REQUIRE(status == QUENCH_OK);
  }
  std::vector<float> evaluated() {
    kit::OwnedTensor<float> out({shape_[0], shape_[1]});
    const quench_tensor weight = weight_.view();
    const quench_tensor view = out.view();
    REQUIRE(table_.evaluation_weights != nullptr);
    REQUIRE(table_.evaluation_weights(optimizer_, 0, &weight, &view, &error_) == QUENCH_OK);
    return out.values();
  }
  const std::vector<float>& weight() const { return weight_.values(); }
  const quench_optimizer_table& table() const { return table_; }

 private:
  const quench_item& item_;
  const quench_optimizer_table& table_;
  int64_t shape_[2];
  kit::OwnedTensor<float> weight_;
  quench_optimizer* optimizer_ = nullptr;
  quench_error error_{sizeof error_, 0, {}};
};

double largest_difference(const std::vector<float>& a, const Values& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

// Three steps at rates that differ; after each the float64 rule starts from the same state, in that
// both have seen the same gradients, and must be within a step's rounding.
template <typename Reference>
void follow(Stepped& stepped, Reference reference, double weight_decay, bool decoupled,
            bool corrected = false) {
  Values w(stepped.weight().begin(), stepped.weight().end());
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = numbers(100 + static_cast<uint64_t>(step), w.size());
    const ReferenceStep s = {step, 0.01 / step, 0.02, weight_decay, decoupled, 0.5, corrected};
    stepped.step(s, gradient);
    reference.step(s, w, Values(gradient.begin(), gradient.end()));
    CAPTURE(step);
    CHECK(largest_difference(stepped.weight(), w) < kOneStep * step);
  }
}

}  // namespace

TEST_CASE("adamw follows its rule in float64, decay coupled and decoupled", "[optimizers][adamw]") {
  const bool decoupled = GENERATE(false, true);
  Stepped stepped("adamw", {{"weight_decay", 0.1}, {"decoupled", decoupled}}, 7, 13);
  follow(stepped, AdamWReference(), 0.1, decoupled);
}

TEST_CASE("adamw's independent decay is its decoupled one", "[optimizers][adamw]") {
  Stepped stepped("adamw", {{"weight_decay", 0.1}, {"decay", "independent"}}, 7, 13);
  follow(stepped, AdamWReference(), 0.1, true);
}

TEST_CASE(
    "adamw's corrected decay is scaled by the rate's share of its peak on hidden matrices alone",
    "[optimizers][adamw]") {
  const int32_t role = GENERATE(QUENCH_ROLE_MATRIX, QUENCH_ROLE_EMBEDDING);
  // A decay that is large enough to tell the two apart.
  Stepped stepped("adamw", {{"weight_decay", 20.0}, {"decay", "corrected"}}, 7, 13, role);
  follow(stepped, AdamWReference(), 20, false, role == QUENCH_ROLE_MATRIX);
}

TEST_CASE("each optimizer with weight decay has the same three decays", "[optimizers]") {
  const std::string id = GENERATE("adamw", "sgd", "schedule_free_adamw", "muon", "soap", "shampoo");
  const int32_t role = GENERATE(QUENCH_ROLE_MATRIX, QUENCH_ROLE_EMBEDDING);
  const bool hidden = role == QUENCH_ROLE_MATRIX;
  const auto after = [&](const nlohmann::json& parameters) {
    Stepped stepped(id, parameters, 7, 13, role);
    for (int step = 1; step <= 3; ++step) {
      // The rate is half its peak, and all are powers of two: products of them are exact.
      stepped.step({step, 1.0 / 128, 1.0 / 64, 0, false, 1},
                   numbers(static_cast<uint64_t>(step), 7 * 13));
    }
    return stepped.weight();
  };
  const auto coupled = [&](double decay) { return after({{"weight_decay", decay}}); };
  CAPTURE(id, hidden);
  CHECK(after({{"weight_decay", 4}, {"decay", "coupled"}}) == coupled(4));
  const std::vector<float> independent = after({{"weight_decay", 0.125}, {"decay", "independent"}});
  CHECK(independent == coupled(0.125 * 64));
  CHECK(independent == after({{"weight_decay", 0.125}, {"decoupled", true}}));
  CHECK(after({{"weight_decay", 4}, {"decay", "corrected"}}) == coupled(hidden ? 2 : 4));
  CHECK(coupled(2) != coupled(4));
}

TEST_CASE("optimizers refuse two names for their decay", "[optimizers]") {
  const std::string id = GENERATE("adamw", "sgd", "schedule_free_adamw", "muon", "soap", "shampoo",
                                  "sam", "trace_penalty", "noise_injection", "qat");
  const std::string decay = GENERATE("coupled", "independent", "corrected");
  const quench_item& item = plugin_item(library_of(id), "optimizer");
  const std::string json = complete_parameters(item, {{"decoupled", true}, {"decay", decay}});
  quench_error error{sizeof error, 0, {}};
  quench_optimizer* made = nullptr;
  CHECK(table_of<quench_optimizer_table>(item).create(json.data(), json.size(), &made, &error) !=
        QUENCH_OK);
  CHECK(std::string(error.message) == "decoupled: got true beside a `decay`, wanted one of them");
}

TEST_CASE("sgd follows its rule in float64, with and without Nesterov", "[optimizers][sgd]") {
  const bool nesterov = GENERATE(false, true);
  Stepped stepped("sgd", {{"weight_decay", 0.3}, {"nesterov", nesterov}}, 7, 13);
  SgdReference reference;
  reference.nesterov = nesterov;
  follow(stepped, reference, 0.3, false);
}

TEST_CASE("schedule_free_adamw follows its paper's x, y and z in float64",
          "[optimizers][schedule_free_adamw]") {
  Stepped stepped("schedule_free_adamw", {{"weight_decay", 0.1}}, 7, 13);
  ScheduleFreeReference reference;
  Values y(stepped.weight().begin(), stepped.weight().end());
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = numbers(50 + static_cast<uint64_t>(step), y.size());
    const ReferenceStep s = {step, 0.01 / step, 0.02, 0.1, false, 1};
    stepped.step(s, gradient);
    reference.step(s, y, Values(gradient.begin(), gradient.end()));
    CHECK(largest_difference(stepped.weight(), y) < kOneStep * step);
    CHECK(largest_difference(stepped.evaluated(), reference.x) < kOneStep * step);
  }
  CHECK(stepped.evaluated() != stepped.weight());
}

TEST_CASE("muon follows its rule in float64 on wide and on tall matrices", "[optimizers][muon]") {
  const auto [rows, columns] =
      GENERATE(std::pair<int64_t, int64_t>{8, 24}, std::pair<int64_t, int64_t>{24, 8});
  Stepped stepped("muon", {{"weight_decay", 0.1}}, rows, columns);
  MuonReference reference;
  reference.rows = static_cast<size_t>(rows);
  reference.columns = static_cast<size_t>(columns);
  follow(stepped, reference, 0.1, false);
}

TEST_CASE("muon is adamw on what is no hidden matrix", "[optimizers][muon]") {
  Stepped muon("muon", {}, 7, 13, QUENCH_ROLE_EMBEDDING);
  Stepped adamw("adamw", {}, 7, 13, QUENCH_ROLE_EMBEDDING);
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = numbers(static_cast<uint64_t>(step), 7 * 13);
    muon.step({step, 0.01, 0.01, 0, false, 1}, gradient);
    adamw.step({step, 0.01, 0.01, 0, false, 1}, gradient);
  }
  CHECK(muon.weight() == adamw.weight());
}

TEST_CASE("optimizers that choose where the gradient is taken step as adamw does", "[optimizers]") {
  Stepped adamw("adamw", {{"weight_decay", 0.3}}, 7, 13);
  const std::string id = GENERATE("sam", "trace_penalty", "noise_injection", "qat");
  Stepped other(id, {{"weight_decay", 0.3}}, 7, 13);
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = numbers(static_cast<uint64_t>(step), 7 * 13);
    adamw.step({step, 0.01, 0.01, 0, false, 0.5}, gradient);
    other.step({step, 0.01, 0.01, 0, false, 0.5}, gradient);
  }
  CHECK(other.weight() == adamw.weight());
}

TEST_CASE("optimizers leave the weights of tensors that do not decay to the gradient alone",
          "[optimizers]") {
  for (const char* id : {"adamw", "sgd", "schedule_free_adamw"}) {
    DYNAMIC_SECTION(id) {
      Stepped decays(id, {{"weight_decay", 0.5}}, 3, 5);
      Stepped spared(id, {{"weight_decay", 0.5}}, 3, 5);
      Stepped never(id, {{"weight_decay", 0}}, 3, 5);
      const std::vector<float> gradient = numbers(9, 15);
      const ReferenceStep s = {1, 0.01, 0.01, 0, false, 1};
      decays.step(s, gradient, 1);
      spared.step(s, gradient, 0);
      never.step(s, gradient, 1);
      CHECK(spared.weight() == never.weight());
      CHECK(spared.weight() != decays.weight());
    }
  }
}

TEST_CASE("optimizers give the same bits on one and on two threads", "[optimizers]") {
  constexpr int64_t kRows = 300;
  constexpr int64_t kColumns = 257;  // several tasks, the last one short
  for (const char* id : {"adamw", "sgd", "schedule_free_adamw", "muon"}) {
    DYNAMIC_SECTION(id) {
      std::vector<std::vector<float>> results;
      for (const uint32_t threads : {1u, 2u}) {
        set_task_threads(threads);
        Stepped stepped(id, {}, kRows, kColumns);
        for (int step = 1; step <= 2; ++step) {
          stepped.step({step, 0.01, 0.01, 0, false, 0.9},
                       numbers(static_cast<uint64_t>(step), kRows * kColumns));
        }
        results.push_back(stepped.weight());
      }
      set_task_threads(1);
      CHECK(results[0] == results[1]);
    }
  }
}

}  // namespace quench::test
