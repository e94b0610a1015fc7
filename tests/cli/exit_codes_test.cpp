// Exit code 2 says that the user must change something: schedulers hold such a job. What may pass
// by itself is 1.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;
namespace fs = std::filesystem;

namespace {

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: tiny}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

struct Case {
  const char* what;
  std::string limits;  // of a shell
  std::function<void(const Workplace&)> prepare;
  int code;
};

void write_manifest(const Workplace& here, const std::string& from, const std::string& to) {
  std::string text = kManifest;
  here.folder().write("m.yaml", text.replace(text.find(from), from.size(), to));
}

void nothing(const Workplace&) {}

Outcome run_limited(const Workplace& here, const std::string& limits) {
  quench::Command command = here.command({"run", "m.yaml", "-q"});
  command.words.insert(command.words.begin(), {"/bin/sh", "-c", limits + " exec \"$0\" \"$@\""});
  quench::ChildProcess process = quench::ChildProcess::start(command);
  return here.wait(process);
}

}  // namespace

TEST_CASE("exit codes: 2 is for what the user must change alone", "[cli]") {
  const std::vector<Case> cases = {
      {"nothing is wrong", "", nothing, 0},
      {"no manifest", "", [](const Workplace& here) { fs::remove(here.folder() / "m.yaml"); }, 2},
      {"an unknown key", "",
       [](const Workplace& here) { write_manifest(here, "metrics", "metircs"); }, 2},
      {"an unknown plugin", "",
       [](const Workplace& here) { write_manifest(here, "validation_loss", "validation_los"); }, 2},
      {"no such checkpoint", "",
       [](const Workplace& here) { write_manifest(here, "model: tiny", "model: tyni"); }, 2},
      {"a path that is too long", "",
       [](const Workplace& here) {
         write_manifest(here, "model: tiny", "model: " + std::string(5000, 'a'));
       },
       2},
      {"no such text", "", [](const Workplace& here) { fs::remove(here.folder() / "t.txt"); }, 2},
      {"too few open files", "ulimit -n 7;", nothing, 1},
      {"a limit on files' sizes", "ulimit -f 0;", nothing, 1},
      {"too little memory", "ulimit -v 60000;", nothing, 1},
      {"a folder in the records' place", "",
       [](const Workplace& here) {
         fs::create_directories(here.folder() / "runs/m/records-0-0001-00000000.jsonl");
       },
       1},
  };
  for (const Case& each : cases) {
    INFO(each.what);
    const Workplace here(Page::kNone);
    here.folder().write("t.txt", std::string(200, 'a'));
    here.folder().write("m.yaml", kManifest);
    each.prepare(here);
    const Outcome got = run_limited(here, each.limits);
    INFO(got.err);
    CHECK(got.code == each.code);
    // And nothing of a fault that passes is remembered.
    if (!each.limits.empty()) {
      const Outcome again = here.run({"run", "m.yaml", "-q"});
      INFO(again.err);
      CHECK(again.code == 0);
    }
  }
}
