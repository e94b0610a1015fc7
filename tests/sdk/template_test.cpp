// The templates do what their doc blocks say. What every plugin of a kind must do is tested in
// tests/contract.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/kit/tensor.hpp"
#include "tests/support/corpus_reader.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/score_recorder.hpp"
#include "tests/support/temporary.hpp"

using namespace quench::test;
namespace fs = std::filesystem;
namespace kit = quench::kit;

namespace {

const quench_item& item(const std::string& file, const std::string& kind) {
  return plugin_item(fs::path(TEMPLATE_DIR) / file, kind);
}

int run(const std::string& command, const fs::path& log) {
  return std::system((command + " > '" + log.string() + "' 2>&1").c_str());
}

}  // namespace

TEST_CASE("template_corpus draws the ids that its parameters ask for", "[sdk][template_corpus]") {
  const ReadCorpus corpus = read_corpus(item("corpora/template_corpus.so", "corpus"),
                                        {{"documents", 3}, {"length", 50}, {"vocabulary", 7}});
  REQUIRE(corpus.documents.size() == 3);
  for (const ReadDocument& document : corpus.documents) {
    REQUIRE(document.ids.size() == 50);
    CHECK(*std::max_element(document.ids.begin(), document.ids.end()) == 6);
    CHECK(*std::min_element(document.ids.begin(), document.ids.end()) == 0);
  }
  CHECK(corpus.documents[0].ids != corpus.documents[1].ids);
}

TEST_CASE("template_metric counts the tokens that the model ranks first",
          "[sdk][template_metric]") {
  // The recorder's most likely id is always 0: 2 of 3 and 0 of 1 are right; one id scores nothing,
  // and of the last document only the first three ids count.
  const TokenizedDocuments text = {{{5, 0, 0}, {0, 1}, {4}, {1, 2, 3, 0, 0}}, {}};
  const Measurement measured =
      measure(item("metrics/template_metric.so", "metric"), {{"corpus", "v"}, {"length", 3}}, text,
              [](const std::vector<int32_t>&, size_t) { return 1.0; });
  REQUIRE(measured.message == "");
  CHECK(measured.values.at(0).name == "accuracy");
  CHECK(measured.values.at(0).value == Approx(2.0 / 5).epsilon(1e-15));
  CHECK(measured.items.at("document_accuracy") == std::vector<double>{1, 0, 0});
}

TEST_CASE("template_averaging is the mean of the last members", "[sdk][template_averaging]") {
  const quench_item& plugin = item("averaging/template_averaging.so", "averaging");
  const auto& table = table_of<quench_averaging_table>(plugin);
  const std::string json = complete_parameters(plugin, {{"window", 2}});
  quench_error error{sizeof error, 0, {}};
  quench_averaging* averaging = nullptr;
  REQUIRE(table.create(json.data(), json.size(), &averaging, &error) == QUENCH_OK);
  const std::vector<quench_averaging_member> members = {
      {sizeof(quench_averaging_member), "step1", 1, -1},
      {sizeof(quench_averaging_member), "step2", 2, -1},
      {sizeof(quench_averaging_member), "step3", 3, -1}};
  uint64_t selected[3] = {};
  uint64_t count = 0;
  CHECK(table.select(averaging, members.data(), 3, 0, selected, &count, &error) ==
        QUENCH_FAILED_PRECONDITION);
  CHECK(std::string(error.message) == "step1: got 1 checkpoints up to here, wanted 2");
  REQUIRE(table.select(averaging, members.data(), 3, 2, selected, &count, &error) == QUENCH_OK);
  CHECK((count == 2 && selected[0] == 1 && selected[1] == 2));
  const double a[] = {1, 2};
  const double b[] = {2, 5};
  double mean[2] = {};
  REQUIRE(table.begin(averaging, members.data() + 1, 2, &error) == QUENCH_OK);
  REQUIRE(table.accumulate(averaging, 0, a, 2, &error) == QUENCH_OK);
  REQUIRE(table.accumulate(averaging, 1, b, 2, &error) == QUENCH_OK);
  REQUIRE(table.finish(averaging, mean, 2, &error) == QUENCH_OK);
  CHECK((mean[0] == 1.5 && mean[1] == 3.5));
  table.destroy(averaging);
}

TEST_CASE("template_optimizer follows its equation for two steps", "[sdk][template_optimizer]") {
  const quench_item& plugin = item("optimizers/template_optimizer.so", "optimizer");
  const auto& table = table_of<quench_optimizer_table>(plugin);
  const std::string json = complete_parameters(plugin, {{"momentum", 0.5}, {"weight_decay", 0.1}});
  quench_error error{sizeof error, 0, {}};
  quench_optimizer* optimizer = nullptr;
  REQUIRE(table.create(json.data(), json.size(), &optimizer, &error) == QUENCH_OK);
  const int64_t shape[] = {1};
  const quench_parameter_info info = {sizeof info, QUENCH_ROLE_MATRIX, "w", 1, shape, 0, 0,
                                      nullptr};
  REQUIRE(table.begin(optimizer, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error) == QUENCH_OK);
  kit::OwnedTensor<double> weight({1});
  kit::OwnedTensor<double> gradient({1});
  weight.values() = {2.0};
  gradient.values() = {1.0};
  const quench_tensor weight_view = weight.view();
  const quench_tensor gradient_view = gradient.view();
  quench_step_args args = {sizeof args,    0,       0, 1, 0.1, 0.1, 1, &weight_view,
                           &gradient_view, nullptr, 1};
  REQUIRE(table.step(optimizer, &args, &error) == QUENCH_OK);
  CHECK(weight.values()[0] == Approx(2.0 - 0.1 * 1.0 - 0.1 * 0.1 * 2.0).epsilon(1e-15));
  args.decays = 0;
  const double before = weight.values()[0];
  REQUIRE(table.step(optimizer, &args, &error) == QUENCH_OK);
  CHECK(weight.values()[0] == Approx(before - 0.1 * 1.5).epsilon(1e-15));
  table.destroy(optimizer);
}

TEST_CASE("every template builds alone against the installed SDK", "[sdk][template]") {
  const TemporaryDir dir;
  const fs::path log = dir / "log";
  const std::string cmake = CMAKE_PROGRAM;
  const auto output = [&log] { return read_file(log); };
  const std::string prefix = (dir / "prefix").string();
  // The sdk folder's own install script needs nothing built.
  const int installed = run("'" + cmake + "' -DCMAKE_INSTALL_PREFIX='" + prefix +
                                "' -P '" BUILD_DIR "/sdk/cmake_install.cmake'",
                            log);
  INFO(output());
  REQUIRE(installed == 0);
  for (const auto& [folder, library] : {std::pair{"quantizer", "quantizers/template_quantizer.so"},
                                        {"quantizer_c", "quantizers/template_quantizer_c.so"},
                                        {"corpus", "corpora/template_corpus.so"}}) {
    const std::string build = (dir / folder).string();
    const std::string source = (source_dir() / "sdk/template" / folder).string();
    REQUIRE(run("'" + cmake + "' -S '" + source + "' -B '" + build + "' -DCMAKE_PREFIX_PATH='" +
                    prefix + "' && '" + cmake + "' --build '" + build + "'",
                log) == 0);
    CHECK(fs::exists(fs::path(build) / library));
  }
}
