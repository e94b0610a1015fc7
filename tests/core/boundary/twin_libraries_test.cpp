// One manifest whose plugins need different builds of one library: each runs on its own.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/skip.hpp"

using Catch::Contains;
using nlohmann::json;
using quench::test::boundary_plugin;
using quench::test::MisbehavingRun;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// A run of these quantizers on the small checkpoint, or its plan.
Outcome with_quantizers(const Workplace& here, const std::string& verb,
                        const std::vector<std::string>& ids, const Workplace::Arguments& more) {
  std::string manifest = "name: m\ncheckpoints: {model: tiny}\nquantizers:\n";
  Workplace::Arguments arguments = {verb, "m.yaml"};
  for (const std::string& id : ids) {
    manifest += "  - " + id + "\n";
    if (std::filesystem::is_directory(boundary_plugin(id))) {
      arguments.insert(arguments.end(), {"--plugin-path", boundary_plugin(id)});
    }
  }
  here.folder().write("m.yaml", manifest +
                                    "metrics:\n"
                                    "  - validation_loss: {corpus: v, block: 16}\n"
                                    "corpora: {v: {text: {path: t.txt}}}\n");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return here.run(arguments);
}

// The loss under each quantizer.
std::map<std::string, double> losses(const std::vector<std::string>& ids,
                                     const Workplace::Arguments& more = {}) {
  const Workplace here(Page::kNone);
  Workplace::Arguments arguments = {"--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome got = with_quantizers(here, "run", ids, arguments);
  INFO(got.err);
  REQUIRE(got.code == 0);
  const json records = quench::test::data_of(got.out).at("records");
  std::map<std::string, double> out;
  for (const std::string& id : ids) {
    const std::string name = id.substr(0, id.find(':'));
    out[name] = MisbehavingRun::cell(records, name).get<double>();
  }
  return out;
}

double alone(const std::string& id) {
  return losses({id}, {"--in-process", id}).at(id);
}

}  // namespace

TEST_CASE("boundary: plugins that need two builds of one library give what each gives alone",
          "[boundary]") {
  const std::map<std::string, double> got = losses({"scaled_half", "scaled_third"});
  CHECK(got.at("scaled_half") == alone("scaled_half"));
  CHECK(got.at("scaled_third") == alone("scaled_third"));
  CHECK(got.at("scaled_half") != got.at("scaled_third"));
}

TEST_CASE("boundary: a second build of a library in one process is refused before anything runs",
          "[boundary]") {
  const Workplace here(Page::kNone);
  const Outcome got =
      with_quantizers(here, "run", {"scaled_half", "scaled_third"},
                      {"--in-process", "scaled_half", "--in-process", "scaled_third"});
  CHECK(got.code != 0);
  CHECK_THAT(got.err, Contains("quantizer scaled_third: ") &&
                          Contains("it needs libboundary_scale.so from ") &&
                          Contains("and this process runs ") && Contains("under that name"));
  CHECK_FALSE(std::filesystem::exists(here.folder() / "runs/m"));
}

TEST_CASE("boundary: a plugin with the compiler's OpenMP runs beside those on libtorch",
          "[boundary]") {
  quench::test::need_plugin("quantizers/rtn");
  if (!std::filesystem::exists(boundary_plugin("scaled_openmp") + "/scaled_openmp.so")) {
    quench::test::skip("this compiler has no OpenMP");
  }
  const std::map<std::string, double> got = losses({"rtn: {bits: 4}", "scaled_openmp"});
  CHECK(got.at("scaled_openmp") == alone("scaled_half"));
}
