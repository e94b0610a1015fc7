// Metrics whose vectors lie in the memory of a device that is none
// (tests/support/pretended_device): what anyone else touches of it ends the process.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/scalar.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/tiny_config.hpp"
#include "tests/support/score_recorder.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

// Dot products in another order of float64, after which float32 vectors are rounded.
constexpr double kSums = 1e-5;
// The same weights but for elements that lie between two floats.
constexpr double kWeights = 1e-6;

const TokenizedDocuments kText = {
    {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 1, 8, 2, 7, 3, 6, 4}, {30, 31, 32, 5, 5, 36, 0, 1}}, {}};

// A drawn model of that config, as the host shows it to metrics.
class Subject {
 public:
  explicit Subject(bool pretended, const MemorySource* weights = nullptr)
      : table_(table_of<quench_model_table>(
            plugin_item(pretended ? PRETENDED_FAMILY : GPT_NEOX_FAMILY, "model"))) {
    const quench_model_open_args args = {sizeof args,
                                         weights == nullptr ? QUENCH_OPEN_INITIALIZE : 0u,
                                         weights == nullptr ? nullptr : weights->source(),
                                         kTinyConfig,
                                         std::strlen(kTinyConfig),
                                         {pretended ? QUENCH_DEVICE_CUDA : QUENCH_DEVICE_CPU, 0},
                                         kit::kFloat32};
    checked([&](quench_error* error) { return table_.open(&args, &model_, error); });
    subject_ = {sizeof subject_, &table_, model_, this, score};
  }
  ~Subject() { table_.close(model_); }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const quench_subject& subject() const { return subject_; }
  uint64_t size() const {
    const quench_parameter_info& last = parameters().back();
    return last.offset + elements_of(last);
  }

  // All weights moved by `spread` times a pattern of `seed`.
  void store(MemorySource& to, double spread, uint64_t seed) const {
    uint64_t state = seed * 2 + 1;
    for (const quench_parameter_info& parameter : parameters()) {
      std::vector<float> values(elements_of(parameter));
      const quench_tensor view = {values.data(),
                                  {QUENCH_DEVICE_CPU, 0},
                                  parameter.dimensions,
                                  kit::kFloat32,
                                  parameter.shape,
                                  nullptr,
                                  0};
      checked([&](quench_error* error) {
        return table_.weight_get(model_, parameter.name, &view, error);
      });
      std::vector<double> moved(values.begin(), values.end());
      for (double& value : moved) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value += spread * (static_cast<double>(state >> 40) / (1 << 23) - 1);
      }
      to.add(parameter.name, {parameter.shape, parameter.shape + parameter.dimensions}, moved,
             kit::kFloat32);
    }
  }

 private:
  static uint64_t elements_of(const quench_parameter_info& parameter) {
    return std::accumulate(parameter.shape, parameter.shape + parameter.dimensions, uint64_t{1},
                           [](uint64_t a, int64_t b) { return a * static_cast<uint64_t>(b); });
  }
  std::span<const quench_parameter_info> parameters() const {
    const quench_parameter_info* list = nullptr;
    uint64_t count = 0;
    checked([&](quench_error* error) { return table_.parameters(model_, &list, &count, error); });
    return {list, count};
  }
  template <typename Call>
  static void checked(Call call) {
    quench_error error{sizeof error, 0, {}};
    kit::check(call(&error), error);
  }

  // The mean loss of a row, at each of its places.
  static quench_status score(void* context, const quench_score_args* args,
                             quench_error* error) noexcept {
    const auto& self = *static_cast<const Subject*>(context);
    const auto* extension = static_cast<const quench_model_gradient*>(
        self.table_.extension(self.model_, QUENCH_MODEL_GRADIENT));
    for (uint64_t r = 0; r < args->rows; ++r) {
      std::vector<int32_t> ids(args->ids + args->starts[r], args->ids + args->starts[r + 1]);
      std::vector<int32_t> next(ids.begin() + 1, ids.end());
      next.push_back(-1);
      const int64_t shape[] = {1, static_cast<int64_t>(ids.size())};
      const auto view = [&](std::vector<int32_t>& values) {
        return quench_tensor{
            values.data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kInt32, shape, nullptr, 0};
      };
      const quench_tensor tokens = view(ids);
      const quench_tensor targets = view(next);
      const quench_batch batch = {sizeof batch, 0, &tokens, nullptr, nullptr};
      const quench_loss_args loss = {sizeof loss, 0, &batch, &targets, 1, nullptr};
      double sum = 0;
      const quench_status status = extension->gradient(self.model_, &loss, nullptr, &sum, error);
      if (status != QUENCH_OK) {
        return status;
      }
      std::fill(args->nll + args->starts[r], args->nll + args->starts[r + 1],
                sum / static_cast<double>(ids.size() - 1));
    }
    return QUENCH_OK;
  }

  const quench_model_table& table_;
  quench_model* model_ = nullptr;
  quench_subject subject_{};
};

// Two models of the same weights: in host memory, and on the pretended device.
struct Pair {
  explicit Pair(double spread = 0) {
    const Subject drawn(false);
    drawn.store(stored, 0, 1);
    drawn.store(moved, spread, 2);
    host = std::make_unique<Subject>(false, &moved);
    device = std::make_unique<Subject>(true, &moved);
    pretended_peak();
  }
  MemorySource stored;
  MemorySource moved;
  std::unique_ptr<Subject> host;
  std::unique_ptr<Subject> device;
};

struct Measured {
  Measurement host;
  Measurement device;
};

// What the metric predicts to hold beside that model on a device, with its vectors there or not.
struct Predicted {
  uint64_t device = 0;
  uint64_t host = 0;
};
Predicted predicted(const quench_item& item, const json& parameters, const Subject& of,
                    uint32_t flags) {
  const auto& table = *static_cast<const quench_metric_table*>(item.table);
  const std::string text = parameters.dump();
  quench_error error{sizeof error, 0, {}};
  quench_metric* metric = nullptr;
  kit::check(table.create(text.c_str(), text.size(), &metric, &error), error);
  REQUIRE(table.predict_memory_on_device != nullptr);
  Predicted out;
  const quench_subject& subject = of.subject();
  kit::check(table.predict_memory_on_device(metric, subject.table, subject.model, flags,
                                            &out.device, &out.host, &error),
             error);
  uint64_t all = 0;
  kit::check(table.predict_memory(metric, subject.table, subject.model, &all, &error), error);
  if (flags == 0) {
    CHECK(all == out.device + out.host);
  }
  table.destroy(metric);
  return out;
}

// The device held what was predicted of its vectors, or less by `spare` vectors. Its model's graphs
// are not there, those of a real one are: they are what is there without vectors.
void check_prediction(const Pair& pair, const quench_item& item, const json& parameters,
                      uint64_t peak, size_t spare) {
  const uint64_t vector = sizeof(float) * pair.host->size();
  const Predicted there =
      predicted(item, parameters, *pair.device, QUENCH_METRIC_VECTORS_ON_DEVICE);
  const Predicted here = predicted(item, parameters, *pair.device, 0);
  const uint64_t vectors = there.device - here.device;
  CHECK(vectors >= peak);
  CHECK(vectors <= peak + spare * vector);
  CHECK(here.host >= there.host);
}

// Of a metric that leaves the weights as they were, and nothing on the device, where it had at
// least `vectors` vectors, and at most `spare` fewer than it predicts (none: it predicts nothing).
Measured measure_both(const Pair& pair, const std::string& id, json parameters, size_t vectors,
                      std::optional<size_t> spare = std::nullopt,
                      const std::vector<quench_weights>& weights = {}) {
  parameters["corpus"] = "v";
  const quench_item& item = plugin_item(METRICS_DIR "/" + id + ".so", "metric");
  Measured out{measure(item, parameters, kText, pair.host->subject(), weights),
               measure(item, parameters, kText, pair.device->subject(), weights)};
  CHECK(out.host.message == "");
  CHECK(out.device.message == "");
  const uint64_t peak = pretended_peak();
  CHECK(peak >= vectors * sizeof(float) * pair.host->size());
  if (spare) {
    check_prediction(pair, item, parameters, peak, *spare);
  }
  CHECK(pretended_bytes() == 0);
  MemorySource before;
  MemorySource after;
  pair.host->store(before, 0, 1);
  pair.device->store(after, 0, 1);
  for (const char* name : {"gpt_neox.embed_in.weight", "embed_out.weight"}) {
    CHECK(after.values(name) == before.values(name));
    CHECK(after.values(name) == pair.moved.values(name));
  }
  return out;
}

void check_near(double got, double wanted, double off) {
  CHECK(std::fabs(got - wanted) <= off * std::max(std::fabs(wanted), 1e-3));
}

void check_near(const json& got, const json& wanted, double off) {
  if (wanted.is_number()) {
    check_near(got.get<double>(), wanted.get<double>(), off);
  } else if (wanted.is_structured()) {
    REQUIRE(got.size() == wanted.size());
    auto other = got.begin();
    for (const auto& [key, value] : wanted.items()) {
      INFO(key);
      check_near(*other, value, off);
      ++other;
    }
  } else {
    CHECK(got == wanted);
  }
}

void check_near(const Measured& both, double off) {
  REQUIRE(both.device.values.size() == both.host.values.size());
  for (size_t i = 0; i < both.host.values.size(); ++i) {
    INFO(both.host.values[i].name);
    check_near(both.device.values[i].value, both.host.values[i].value, off);
  }
  for (const auto& [name, value] : both.host.details) {
    INFO(name);
    check_near(both.device.details.at(name), value, off);
  }
}

}  // namespace

TEST_CASE("device metrics: the hessian's vectors stay on the device", "[metrics][hessian][cuda]") {
  const Pair pair;
  const std::string curvature = GENERATE("hessian", "gauss_newton", "differences");
  CAPTURE(curvature);
  // So few vectors that the search restarts.
  const Measured both =
      measure_both(pair, "hessian",
                   {{"top", 2},
                    {"basis", 7},
                    {"tolerance", 1e-4},
                    {"steps", 40},
                    {"trace_samples", 3},
                    {"parts", "blocks"},
                    {"curvature", curvature}},
                   7 + 3, 8);  // not all at once: its basis is turned between two products
  // Differences of gradients lose half of the digits.
  const double off = curvature == "differences" ? 2e-2 : kSums;
  check_near(both.device.values[0].value, both.host.values[0].value, off);
  check_near(both.device.details.at("trace"), both.host.details.at("trace"), off);
  check_near(both.device.details.at("loss"), both.host.details.at("loss"), 0);
  check_near(both.device.details.at("gradient_norm"), both.host.details.at("gradient_norm"), 1e-12);
  CHECK(both.host.details.at("restarts") > 0);
  check_near(both.device.json.at("eigenvalues"), both.host.json.at("eigenvalues"), off);
  for (const auto& [name, part] : both.host.json.at("parts").items()) {
    INFO(name);
    check_near(both.device.json.at("parts").at(name).at("trace"), part.at("trace"), off);
  }
}

TEST_CASE("device metrics: curvature of hidden matrices in units of each is the host's",
          "[metrics][hessian][cuda]") {
  const Pair pair;
  const Measured both = measure_both(pair, "hessian",
                                     {{"top", 1},
                                      {"basis", 7},
                                      {"tolerance", 1e-4},
                                      {"steps", 12},
                                      {"trace_samples", 2},
                                      {"tensors", "matrices"},
                                      {"relative", true}},
                                     3, 12);
  check_near(both.device.values[0].value, both.host.values[0].value, kSums);
  check_near(both.device.details.at("trace"), both.host.details.at("trace"), kSums);
  CHECK(both.host.values[0].value > 0);
}

TEST_CASE("device metrics: power iteration and the density do, too", "[metrics][hessian][cuda]") {
  const Pair pair;
  const Measured both = measure_both(pair, "hessian",
                                     {{"top", 2},
                                      {"method", "power"},
                                      {"tolerance", 1e-3},
                                      {"steps", 30},
                                      {"basis", 5},
                                      {"trace_samples", 0},
                                      {"density_probes", 1},
                                      {"density_steps", 8}},
                                     5, 4);
  check_near(both, kSums);
  check_near(both.device.json.at("density"), both.host.json.at("density"), 1e-3);
}

TEST_CASE("device metrics: slope and curvature between float and moved weights",
          "[metrics][taylor][cuda]") {
  const Pair pair(0.01);
  const std::string parts = GENERATE("none", "blocks");
  const std::string curvature = GENERATE("hessian", "differences");
  CAPTURE(parts, curvature);
  const quench_weights weights = {sizeof weights, "float", "main", 0, 0, pair.stored.source()};
  const Measured both = measure_both(pair, "taylor", {{"parts", parts}, {"curvature", curvature}},
                                     parts == "none" ? 5 : 6, 0, {weights});
  // Differences of gradients lose half of the digits.
  const double off = curvature == "differences" ? 2e-2 : kSums;
  check_near(both.device.details.at("slope"), both.host.details.at("slope"), kSums);
  check_near(both.device.details.at("change"), both.host.details.at("change"), kSums);
  check_near(both.device.details.at("quadratic"), both.host.details.at("quadratic"), off);
  if (curvature == "hessian") {
    check_near(both, kSums);
    if (parts == "blocks") {
      check_near(both.device.json.at("parts"), both.host.json.at("parts"), kSums);
    }
  }
}

TEST_CASE("device metrics: sharpness along the gradient", "[metrics][sharpness][cuda]") {
  const Pair pair;
  check_near(measure_both(pair, "sharpness", {{"rho", 0.1}}, 3, 0), kSums);
}

TEST_CASE("device metrics: norms of the gradient", "[metrics][weights][cuda]") {
  const Pair pair;
  check_near(measure_both(pair, "weights", json::object(), 1), kSums);
}

TEST_CASE("device metrics: a landscape's plane lies on the device", "[metrics][landscape][cuda]") {
  const Pair pair(0.01);
  MemorySource others[2];
  pair.host->store(others[0], 0.02, 5);
  pair.host->store(others[1], 0.02, 6);
  std::vector<quench_weights> weights = {
      {sizeof(quench_weights), "a", "main", 1, 1, pair.stored.source()},
      {sizeof(quench_weights), "b", "main", 2, 2, others[0].source()},
      {sizeof(quench_weights), "c", "main", 3, 3, others[1].source()}};
  const std::string plane = GENERATE("pca", "corners", "line");
  CAPTURE(plane);
  const size_t spanning = plane == "line" ? 2 : 3;
  const Measured both =
      measure_both(pair, "landscape",
                   {{"plane", plane}, {"block", 8}, {"resolution", {3, plane == "line" ? 1 : 2}}},
                   spanning + 2, 0, weights);
  check_near(both, kWeights);
  check_near(both.device.json.at("loss"), both.host.json.at("loss"), kWeights);
  check_near(both.device.json.at("points"), both.host.json.at("points"), kWeights);
}

}  // namespace quench::test
