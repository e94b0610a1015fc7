// A build tree in which some plugins are not built yet says so.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using quench::test::Ended;
using quench::test::program_path;
using quench::test::TemporaryDir;
namespace fs = std::filesystem;

namespace {

Ended run_in(const TemporaryDir& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {(folder / "bin/quench").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return quench::test::run_program(words, {{"QUENCH_HOME", (folder / "home").string()}},
                                   folder.path());
}

}  // namespace

TEST_CASE("a build without its last plugins: doctor and what lacks one name the command", "[cli]") {
  const TemporaryDir folder;
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "lib/quench/metrics");
  fs::copy_file(program_path(), folder / "bin/quench");
  const fs::path built = fs::path(program_path()).parent_path() / "../lib/quench";
  fs::copy_file(built / "metrics/validation_loss.so",
                folder / "lib/quench/metrics/validation_loss.so");
  const std::string hint = "not all are built: ./dev build makes the others";

  CHECK_THAT(run_in(folder, {"doctor"}).out, Contains("plugins     1 found") && Contains(hint));
  CHECK(quench::test::data_of(run_in(folder, {"doctor", "--json"}).out)
            .at("plugins")
            .at("all_built") == false);
  folder.write("m.yaml",
               "name: m\ncheckpoints: {model: tiny}\nquantizers: [rtn]\n"
               "metrics: [validation_loss: {corpus: t}]\ncorpora: {t: {text: {path: t.txt}}}\n");
  CHECK_THAT(run_in(folder, {"plan", "m.yaml"}).err,
             Contains("no quantizer is called rtn; ") &&
                 Contains("; not all plugins are built: ./dev build makes the others"));

  fs::copy_file(built / "descriptions.json", folder / "lib/quench/descriptions.json");
  CHECK_THAT(run_in(folder, {"doctor"}).out, !Contains(hint));
}
