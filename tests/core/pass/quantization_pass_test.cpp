// What a pass does beyond quantizing one setting in sequence: where rows come from, several
// settings at once, fused scoring. On the template family, with quantizers of this build.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/checkpoint/dtype.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/process_memory.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;
using quench::FloatWeights;
using quench::HostTensor;
using quench::ModelHandle;
using quench::QuantizationResult;
using quench::QuantizerHandle;

namespace {

constexpr uint64_t kTokens = 240;  // more than the 32 columns of an input
constexpr uint64_t kBlocks = 2;
constexpr uint64_t kStages = 2;

bool has_gptq() {
  return quench::test::built_catalog().find("quantizer", "gptq") != nullptr;
}

void need_gptq() {
  quench::test::skip_unless(has_gptq(), "this build has no gptq");
}

// The plugins of the build as if each had a process of its own, because none came with this
// program; they are loaded here.
quench::Catalog& everything_apart() {
  static const auto catalog = [] {
    quench::CatalogOptions options = quench::test::built_catalog().options();
    options.load_in_worker = [](const quench::PluginDescription& item) -> const quench_item& {
      return quench::test::built_catalog().load(item);
    };
    const std::filesystem::path elsewhere = quench::test::binary_dir() / "tests/elsewhere/bin";
    std::filesystem::create_directories(elsewhere);
    std::error_code is_there;
    std::filesystem::create_symlink(options.self, elsewhere / "quench", is_there);
    options.self = elsewhere / "quench";
    options.cache_dir = quench::test::binary_dir() / "tests/elsewhere";
    return std::make_unique<quench::Catalog>(options);
  }();
  return *catalog;
}

QuantizerHandle quantizer(const json& given, const std::string& id = "gptq",
                          quench::Catalog& catalog = quench::test::built_catalog()) {
  const quench::PluginDescription& plugin = catalog.require("quantizer", id);
  std::vector<quench::ParameterProblem> problems;
  const json complete = quench::complete_parameters(plugin, given, problems);
  REQUIRE(problems.empty());
  return {catalog, plugin, complete};
}

quench::CalibrationRows calibration(uint64_t tokens = kTokens) {
  quench::CalibrationRows rows;
  rows.starts = {0};
  for (uint64_t i = 0; i < tokens; ++i) {
    rows.ids.push_back(static_cast<int32_t>(i * i * 7 % 256));
    if (i % 24 == 23) {
      rows.starts.push_back(i + 1);
    }
  }
  return rows;
}

struct Fixture {
  quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  quench::CalibrationRows rows = calibration();
  FloatWeights kept{model};

  HostTensor mix(uint32_t block) const {
    HostTensor out(quench::kFloat32, {32, 32});
    model.weight_get("blocks." + std::to_string(block) + ".mix.weight", out.view());
    return out;
  }
  QuantizationResult run(const json& parameters, const std::string& id = "gptq") {
    QuantizerHandle handle = quantizer(parameters, id);
    quench::QuantizeOptions options;
    options.calibration = &rows;
    options.keep_tensors = true;
    return quench::quantize_model(model, handle, options, kept);
  }
};

bool same(const HostTensor& a, const HostTensor& b) {
  return a.bytes().size() == b.bytes().size() &&
         std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

quench::ScoreRequest request() {
  quench::ScoreRequest out;
  for (int i = 0; i < 60; ++i) {
    out.ids.push_back(i * 11 % 256);
  }
  out.starts = {0, 20, 40, 60};
  out.argmax = true;
  return out;
}

quench::ScoreAnswer scored(ModelHandle& model, const quench::ScoreRequest& request) {
  quench::ScoreAnswer out{std::vector<double>(request.ids.size()),
                          std::vector<int32_t>(request.ids.size())};
  quench::score(model,
                {sizeof(quench_score_args), 0, request.starts.size() - 1, request.ids.data(),
                 request.starts.data(), nullptr, out.nll.data(), out.argmax.data(), nullptr});
  return out;
}

}  // namespace

TEST_CASE("pass: rows come from quantized weights, a float block, or the float model",
          "[core][run]") {
  need_gptq();
  Fixture f;
  const QuantizationResult sequential = f.run({{"bits", 2}});
  f.kept.restore();
  const QuantizationResult block = f.run({{"bits", 2}, {"inputs", "block"}});
  f.kept.restore();
  const HostTensor before = f.mix(1);
  const QuantizationResult floating = f.run({{"bits", 2}, {"inputs", "float"}});
  CHECK_FALSE(same(before, f.mix(1)));
  CHECK(same(floating.layers[1].tensors.at("weight"), f.mix(1)));
  f.kept.restore();
  CHECK(same(before, f.mix(1)));

  CHECK(sequential.stage_tokens == kTokens * kStages * kBlocks);
  CHECK(block.stage_tokens == 2 * kTokens * kStages * kBlocks);
  CHECK(floating.stage_tokens == kTokens * kStages * kBlocks);
  // The template's block has one group, so a float block changes nothing; and the first block's
  // rows are the float model's anyway.
  for (size_t layer = 0; layer < 2; ++layer) {
    CHECK(same(sequential.layers[layer].tensors.at("codes"),
               block.layers[layer].tensors.at("codes")));
  }
  CHECK(same(sequential.layers[0].tensors.at("codes"), floating.layers[0].tensors.at("codes")));
  CHECK_FALSE(
      same(sequential.layers[1].tensors.at("codes"), floating.layers[1].tensors.at("codes")));
  CHECK(sequential.seconds.count("factor") == 1);
  CHECK(sequential.layers[0].numbers.count("seconds.factor") == 0);
}

TEST_CASE("pass: several settings in one pass are what each is alone", "[core][run]") {
  need_gptq();
  Fixture f;
  const std::vector<json> given = {{{"inputs", "float"}, {"bits", 4}},
                                   {{"inputs", "float"}, {"bits", 2}, {"group_size", 8}},
                                   {{"inputs", "float"}, {"bits", 3}, {"desc_act", true}}};
  std::vector<QuantizationResult> alone;
  for (const json& parameters : given) {
    alone.push_back(f.run(parameters));
    f.kept.restore();
  }
  std::vector<QuantizerHandle> handles;
  handles.reserve(given.size());
  std::vector<QuantizerHandle*> pointers;
  for (const json& parameters : given) {
    handles.push_back(quantizer(parameters));
    pointers.push_back(&handles.back());
  }
  REQUIRE(quench::can_share_pass(pointers));
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  options.keep_tensors = true;
  const std::vector<quench::QuantizedSetting> settings =
      quench::quantize_settings(f.model, pointers, options);
  REQUIRE(settings.size() == 3);
  const HostTensor before = f.mix(0);
  for (size_t i = 0; i < settings.size(); ++i) {
    CHECK_FALSE(settings[i].error.has_value());
    CHECK(settings[i].result.stage_tokens == kTokens * kStages * kBlocks);  // of all, once
    CHECK(settings[i].result.bits_per_weight == alone[i].bits_per_weight);
    quench::set_weights(f.model, settings[i], f.kept);
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const quench::LayerResult& layer = settings[i].result.layers[block];
      CHECK(layer.numbers == alone[i].layers[block].numbers);
      CHECK(layer.relative_error == alone[i].layers[block].relative_error);
      CHECK(same(layer.tensors.at("codes"), alone[i].layers[block].tensors.at("codes")));
      CHECK(same(layer.tensors.at("weight"), f.mix(block)));  // the model carries it now
    }
    f.kept.restore();
    CHECK(same(before, f.mix(0)));
  }

  QuantizerHandle other = quantizer({{"bits", 4}});
  std::vector<QuantizerHandle*> mixed = {pointers[0], &other};
  CHECK_FALSE(quench::can_share_pass(mixed));
}

TEST_CASE("pass: a setting that fails leaves the others alone", "[core][run]") {
  need_gptq();
  Fixture f;
  f.rows = calibration(24);  // fewer rows than columns: singular without damping
  QuantizerHandle good = quantizer({{"inputs", "float"}});
  QuantizerHandle bad = quantizer({{"inputs", "float"}, {"damp", 0}, {"damp_increment", 0}});
  const HostTensor before = f.mix(0);
  QuantizerHandle* const pointers[] = {&bad, &good};
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  const auto settings = quench::quantize_settings(f.model, pointers, options);
  CHECK(settings[0].error.has_value());
  CHECK(settings[0].weights.empty());
  CHECK_FALSE(settings[1].error.has_value());
  quench::set_weights(f.model, settings[1], f.kept);
  CHECK_FALSE(same(before, f.mix(0)));
  CHECK_THAT(quench::test::message_of([&] {
               f.kept.restore();
               f.run({{"damp", 0}, {"damp_increment", 0}});
             }),
             Catch::Contains("not positive definite"));
}

TEST_CASE("pass: fused scoring gives the bits of a later one", "[core][run]") {
  need_gptq();
  Fixture f;
  const std::vector<quench::ScoreRequest> requests = {request()};
  for (const char* inputs : {"sequential", "block", "float"}) {
    INFO(inputs);
    QuantizerHandle two = quantizer({{"bits", 2}, {"inputs", inputs}});
    quench::QuantizeOptions options;
    options.calibration = &f.rows;
    options.fused = requests;
    const QuantizationResult result = quench::quantize_model(f.model, two, options, f.kept);
    const quench::ScoreAnswer later = scored(f.model, requests[0]);
    f.kept.restore();
    const quench::ScoreAnswer floating = scored(f.model, requests[0]);
    REQUIRE(result.answers.size() == 1);
    CHECK(result.answers[0].nll == later.nll);
    CHECK(result.answers[0].argmax == later.argmax);
    CHECK(result.answers[0].nll != floating.nll);
    CHECK(result.fused_tokens == 60);
  }
}

TEST_CASE("pass: fused scores of several settings are each on their own weights", "[core][run]") {
  need_gptq();
  Fixture f;
  const std::vector<quench::ScoreRequest> requests = {request()};
  QuantizerHandle two = quantizer({{"bits", 2}, {"inputs", "float"}, {"embedding", true}});
  QuantizerHandle four = quantizer({{"bits", 4}, {"inputs", "float"}, {"embedding", true}});
  QuantizerHandle* const pointers[] = {&two, &four};
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  options.fused = requests;
  for (const quench::QuantizedSetting& setting :
       quench::quantize_settings(f.model, pointers, options)) {
    REQUIRE(setting.result.answers.size() == 1);
    quench::set_weights(f.model, setting, f.kept);
    CHECK(setting.result.answers[0].nll == scored(f.model, requests[0]).nll);
    f.kept.restore();
  }
}

namespace {

// tr(ΔGΔᵀ) / tr(WGWᵀ) of the first block's linear in float64, with G of the rows that the template
// family computes: the norm of the sum of what a token sees. Pads see the text and nothing else.
double first_error(Fixture& f, const HostTensor& quantized, bool with_pads) {
  constexpr size_t kWidth = 32;
  HostTensor embedding(quench::kFloat64, {256, kWidth});
  HostTensor weight(quench::kFloat64, {kWidth, kWidth});
  f.model.weight_get("embed.weight", embedding.view());
  f.model.weight_get("blocks.0.mix.weight", weight.view());
  const auto* e = reinterpret_cast<const double*>(embedding.bytes().data());
  const auto* w = reinterpret_cast<const double*>(weight.bytes().data());
  const auto* q = reinterpret_cast<const float*>(quantized.bytes().data());
  double error = 0;
  double reference = 0;
  for (size_t r = 0; r + 1 < f.rows.starts.size(); ++r) {
    double seen[kWidth] = {};
    for (uint64_t i = f.rows.starts[r]; i < f.rows.starts[r + 1]; ++i) {
      const bool text = i - f.rows.starts[r] < f.rows.texts[r];
      double squares = 0;
      for (size_t c = 0; c < kWidth; ++c) {
        seen[c] += text ? e[static_cast<size_t>(f.rows.ids[i]) * kWidth + c] : 0.0;
        squares += seen[c] * seen[c];
      }
      const double norm = std::sqrt(squares / kWidth);
      for (size_t o = 0; o < kWidth && (text || with_pads); ++o) {
        double difference = 0;
        double output = 0;
        for (size_t c = 0; c < kWidth; ++c) {
          const size_t at = o * kWidth + c;
          difference += (w[at] - static_cast<double>(q[at])) * seen[c] / norm;
          output += w[at] * seen[c] / norm;
        }
        error += difference * difference;
        reference += output * output;
      }
    }
  }
  return error / reference;
}

}  // namespace

TEST_CASE("pass: pads that count are in the Gram matrix, with what they read", "[core][run]") {
  need_gptq();
  Fixture f;
  f.rows = calibration(36);  // 24 ids, then 12
  f.rows.texts = {24, 12};
  f.rows.ids.resize(48, 200);
  f.rows.starts = {0, 24, 48};
  const QuantizationResult counted = f.run({{"bits", 2}}, "rtn");
  CHECK(counted.calibration_tokens == 48);
  CHECK(counted.calibration_pads == 12);
  const HostTensor& quantized = counted.layers[0].tensors.at("weight");
  f.kept.restore();
  const double wanted = first_error(f, quantized, true);
  CHECK(counted.layers[0].relative_error == Approx(wanted).epsilon(1e-5));  // rows are float32
  CHECK(std::abs(first_error(f, quantized, false) - wanted) > 1e-3 * wanted);
}

TEST_CASE("pass: the float stream is one more forward", "[core][run]") {
  need_gptq();
  Fixture f;
  const QuantizationResult plain = f.run({{"bits", 2}});
  f.kept.restore();
  const QuantizationResult corrected = f.run({{"bits", 2}, {"gptaq", true}});
  CHECK(plain.float_stage_tokens == 0);
  CHECK(corrected.stage_tokens == plain.stage_tokens);
  CHECK(corrected.float_stage_tokens == plain.stage_tokens);
  // Nothing is quantized before the first block, so the streams agree there.
  CHECK(same(plain.layers[0].tensors.at("codes"), corrected.layers[0].tensors.at("codes")));
  CHECK_FALSE(same(plain.layers[1].tensors.at("codes"), corrected.layers[1].tensors.at("codes")));
}

TEST_CASE("pass: the embedding is rounded first, and comes back", "[core][run]") {
  need_gptq();
  Fixture f;
  const quench::ScoreAnswer before = scored(f.model, request());
  const QuantizationResult result = f.run({{"bits", 3}, {"embedding", true}}, "rtn");
  REQUIRE(result.layers.size() == 3);
  CHECK(result.layers[0].block == kBlocks);
  CHECK(result.layers[0].out_features == f.model.info().vocabulary);
  CHECK(scored(f.model, request()).nll != before.nll);
  f.kept.restore();
  CHECK(scored(f.model, request()).nll == before.nll);
}

TEST_CASE("score cache: an answer is given to the same question only", "[core][run]") {
  Fixture f;
  quench::ScoreCache cache;
  quench::Subject subject(f.model, &cache);
  const quench::ScoreRequest asked = request();
  quench::ScoreAnswer out{std::vector<double>(asked.ids.size()),
                          std::vector<int32_t>(asked.ids.size())};
  quench_score_args args{
      sizeof args,       0,      3, asked.ids.data(), asked.starts.data(), nullptr, out.nll.data(),
      out.argmax.data(), nullptr};
  quench_error error{sizeof error, 0, {}};
  const auto ask = [&] {
    REQUIRE(subject.subject().score(subject.subject().context, &args, &error) == QUENCH_OK);
    return out.nll;
  };
  const std::vector<double> truth = ask();
  REQUIRE(cache.requests().size() == 1);
  CHECK(cache.requests()[0] == asked);
  cache.set_answers(
      {{std::vector<double>(asked.ids.size(), 7.0), std::vector<int32_t>(asked.ids.size(), 1)}});
  CHECK(ask() == std::vector<double>(asked.ids.size(), 7.0));
  const std::vector<uint64_t> from = {2, 2, 2};
  args.scored_from = from.data();
  CHECK(ask()[3] == truth[3]);  // another question
}

TEST_CASE("score cache: what is asked after a metric has set a weight is scored", "[core][run]") {
  Fixture f;
  const quench::ScoreRequest asked = request();
  const quench::ScoreAnswer truth = scored(f.model, asked);
  quench::ScoreCache cache;
  quench::ScoreAnswer out = truth;
  const quench_score_args args{
      sizeof args,       0,      3, asked.ids.data(), asked.starts.data(), nullptr, out.nll.data(),
      out.argmax.data(), nullptr};
  cache.note(args);
  cache.set_answers({{std::vector<double>(asked.ids.size(), 7.0), truth.argmax}});
  quench::Subject subject(f.model, &cache);
  const quench_subject& view = subject.subject();
  quench_error error{sizeof error, 0, {}};
  const auto ask = [&] {
    REQUIRE(view.score(view.context, &args, &error) == QUENCH_OK);
    return out.nll;
  };
  CHECK(ask() == std::vector<double>(asked.ids.size(), 7.0));
  const HostTensor weight = f.mix(0);
  HostTensor other(weight.dtype(), weight.shape());  // zeros
  const quench_tensor changed = other.view();
  REQUIRE(view.table->weight_set(view.model, "blocks.0.mix.weight", &changed, &error) == QUENCH_OK);
  CHECK(ask() == scored(f.model, asked).nll);
  CHECK(ask() != truth.nll);
  CHECK(cache.requests().size() == 1);
}

TEST_CASE("pass memory: what is kept and carried follows from shapes", "[core][run]") {
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  const QuantizerHandle handle =
      quantizer(json::object(), has_gptq() ? "gptq" : "template_quantizer_c");
  const quench::PassMemory memory =
      quench::predict_pass_memory(f.model, handle, quench::work_of(f.model, options, 1));
  CHECK(memory.kept == 2 * 32 * 32 * 4);
  CHECK(memory.made == 0);
  CHECK(memory.activations >= kTokens * 32 * 4);
  CHECK(memory.total() > memory.kept + memory.activations);
  CHECK(quench::resident_memory_bytes() > 1'000'000);
  CHECK(quench::peak_memory_bytes() >= quench::resident_memory_bytes() / 2);
}

TEST_CASE("pass memory: what a state holds is what its quantizer says", "[core][run]") {
  need_gptq();
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  const auto predicted = [&](const json& parameters, uint64_t settings) {
    return quench::predict_pass_memory(f.model, quantizer(parameters),
                                       quench::work_of(f.model, options, settings));
  };
  // By hand, of a group with one weight [32, 32] in float32: the Gram matrix, 1024 rows of a panel
  // and 256 columns of a product, all float64.
  constexpr uint64_t kMatrix = 32 * 32 * 8;
  constexpr uint64_t kGram = kMatrix + (1024 + 256) * 32 * 8;
  // The weight as it came, dequantized, in the order of the columns; codes in two orders.
  constexpr uint64_t kWeight = 32 * 32 * (3 * 4 + 2);
  const quench::PassMemory plain = predicted(json::object(), 1);
  CHECK(plain.observing == kGram);
  CHECK(plain.quantizing == kMatrix + kWeight);
  CHECK(plain.slack == plain.stage + plain.observing + plain.quantizing);
  // Of a model on a GPU: the calibration and the Gram matrix there, the float weights here, and
  // what one linear needs on both sides.
  CHECK(plain.on_gpu() == plain.activations + plain.stage + kGram + kMatrix + kWeight);
  CHECK(plain.beside_gpu() == plain.kept + kMatrix + kWeight);
  // GPTAQ: a second matrix with a panel of its own, and two matrices beside the factor.
  const quench::PassMemory asymmetric = predicted({{"gptaq", true}}, 1);
  CHECK(asymmetric.observing == 2 * kGram + 1024 * 32 * 8);
  CHECK(asymmetric.quantizing == 3 * kMatrix + kWeight);
  CHECK(asymmetric.activations == 2 * plain.activations);
  // Settings that share a pass share the statistics and the factor.
  const quench::PassMemory three = predicted({{"inputs", "float"}}, 3);
  CHECK(three.observing == kGram);
  CHECK(three.quantizing == kMatrix + kWeight);
  CHECK(three.made == 3 * plain.kept);
}

TEST_CASE("pass memory: on a GPU that is not here weights stay on the device", "[core][run]") {
  need_gptq();
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  quench::PassWork work = quench::work_of(f.model, options, 1);
  CHECK(!work.on_gpu);
  work.on_gpu = true;
  const quench::PassMemory taking =
      quench::predict_pass_memory(f.model, quantizer({{"bits", 4}}), work);
  CHECK(taking.on_gpu() == taking.on_gpu_by_block() + taking.kept);
  CHECK(taking.beside_gpu() == 0);
  // Of a pass over the float model the results wait in host memory.
  work.settings = 3;
  const quench::PassMemory sharing =
      quench::predict_pass_memory(f.model, quantizer({{"inputs", "float"}}), work);
  CHECK(sharing.on_gpu() == sharing.on_gpu_by_block() + sharing.kept);
  CHECK(sharing.beside_gpu() == 3 * taking.kept);
  work.settings = 1;
  const QuantizerHandle silent = quantizer(json::object(), "template_quantizer_c");
  const quench::PassMemory by_host = quench::predict_pass_memory(f.model, silent, work);
  CHECK(by_host.on_gpu() == by_host.on_gpu_by_block());
  CHECK(by_host.beside_gpu() == by_host.kept + by_host.quantizing);
}

TEST_CASE("pass memory: what a quantizer in a process of its own holds is host memory",
          "[core][run]") {
  need_gptq();
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  const QuantizerHandle here = quantizer({{"bits", 4}});
  const QuantizerHandle apart = quantizer({{"bits", 4}}, "gptq", everything_apart());
  REQUIRE(apart.is_in_worker());
  quench::PassWork work = quench::work_of(f.model, options, 1);
  // Of a model in host memory nothing is elsewhere.
  CHECK(quench::predict_pass_memory(f.model, apart, work).total() ==
        quench::predict_pass_memory(f.model, here, work).total());
  const uint64_t held = quench::predict_pass_memory(f.model, here, work).observing;
  REQUIRE(held > 0);

  work.on_gpu = true;
  const quench::PassMemory memory = quench::predict_pass_memory(f.model, apart, work);
  CHECK(memory.observing == 0);
  CHECK(memory.observing_apart == held);
  CHECK(memory.on_gpu() == memory.activations + memory.stage);
  CHECK(memory.beside_gpu() == memory.kept + memory.quantizing + held);
  // Its buffers are those of a processor's: the same as of a model in host memory.
  work.on_gpu = false;
  CHECK(memory.quantizing == quench::predict_pass_memory(f.model, here, work).quantizing);

  // What evaluates its errors is here, where the rows are.
  work.on_gpu = true;
  const QuantizerHandle silent =
      quantizer(json::object(), "template_quantizer_c", everything_apart());
  work.judge = &here;
  const quench::PassMemory judged = quench::predict_pass_memory(f.model, silent, work);
  CHECK(judged.observing > 0);
  CHECK(judged.observing_apart == 0);
  CHECK(judged.on_gpu() == judged.activations + judged.stage + judged.observing);
}

TEST_CASE("pass memory: of a quantizer that says nothing, the weights are counted", "[core][run]") {
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  const QuantizerHandle silent = quantizer(json::object(), "template_quantizer_c");
  REQUIRE_FALSE(silent.says_memory());
  const quench::PassMemory memory =
      quench::predict_pass_memory(f.model, silent, quench::work_of(f.model, options, 1));
  CHECK(memory.observing == 0);
  CHECK(memory.quantizing == 2 * 32 * 32 * 4);
}

TEST_CASE("pass: an instance gives in its second pass what it gave in its first", "[core][run]") {
  need_gptq();
  Fixture f;
  quench::QuantizeOptions options;
  options.calibration = &f.rows;
  options.keep_tensors = true;
  QuantizerHandle once = quantizer({{"bits", 3}});
  const QuantizationResult first = quench::quantize_model(f.model, once, options, f.kept);
  f.kept.restore();
  // On other rows in between, which must leave nothing behind.
  const quench::CalibrationRows others = calibration(kTokens / 2);
  options.calibration = &others;
  quench::quantize_model(f.model, once, options, f.kept);
  f.kept.restore();
  options.calibration = &f.rows;
  const QuantizationResult again = quench::quantize_model(f.model, once, options, f.kept);
  f.kept.restore();
  REQUIRE(first.layers.size() == again.layers.size());
  for (size_t i = 0; i < first.layers.size(); ++i) {
    CHECK(same(first.layers[i].tensors.at("weight"), again.layers[i].tensors.at("weight")));
    CHECK(first.layers[i].numbers == again.layers[i].numbers);
  }
}
