// The program where no interpreter has what a verb in Python needs: what is measured is measured.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

// A copy of the program in a folder with a manifest that has contrasts. Its package hides all
// packages of others from every interpreter.
class Bare {
 public:
  Bare() {
    const fs::path package = here.folder() / "bare/share/quench/python";
    fs::create_directories(package);
    fs::create_directories(here.folder() / "bare/bin");
    fs::copy_file(quench::test::program_path(), program());
    fs::create_directory_symlink(quench::test::binary_dir() / "lib", here.folder() / "bare/lib");
    fs::create_directory_symlink(quench::test::source_dir() / "python/quench", package / "quench");
    here.folder().write("bare/share/quench/python/sitecustomize.py",
                        "import sys\n"
                        "sys.path[:] = [one for one in sys.path if '-packages' not in one]\n");
    here.folder().write("m.yaml",
                        "checkpoints: {model: tiny}\n"
                        "quantizers: [template_quantizer: {bits: [3, 4]}]\n"
                        "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                        "corpora: {v: {text: {path: t.txt}}}\n"
                        "report:\n  contrasts:\n    - {a: {bits: 3}, b: {bits: 4}}\n");
  }

  Outcome run(const Workplace::Arguments& arguments, const std::string& variable = "") const {
    quench::Command command = here.command(arguments);
    command.words[0] = program();
    if (!variable.empty()) {
      command.environment->push_back(variable);
    }
    quench::ChildProcess process = quench::ChildProcess::start(command);
    return here.wait(process);
  }
  fs::path program() const { return here.folder() / "bare/bin/quench"; }

  const Workplace here;
};

}  // namespace

TEST_CASE("run: without the packages of a report it measures all and prints its table", "[cli]") {
  const Bare bare;
  const Outcome got = bare.run({"run", "m.yaml"});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::Contains("template_quantizer bits=4") &&
                          Catch::Contains("3 records, 3 of them new: runs/m"));
  const size_t warning = got.err.find("warning: ");
  REQUIRE(warning != std::string::npos);
  CHECK_THAT(got.err.substr(warning),
             Catch::StartsWith("warning: no report is written: ") &&
                 Catch::Contains(" has no modules numpy, scipy, matplotlib") &&
                 Catch::Contains(" install ") && Catch::EndsWith("QUENCH_PYTHON\n"));
  CHECK(got.err.find('\n', warning) == got.err.size() - 1);  // one line
  CHECK_FALSE(fs::exists(bare.here.folder() / "runs/m/report.html"));

  const Outcome report = bare.run({"report", "m"});
  CHECK(report.code == 1);
  CHECK(report.out.empty());
  CHECK_THAT(report.err, Catch::Contains(" has no modules numpy, scipy, matplotlib"));
  CHECK(report.err.find('\n') == report.err.size() - 1);

  CHECK(bare.here.run({"report", "m"}).code == 0);  // the records are all that a report needs
}

TEST_CASE("plan: without a Python, contrasts that are not checked are a warning", "[cli]") {
  const Bare bare;
  const Outcome packages = bare.run({"plan", "m.yaml"});
  CHECK(packages.code == 0);
  CHECK(packages.err.empty());  // the check needs nothing but Python
  const std::string none = "QUENCH_PYTHON=/no/python3";
  const Outcome got = bare.run({"plan", "m.yaml"}, none);
  CHECK(got.code == 0);
  CHECK(got.out == packages.out);
  CHECK(got.err ==
        "warning: the section `report` of the manifest is not checked: QUENCH_PYTHON: got "
        "/no/python3, wanted the absolute path of a Python interpreter\n");
  const Outcome unasked = bare.run({"plan", "m.yaml", "--set", "report=null"}, none);
  CHECK(unasked.code == 0);
  CHECK(unasked.err.empty());
  const Outcome run = bare.run({"run", "m.yaml"}, none);
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::Contains("3 records, 3 of them new"));
}
