// Plugins that bring different files of one library: told before anything is loaded, by each
// command that speaks of them.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/fixtures.hpp"

using Catch::Matchers::Contains;
using quench::test::Outcome;
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

TEST_CASE("boundary: plan and run refuse plugins that cannot share the process they are kept in",
          "[boundary]") {
  const Workplace here;
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
  for (const char* command : {"plan", "run"}) {
    CAPTURE(command);
    const Outcome got = here.run({command, "m.yaml", "--plugin-path", here.folder() / "one",
                                  "--plugin-path", here.folder() / "two", "--isolate", "none"});
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Contains("corpus also_needs_helper needs libfault_helper.so from ") &&
                            Contains("and corpus needs_helper needs ") &&
                            Contains("they cannot run in one process; without `--isolate none` "
                                     "one would run in a process of its own"));
  }
  const Outcome plan = here.run({"plan", "m.yaml", "--plugin-path", here.folder() / "one",
                                 "--plugin-path", here.folder() / "two"});
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK_THAT(plan.out, Contains("corpus also_needs_helper runs in a process of its own: not part "
                                "of this installation\n"));
}

TEST_CASE("boundary: an unused plugin with another build of a library breaks nothing",
          "[boundary]") {
  const Workplace here;
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
  const Workplace here;
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

TEST_CASE("boundary: doctor and plugins check tell of a stranger that goes with no shipped plugin",
          "[boundary]") {
  quench::test::need_plugin("models/llama");
  const Workplace here;
  add_plugin(here.folder() / "torch", "needs_other_torch", "c", "libc10.so");
  const std::string library = here.folder() / "torch/needs_other_torch.so";
  const Outcome doctor = here.run({"doctor", "--plugin-path", here.folder() / "torch"});
  CHECK(doctor.code == 0);
  CHECK_THAT(doctor.out, Contains("own process " + library + ": not part of this installation\n"));
  const Outcome check = here.run({"plugins", "check", library});
  CHECK(check.code == 0);
  CHECK_THAT(check.out,
             Contains("ok      runs in a process of its own: not part of this installation\n") &&
                 Contains("remark  corpus needs_other_torch needs libc10.so from "));
  const Outcome shared =
      here.run({"doctor", "--plugin-path", here.folder() / "torch", "--isolate", "none"});
  CHECK(shared.code == 1);
  CHECK_THAT(shared.out,
             Contains("conflict  " + library + ": corpus needs_other_torch needs libc10.so") &&
                 !Contains("no fault found"));
  const Outcome kept = here.run({"plugins", "check", library, "--isolate", "none"});
  CHECK(kept.code == 1);
  CHECK_THAT(kept.out, Contains("FAULT   corpus needs_other_torch needs libc10.so from "));
}
