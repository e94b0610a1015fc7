#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "metrics/divergence/row_divergence.hpp"
#include "quench/abi/kind/metric.h"
#include "tests/support/memory_source.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/test_host.hpp"

namespace {

constexpr int64_t kVocabulary = 3;

// A model of one number a token: h = embed[id], then h + layers.0.w, logits head * (0, 1, 2).
struct Model {
  std::map<std::string, std::vector<float>> weights = {
      {"embed", {0.1F, 0.4F, -0.3F}}, {"layers.0.w", {0.5F}}, {"head", {1.0F}}};
  int sets = 0;

  std::array<double, 3> probabilities(int32_t id) const {
    const double h = weights.at("embed")[static_cast<size_t>(id)] + weights.at("layers.0.w")[0];
    std::array<double, 3> out{};
    double sum = 0;
    for (size_t v = 0; v < 3; ++v) {
      out[v] = std::exp(h * weights.at("head")[0] * static_cast<double>(v));
      sum += out[v];
    }
    for (double& p : out) {
      p /= sum;
    }
    return out;
  }
};

Model& self(quench_model* model) {
  return *reinterpret_cast<Model*>(model);
}

quench_status info_of(const quench_model*, quench_model_info* info, quench_error*) noexcept {
  *info = {sizeof *info,          1, 1, kVocabulary, 64, {QUENCH_DTYPE_FLOAT, 32, 1},
           {QUENCH_DEVICE_CPU, 0}};
  return QUENCH_OK;
}
quench_status parameters_of(const quench_model*, const quench_parameter_info** list,
                            uint64_t* count, quench_error*) noexcept {
  static const int64_t kThree[] = {3};
  static const int64_t kOne[] = {1};
  static const quench_parameter_info kList[] = {
      {sizeof(quench_parameter_info), QUENCH_ROLE_EMBEDDING, "embed", 1, kThree, 0, 0, nullptr},
      {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "layers.0.w", 1, kOne, 3, 0, nullptr},
      {sizeof(quench_parameter_info), QUENCH_ROLE_HEAD, "head", 1, kOne, 4, 0, nullptr}};
  *list = kList;
  *count = 3;
  return QUENCH_OK;
}
quench_status block_of(const quench_model*, uint32_t, const quench_block_info** info,
                       quench_error*) noexcept {
  static const quench_linear_info kLinear = {
      sizeof(quench_linear_info), 0, "layers.0", "o", "layers.0.w", nullptr, 1, 1};
  static const quench_group_info kGroup = {
      sizeof(quench_group_info), 0, 0, -1, -1, 1, &kLinear, 0, nullptr};
  static const quench_block_info kBlock = {sizeof(quench_block_info), 1, 1, &kGroup};
  *info = &kBlock;
  return QUENCH_OK;
}
quench_status carry_of(const quench_model*, uint32_t, uint32_t, const quench_carry_info** list,
                       uint32_t* count, quench_error*) noexcept {
  static const quench_carry_info kCarry = {
      sizeof(quench_carry_info), "h", 1, 1, {QUENCH_DTYPE_FLOAT, 32, 1}};
  *list = &kCarry;
  *count = 1;
  return QUENCH_OK;
}
quench_status embed(quench_model* model, const quench_embed_args* args, quench_error*) noexcept {
  const auto* ids = static_cast<const int32_t*>(args->batch->tokens->data);
  auto* h = static_cast<float*>(args->h->data);
  for (int64_t t = 0; t < args->h->shape[0]; ++t) {
    h[t] = self(model).weights["embed"][static_cast<size_t>(ids[t])];
  }
  return QUENCH_OK;
}
quench_status stage(quench_model* model, const quench_stage_args* args, quench_error*) noexcept {
  auto* h = static_cast<float*>(args->out[0].data);
  for (int64_t t = 0; t < args->out[0].shape[0]; ++t) {
    h[t] = static_cast<const float*>(args->in[0].data)[t] + self(model).weights["layers.0.w"][0];
  }
  return QUENCH_OK;
}
quench_status logits_of(quench_model* model, const quench_tensor* h, const quench_tensor* logits,
                        void*, quench_error*) noexcept {
  for (int64_t t = 0; t < h->shape[0]; ++t) {
    for (int64_t v = 0; v < kVocabulary; ++v) {
      static_cast<float*>(logits->data)[t * kVocabulary + v] =
          static_cast<const float*>(h->data)[t] * self(model).weights["head"][0] *
          static_cast<float>(v);
    }
  }
  return QUENCH_OK;
}
quench_status get(quench_model* model, const char* name, const quench_tensor* to,
                  quench_error*) noexcept {
  const std::vector<float>& value = self(model).weights.at(name);
  std::memcpy(to->data, value.data(), value.size() * sizeof(float));
  return QUENCH_OK;
}
quench_status set(quench_model* model, const char* name, const quench_tensor* from,
                  quench_error*) noexcept {
  std::vector<float>& value = self(model).weights.at(name);
  std::memcpy(value.data(), from->data, value.size() * sizeof(float));
  ++self(model).sets;
  return QUENCH_OK;
}

struct Found {
  quench_status status = QUENCH_OK;
  std::string message;
  std::map<std::string, std::pair<double, double>> values;  // with standard errors
  std::vector<double> items;
  std::map<std::string, std::string> details;
  std::map<std::string, double> numbers;  // in the details
};

Found& sink_of(void* context) {
  return *static_cast<Found*>(context);
}

// −log p of each id but the first of its row, by the weights that the model has now.
quench_status score(void* context, const quench_score_args* args, quench_error*) noexcept {
  const Model& model = *static_cast<const Model*>(context);
  for (uint64_t row = 0; row < args->rows; ++row) {
    for (uint64_t i = args->starts[row] + 1; i < args->starts[row + 1]; ++i) {
      args->nll[i] =
          -std::log(model.probabilities(args->ids[i - 1])[static_cast<size_t>(args->ids[i])]);
    }
  }
  return QUENCH_OK;
}

Found measure(Model& quantized, const Model& floating, std::vector<int32_t> ids, int block,
              const std::string& id = "divergence") {
  const quench_item& item = quench::test::plugin_item(METRICS_DIR "/" + id + ".so", "metric");
  const auto& metric_table = quench::test::table_of<quench_metric_table>(item);
  quench_model_table table{};
  table.struct_size = sizeof table;
  table.info = info_of;
  table.parameters = parameters_of;
  table.block = block_of;
  table.carry = carry_of;
  table.embed = embed;
  table.stage = stage;
  table.logits = logits_of;
  table.weight_get = get;
  table.weight_set = set;
  quench::test::MemorySource source;
  for (const auto& [name, value] : floating.weights) {
    source.add(name, {static_cast<int64_t>(value.size())},
               std::vector<double>(value.begin(), value.end()), {QUENCH_DTYPE_FLOAT, 32, 1});
  }
  const quench_subject subject = {sizeof subject, &table,
                                  reinterpret_cast<quench_model*>(&quantized), &quantized, score};
  const std::vector<uint64_t> offsets = {0, ids.size()};
  const quench_tokens tokens = {sizeof tokens, "corpus",       "text", 1,
                                ids.data(),    offsets.data(), nullptr};
  Found found;
  const quench_metric_sink sink = {
      sizeof sink,
      &found,
      [](void* context, const char* name, double value, const char*, int32_t, double error,
         quench_error*) noexcept -> quench_status {
        sink_of(context).values[name] = {value, error};
        return QUENCH_OK;
      },
      [](void* context, const char* name, double value, quench_error*) noexcept -> quench_status {
        sink_of(context).numbers[name] = value;
        return QUENCH_OK;
      },
      [](void* context, const char*, const double* values, uint64_t count,
         quench_error*) noexcept -> quench_status {
        sink_of(context).items.assign(values, values + count);
        return QUENCH_OK;
      },
      [](void* context, const char* name, const char* text, uint64_t bytes,
         quench_error*) noexcept -> quench_status {
        sink_of(context).details[name] = std::string(text, bytes);
        return QUENCH_OK;
      }};
  const quench_weights weights = {sizeof weights, "float", "", NAN, NAN, source.source()};
  const quench_evaluate_args args = {sizeof args, 0,       &subject, 1,       &tokens,
                                     &sink,       nullptr, 1,        &weights};
  quench_metric* metric = nullptr;
  quench_error error{sizeof error, 0, {}};
  const std::string parameters =
      quench::test::complete_parameters(item, {{"corpus", "text"}, {"block", block}});
  REQUIRE(metric_table.create(parameters.data(), parameters.size(), &metric, &error) == QUENCH_OK);
  CHECK(metric_table.needs(metric) == QUENCH_METRIC_NEEDS_FLOAT);
  found.status = metric_table.evaluate(metric, &args, &error);
  found.message = found.status == QUENCH_OK ? "" : error.message;
  metric_table.destroy(metric);
  return found;
}

double divergence(const std::array<double, 3>& p, const std::array<double, 3>& q) {
  double sum = 0;
  for (size_t v = 0; v < 3; ++v) {
    sum += p[v] * std::log(p[v] / q[v]);
  }
  return sum;
}

}  // namespace

TEST_CASE("divergence is the mean KL of the float from the quantized predictions",
          "[metrics][divergence]") {
  const Model floating;
  Model quantized = floating;
  quantized.weights["layers.0.w"] = {-0.6F};
  quantized.weights["head"] = {1.25F};
  const Model before = quantized;
  const std::vector<int32_t> ids = {0, 1, 2, 2, 1, 0, 1};  // blocks 0 1 2 | 2 1 0
  const Found found = measure(quantized, floating, ids, 3);
  REQUIRE(found.message == "");
  const auto kl = [&](int32_t id) {
    return divergence(floating.probabilities(id), quantized.probabilities(id));
  };
  const double first = (kl(0) + kl(1)) / 2;
  const double second = (kl(2) + kl(1)) / 2;
  REQUIRE(found.items.size() == 2);
  CHECK(found.items[0] == Approx(first).epsilon(1e-5));
  CHECK(found.items[1] == Approx(second).epsilon(1e-5));
  CHECK(found.values.at("divergence").first == Approx((first + second) / 2).epsilon(1e-5));
  CHECK(found.values.at("divergence").second == Approx(std::abs(first - second) / 2).epsilon(1e-4));
  // h + w: 0.6, 0.9, 0.2 before, -0.5, -0.2, -0.9 after, so the top id goes from 2 to 0.
  CHECK(found.values.at("top1_agreement").first == 0);
  CHECK(quantized.weights == before.weights);  // and the quantized weights are back
}

TEST_CASE("divergence tells the error of each layer and of each weight", "[metrics][divergence]") {
  const Model floating;
  Model quantized = floating;
  quantized.weights["layers.0.w"] = {0.6F};
  const Found found = measure(quantized, floating, {0, 1}, 2);
  REQUIRE(found.message == "");
  // Rows 0.6 and 0.9 are off by 0.1 each.
  const double relative = std::sqrt(0.02 / (0.36 + 0.81));
  CHECK(std::stod(found.details.at("residual_errors").substr(1)) == Approx(relative).epsilon(1e-5));
  CHECK_THAT(found.details.at("weight_errors"), Catch::StartsWith("{\"layers.0.w\":0.2"));
  CHECK(found.values.at("top1_agreement").first == 1);
}

TEST_CASE("divergence of a model from itself is nothing, and no weight is set",
          "[metrics][divergence]") {
  const Model floating;
  Model same = floating;
  const Found found = measure(same, floating, {0, 1, 2, 0}, 2);
  REQUIRE(found.message == "");
  CHECK(std::abs(found.values.at("divergence").first) < 1e-9);
  CHECK(found.values.at("top1_agreement").first == 1);
  CHECK(same.sets == 0);
}

TEST_CASE("divergence refuses a corpus smaller than one block", "[metrics][divergence]") {
  const Model floating;
  Model quantized = floating;
  CHECK(measure(quantized, floating, {0, 1}, 3).message ==
        "corpus `text` is smaller than one block: got 2 ids, wanted at least 3");
}

TEST_CASE("divergence of two rows is exact to float32's exponentials", "[metrics][divergence]") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 4);
  for (const size_t count : {1u, 7u, 8u, 50u, 4099u}) {
    std::vector<double> p(count);
    std::vector<double> q(count);
    for (size_t i = 0; i < count; ++i) {
      p[i] = static_cast<float>(normal(random));
      q[i] = static_cast<float>(p[i] + 0.05 * normal(random));
    }
    long double sum_p = 0;
    long double sum_q = 0;
    for (size_t i = 0; i < count; ++i) {
      sum_p += std::exp(static_cast<long double>(p[i]));
      sum_q += std::exp(static_cast<long double>(q[i]));
    }
    long double expected = 0;
    for (size_t i = 0; i < count; ++i) {
      expected += std::exp(static_cast<long double>(p[i])) / sum_p *
                  (p[i] - std::log(sum_p) - q[i] + std::log(sum_q));
    }
    const std::vector<float> p32(p.begin(), p.end());
    const std::vector<float> q32(q.begin(), q.end());
    using quench::metrics::row_divergence;
    const auto wide = row_divergence(std::span<const double>(p), std::span<const double>(q));
    const auto narrow = row_divergence(std::span<const float>(p32), std::span<const float>(q32));
    CAPTURE(count);
    CHECK(std::abs(wide.kl - static_cast<double>(expected)) < 1e-12);
    CHECK(std::abs(narrow.kl - static_cast<double>(expected)) < 2e-6);
    CHECK(wide.same_top == narrow.same_top);
  }
  // Far below the largest, a logit counts for nothing, and does not become a NaN.
  const std::vector<float> far = {0.0F, -500.0F};
  CHECK(quench::metrics::row_divergence(std::span<const float>(far), far).kl == 0);
}

TEST_CASE("error_decomposition: the error of the embedding is carried, that of the block is new",
          "[metrics][error_decomposition]") {
  const Model floating;
  Model quantized = floating;
  quantized.weights["embed"] = {0.2F, 0.3F, -0.3F};
  quantized.weights["layers.0.w"] = {0.7F};
  const Model before = quantized;
  const Found found = measure(quantized, floating, {0, 1, 2, 1, 0}, 2, "error_decomposition");
  REQUIRE(found.message == "");
  // h: 0.6 0.9 | 0.2 0.9; what comes in is off by 0.1 -0.1 | 0 -0.1, the block adds 0.2 to each.
  const double size = 0.36 + 0.81 + 0.04 + 0.81;
  const double first = 0.09 + 0.01;   // (0.3, 0.1)
  const double second = 0.04 + 0.01;  // (0.2, 0.1)
  const auto one = [&](const char* name) { return std::stod(found.details.at(name).substr(1)); };
  CHECK(one("relative_error") == Approx(0.15 / size).epsilon(1e-5));
  CHECK(one("accumulated") == Approx(0.03 / size).epsilon(1e-5));
  CHECK(one("new") == Approx(4 * 0.04 / size).epsilon(1e-5));
  CHECK(one("interaction") == Approx(2 * 0.2 * -0.1 / size).epsilon(1e-5));
  CHECK(one("gain") == Approx(1).epsilon(1e-5));
  CHECK(found.numbers.at("embedding") == Approx(0.03 / (0.01 + 0.16 + 0.09 + 0.16)).epsilon(1e-5));
  CHECK(found.numbers.at("positions") == 4);
  REQUIRE(found.items.size() == 2);
  CHECK(found.items[0] == Approx(2 * first / size).epsilon(1e-5));
  CHECK(found.items[1] == Approx(2 * second / size).epsilon(1e-5));
  CHECK(found.values.at("error_decomposition").first == Approx(0.15 / size).epsilon(1e-5));
  const double off = first - 0.15 / size * (0.36 + 0.81);
  CHECK(found.values.at("error_decomposition").second ==
        Approx(2 * std::abs(off) / size).epsilon(1e-4));
  // Of 0.6, 0.9, 0.2 and 0.9: mean 0.65, differences -0.05, 0.25, -0.45, 0.25.
  CHECK(one("activation_kurtosis") ==
        Approx((0.00000625 + 2 * 0.00390625 + 0.04100625) / 4 / std::pow(0.33 / 4, 2) - 3)
            .epsilon(1e-4));
  CHECK(found.details.at("weight_kurtosis") == "{\"layers.0.w\":null}");  // of one number
  CHECK(quantized.weights == before.weights);
}

TEST_CASE("error_decomposition: without an error there is nothing to amplify",
          "[metrics][error_decomposition]") {
  const Model floating;
  Model same = floating;
  const Found found = measure(same, floating, {0, 1, 2, 1}, 2, "error_decomposition");
  REQUIRE(found.message == "");
  CHECK(found.values.at("error_decomposition").first == 0);
  CHECK(found.details.at("gain") == "[null]");
  CHECK(same.sets == 0);
  CHECK(measure(same, floating, {0, 1}, 3, "error_decomposition").message ==
        "corpus `text` is smaller than one block: got 2 ids, wanted at least 3");
}

TEST_CASE("depth_loss: the loss in float, with the block quantized, and with the head as well",
          "[metrics][depth_loss]") {
  const Model floating;
  Model quantized = floating;
  quantized.weights["layers.0.w"] = {-0.6F};
  Model block = quantized;
  quantized.weights["head"] = {1.25F};
  const Model before = quantized;
  const std::vector<int32_t> ids = {0, 1, 2, 2, 1, 0, 1};  // blocks 0 1 2 | 2 1 0
  const Found found = measure(quantized, floating, ids, 3, "depth_loss");
  REQUIRE(found.message == "");
  const auto loss = [](const Model& model, std::array<int32_t, 3> row) {
    return -(std::log(model.probabilities(row[0])[static_cast<size_t>(row[1])]) +
             std::log(model.probabilities(row[1])[static_cast<size_t>(row[2])])) /
           2;
  };
  const auto mean = [&](const Model& model) {
    return (loss(model, {0, 1, 2}) + loss(model, {2, 1, 0})) / 2;
  };
  CHECK(found.numbers.at("float") == Approx(mean(floating)).epsilon(1e-14));
  CHECK(std::stod(found.details.at("first").substr(1)) == Approx(mean(block)).epsilon(1e-14));
  CHECK(found.numbers.at("outside") == Approx(mean(quantized)).epsilon(1e-14));
  CHECK(found.values.at("depth_loss").first ==
        Approx(mean(quantized) - mean(floating)).epsilon(1e-12));
  const double first = loss(quantized, {0, 1, 2}) - loss(floating, {0, 1, 2});
  const double second = loss(quantized, {2, 1, 0}) - loss(floating, {2, 1, 0});
  REQUIRE(found.items.size() == 2);
  CHECK(found.items[0] == Approx(first));
  CHECK(found.items[1] == Approx(second));
  CHECK(found.values.at("depth_loss").second == Approx(std::abs(first - second) / 2));
  CHECK(quantized.weights == before.weights);

  SECTION("without a block of text it is refused") {
    CHECK(measure(quantized, floating, {0, 1}, 3, "depth_loss").message ==
          "corpus `text` is smaller than one block: got 2 ids, wanted at least 3");
  }
}
