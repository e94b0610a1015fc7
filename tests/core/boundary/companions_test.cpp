// Plugins that bring different files of one library.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/fixtures.hpp"

using Catch::Matchers::Contains;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

namespace fs = std::filesystem;

// Copies a plugin of the loader's tests, with the library that it needs beside it, of one variant.
void add_plugin(const fs::path& folder, const std::string& id, const std::string& variant,
                const std::string& library = "libfault_helper.so") {
  const fs::path faults = quench::test::binary_dir() / "tests/faults";
  fs::create_directories(folder / "deps");
  fs::copy_file(faults / (id + ".so"), folder / (id + ".so"));
  fs::copy_file(faults / ("deps_" + variant) / library, folder / "deps" / library);
}

}  // namespace

TEST_CASE("boundary: plugins that need two builds of a library run, and not in one process",
          "[boundary]") {
  const Workplace here(Page::kNone);
  add_plugin(here.folder() / "one", "needs_helper", "a");
  add_plugin(here.folder() / "two", "also_needs_helper", "b");
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: first, block: 2}\n"
                      "  - validation_loss: {corpus: second, block: 2}\n"
                      "corpora:\n"
                      "  first: {needs_helper: {}}\n"
                      "  second: {also_needs_helper: {}}\n");
  const Workplace::Arguments run = {"run",           "m.yaml",
                                    "--plugin-path", here.folder() / "one",
                                    "--plugin-path", here.folder() / "two",
                                    "--in-process",  "needs_helper"};
  CHECK(here.run(run).code == 0);
  Workplace::Arguments together = run;
  together.insert(together.end(), {"--in-process", "also_needs_helper", "--fresh"});
  const Outcome got = here.run(together);
  CHECK(got.code != 0);
  CHECK_THAT(got.err, Contains("corpus also_needs_helper: ") &&
                          Contains("it needs libfault_helper.so from ") &&
                          Contains("and this process runs "));
}

TEST_CASE("boundary: an unused plugin with another build of a library breaks nothing",
          "[boundary]") {
  const Workplace here(Page::kNone);
  add_plugin(here.folder() / "one", "needs_helper", "a");
  add_plugin(here.folder() / "two", "also_needs_helper", "b");
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: first, block: 2}\n"
                      "corpora:\n"
                      "  first: {needs_helper: {}}\n");
  const Outcome got = here.run({"plan", "m.yaml", "--plugin-path", here.folder() / "one",
                                "--plugin-path", here.folder() / "two"});
  INFO(got.err);
  CHECK(got.code == 0);
}

TEST_CASE("boundary: a library that LD_LIBRARY_PATH puts in another's place is told",
          "[boundary]") {
  const Workplace here(Page::kNone);
  add_plugin(here.folder() / "one", "needs_helper", "a");
  const std::string plugin = here.folder() / "one/needs_helper.so";
  CHECK(here.run({"plugins", "check", plugin}).code == 0);
  quench::Command command = here.command({"plugins", "check", plugin});
  const fs::path other = quench::test::binary_dir() / "tests/faults/deps_b";
  command.environment->push_back("LD_LIBRARY_PATH=" + other.string());
  quench::ChildProcess process = quench::ChildProcess::start(command);
  const Outcome got = here.wait(process);
  INFO(got.out << got.err);
  CHECK(got.code == 1);
  CHECK_THAT(got.out, Contains("it brings libfault_helper.so as ") &&
                          Contains((other / "libfault_helper.so").string() +
                                   " was loaded in its place; look at LD_LIBRARY_PATH"));
}

TEST_CASE("boundary: doctor and plugins check say where a plugin runs that is not shipped",
          "[boundary]") {
  const Workplace here(Page::kNone);
  add_plugin(here.folder() / "one", "needs_helper", "a");
  const std::string library = here.folder() / "one/needs_helper.so";
  const Outcome doctor = here.run({"doctor", "--plugin-path", here.folder() / "one"});
  CHECK(doctor.code == 0);
  CHECK_THAT(doctor.out, Contains("own process " + library + ": not part of this installation\n"));
  const Outcome kept =
      here.run({"doctor", "--plugin-path", here.folder() / "one", "--in-process", "needs_helper"});
  CHECK(kept.code == 0);
  CHECK_THAT(kept.out, !Contains("own process " + library));
  const Outcome check = here.run({"plugins", "check", library});
  CHECK(check.code == 0);
  CHECK_THAT(check.out,
             Contains("ok      runs in a process of its own: not part of this installation\n"));
  const Outcome unknown = here.run({"plugins", "list", "--in-process", "needs_helpers"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("--in-process: no plugin is called needs_helpers"));
}
