// Plugins that lie on the search path and that nobody asked for: they run in other processes alone.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/plugin/sandbox/sandbox.hpp"
#include "tests/cli/copied_plugins.hpp"
#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::boundary_plugin;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

TEST_CASE("boundary: a family that dies of a config does so in a process of its own",
          "[boundary]") {
  const Workplace here(Page::kNone);
  const Workplace::Arguments eval = {"eval", "tiny", "--metric",
                                     "validation_loss:text=t.txt,block=16", "--json"};
  const Outcome without = here.run(eval);
  REQUIRE(without.code == 0);
  Workplace::Arguments more = eval;
  more.insert(more.end(), {"--plugin-path", boundary_plugin("aaa_family")});
  const Outcome with = here.run(more);
  INFO(with.err);
  REQUIRE(with.code == 0);
  CHECK(quench::test::data_of(with.out).at("records").at(0).at("value") ==
        quench::test::data_of(without.out).at("records").at(0).at("value"));
}

TEST_CASE("boundary: a library that merely lies on the search path does nothing to its user",
          "[boundary]") {
  const quench::SandboxAbilities offered = quench::sandbox_abilities();
  quench::test::skip_unless(offered.landlock_abi > 0 && offered.seccomp,
                            "this kernel has no Landlock or no seccomp");
  const Workplace::Arguments verbs[] = {
      {"plugins", "list"},
      {"doctor"},
      {"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16"}};
  for (Workplace::Arguments words : verbs) {
    CAPTURE(words);
    const Workplace here(Page::kNone);
    const fs::path prey = here.folder() / "prey";
    here.folder().write("prey/secret", "42");
    fs::create_directories(here.folder() / "plugins");
    fs::copy_file(quench::test::binary_dir() / "tests/faults/nosy.so",
                  here.folder() / "plugins/nosy.so");
    words.insert(words.end(), {"--plugin-path", here.folder() / "plugins"});
    quench::Command command = here.command(words);
    command.environment->push_back("QUENCH_NOSY=" + prey.string());
    command.environment->emplace_back("HF_TOKEN=hf_0");
    quench::ChildProcess process = quench::ChildProcess::start(command);
    const Outcome got = here.wait(process);
    INFO(got.out << got.err);
    CHECK(got.code == 0);
    CHECK_FALSE(fs::exists(prey / "left"));
    const std::string known = quench::test::read_file(here.folder() / "home/plugins.json");
    CHECK_THAT(known, Contains("read 13, write 13, socket 13, token not seen"));
  }
}

TEST_CASE("boundary: where no family fits, one that died or hangs is told with its end",
          "[boundary]") {
  const Workplace here(Page::kNone);
  const std::string config = here.folder() / "tiny/config.json";
  json changed = json::parse(quench::test::read_file(config));
  const std::pair<std::string, std::string> ends[] = {
      {"nobody's", "aaa_family: its process, in probe, was ended by signal 6 (Aborted)"},
      {"hangs", "aaa_family: its process, in probe, took more than the 1 s that one call may"}};
  for (const auto& [type, end] : ends) {
    changed["model_type"] = type;
    here.folder().write("tiny/config.json", changed.dump());
    const Outcome got =
        here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16",
                  "--plugin-path", boundary_plugin("aaa_family"), "--worker-time", "1"});
    CHECK(got.code != 0);
    CHECK_THAT(got.err,
               Contains("no model family fits model_type \"" + type + "\"") && Contains(end));
  }
}

TEST_CASE("boundary: a quantizer that nobody named measures nobody's error", "[boundary]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "calibration: {c: {corpus: v, sequences: 2, length: 16, packing: concat}}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: 4}\n"
                      "    calibration: c\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const Outcome got = here.run({"run", "m.yaml", "--plugin-path", boundary_plugin("aaa_gram")});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.err, !Contains("an aaa_gram was made"));
}

TEST_CASE("boundary: a manifest is not wrong where a fault of its plugin may pass", "[boundary]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const auto plan_with = [&](const std::string& plugin) {
    namespace fs = std::filesystem;
    fs::create_directory(here.folder() / plugin);
    fs::copy_file(quench::test::binary_dir() / "tests/faults" / (plugin + ".so"),
                  here.folder() / plugin / (plugin + ".so"));
    return here.run(
        {"plan", "m.yaml", "--set", "corpora.v={" + plugin + ": {}}", "--plugin-path", plugin});
  };
  const Outcome missing = plan_with("needs_helper");
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Contains("needs_helper.so was rejected: cannot be loaded: "
                                   "libfault_helper.so: cannot open shared object file"));
  const Outcome wrong = plan_with("bad_default");
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Contains("bad_default.so was rejected: corpus bad_default: parameter"));
}

TEST_CASE("boundary: plugins that memory was too small for are found when it is not",
          "[boundary]") {
  quench::test::need_plugin("quantizers/rtn");
  const Workplace here(Page::kNone);
  // What came with quench was described when it was built.
  REQUIRE(quench::test::copy_plugins(here, {"rtn"}) == std::set<std::string>{"rtn"});
  const Workplace::Arguments list = {"plugins", "list", "--plugin-path",
                                     (here.folder() / "plugins").string()};
  quench::Command limited = here.command(list);
  limited.words.insert(limited.words.begin(),
                       {"/bin/sh", "-c", "ulimit -v 300000; exec \"$0\" \"$@\""});
  quench::ChildProcess process = quench::ChildProcess::start(limited);
  const Outcome first = here.wait(process);
  CHECK_THAT(first.out,
             Contains("rtn.so: cannot be loaded: ") && Contains("failed to map segment"));
  const Outcome second = here.run(list);
  INFO(second.out);
  CHECK(second.code == 0);
  CHECK_THAT(second.out, Contains("shadowed: quantizer rtn in ") && !Contains("rejected: "));
}
