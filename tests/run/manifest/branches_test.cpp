#include "run/manifest/branches.hpp"

#include <catch2/catch.hpp>

#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/manifest/single_checkpoint.hpp"
#include "tests/run/manifest_folder.hpp"

using quench::test::ManifestFolder;
using quench::test::with_checkpoints;

namespace {

using Names = std::vector<std::string>;

std::string number(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

// "branch/revision step tokens" of every checkpoint, in order.
Names listed(const ManifestFolder& here, const std::string& checkpoints) {
  Names out;
  const auto cells = here.resolve(with_checkpoints(checkpoints)).at(0).checkpoints;
  for (const auto& cell : cells) {
    out.push_back(cell.branch + "/" + cell.revision + " " + number(cell.step) + " " +
                  number(cell.tokens));
  }
  return out;
}

std::string wrong(const ManifestFolder& here, const std::string& checkpoints) {
  return here.problems(with_checkpoints(checkpoints));
}

}  // namespace

TEST_CASE("branches: a folder's revisions are in the order of training", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step10", "step9", "step100", "final", "step7x"});
  here.folder().write("run/step8", "a file is no revision");
  CHECK(listed(here, "{model: run, revisions: \"step{step}\"}") ==
        Names{"/step9 9 -", "/step10 10 -", "/step100 100 -"});
  // Of a list not all of whose steps are known, the order is the list's.
  CHECK(listed(here, "{model: run, revisions: [step100, final, step9]}") ==
        Names{"/step100 100 -", "/final - -", "/step9 9 -"});
  CHECK(listed(here, "{model: run, revisions: [step100, step9]}") ==
        Names{"/step9 9 -", "/step100 100 -"});
  CHECK(listed(here, "{model: run/step9/}") == Names{"/ 9 -"});
}

TEST_CASE("branches: the files of a training loop are revisions", "[core][run]") {
  const ManifestFolder here;
  for (const char* name : {"ckpt_step_20.pth", "ckpt_step_100.pth", "ckpt_step_3.pth"}) {
    here.folder().write(std::string("run/") + name, "");
  }
  here.folder().write("run/config.json", "{}");
  CHECK(listed(here, "{model: run}") ==
        Names{"/ckpt_step_3.pth 3 -", "/ckpt_step_20.pth 20 -", "/ckpt_step_100.pth 100 -"});
  CHECK(
      listed(here, "{model: run, revisions: \"ckpt_step_{step}.pth\", match: {step: [10, 50]}}") ==
      Names{"/ckpt_step_20.pth 20 -"});
  CHECK(listed(here, "{model: run, revisions: [ckpt_step_100.pth]}").size() == 1);
}

TEST_CASE("branches: revisions of unknown step are ordered by tokens", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"tokens900M", "tokens2B", "tokens1B"});
  CHECK(listed(here, "{model: run, revisions: \"tokens{tokens}\"}") ==
        Names{"/tokens900M - 900000000", "/tokens1B - 1000000000", "/tokens2B - 2000000000"});
}

TEST_CASE("branches: a tree has a trunk, forks with offsets, and one branch per capture",
          "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("trunk", {"s1-step10-tokens1B", "s1-step20-tokens2B", "s1-step30-tokens3B"});
  here.add_revisions("forks", {"s2-ing2-step5-tokens1B", "s2-ing1-step5-tokens1B",
                               "s2-ing1-step10-tokens2B", "s2-ing10-step5-tokens1B", "main"});
  const std::string tree =
      "\n  model: forks\n  branches:\n"
      "    trunk: {model: trunk, revisions: \"s1-step{step}-tokens{tokens}B\"}\n"
      "    \"ing{i}\": {parent: trunk, offset: {step: 25, tokens: 2500M},\n"
      "              revisions: \"s2-ing{i}-step{step}-tokens{tokens}B\", mark: star}\n"
      "    main: {revisions: [main], parent: ing1}\n";
  CHECK(listed(here, tree) ==
        Names{"trunk/s1-step10-tokens1B 10 1000000000", "trunk/s1-step20-tokens2B 20 2000000000",
              "trunk/s1-step30-tokens3B 30 3000000000", "ing1/s2-ing1-step5-tokens1B 30 3500000000",
              "ing1/s2-ing1-step10-tokens2B 35 4500000000",
              "ing2/s2-ing2-step5-tokens1B 30 3500000000",
              "ing10/s2-ing10-step5-tokens1B 30 3500000000", "main/main - -"});
  const quench::Experiment experiment = here.resolve(with_checkpoints(tree)).at(0);
  REQUIRE(experiment.branches.size() == 5);
  CHECK(experiment.branches[0].name == "trunk");
  CHECK_FALSE(experiment.branches[0].fork);
  CHECK(experiment.branches[2].name == "ing2");
  CHECK(experiment.branches[2].parent == "trunk");
  CHECK(experiment.branches[2].mark == "star");
  CHECK(experiment.branches[2].fork == 1);  // step 20 is the last one at or before 25
  CHECK(experiment.checkpoints[5].location == here.folder() / "forks/s2-ing2-step5-tokens1B");
  CHECK_FALSE(experiment.branches[4].fork);  // nothing says where on its parent it begins
}

TEST_CASE("branches: without an offset a branch begins at its first checkpoint", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step0", "step480", "step960", "step1008", "step1200"});
  const std::string tree =
      "{model: run, branches: {constant: {revisions: \"step{step}\", match: {step: [0, 960]}}, "
      "decay: {revisions: \"step{step}\", match: {step: [961, null]}, parent: constant}}}";
  CHECK(listed(here, tree) == Names{"constant/step0 0 -", "constant/step480 480 -",
                                    "constant/step960 960 -", "decay/step1008 1008 -",
                                    "decay/step1200 1200 -"});
  CHECK(here.resolve(with_checkpoints(tree)).at(0).branches[1].fork == 2);
}

TEST_CASE("branches: a capture that nothing reads is refused, one that is read orders",
          "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step10", "step9", "step100"});
  for (const char* revisions :
       {"revisions: \"step{stp}\"", "revisions: [step10, step9], pattern: \"step{stp}\""}) {
    CHECK(
        wrong(here, "{model: run, " + std::string(revisions) + "}") ==
        "m.yaml:1:38: checkpoints: nothing reads the capture {stp} of \"step{stp}\"; the place in "
        "training is {step} or {tokens}, others stand in `match` or in the name of a branch");
  }
  CHECK(listed(here, "{model: run, revisions: \"step{n}\", match: {n: [0, 50]}}") ==
        Names{"/step9 - -", "/step10 - -"});
  CHECK(listed(here, "{model: run, revisions: [step10], pattern: \"step{n}\"}") ==
        Names{"/step10 - -"});
}

TEST_CASE("branches: thin keeps every n-th, the first and the last", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step0", "step1", "step2", "step3", "step4", "step5"});
  CHECK(listed(here, "{model: run, revisions: \"step{step}\", thin: 2}") ==
        Names{"/step0 0 -", "/step2 2 -", "/step4 4 -", "/step5 5 -"});
  CHECK(listed(here, "{model: run, revisions: \"step{step}\", thin: 5}") ==
        Names{"/step0 0 -", "/step5 5 -"});
  CHECK(listed(here, "{model: run, revisions: \"step{step}\", thin: 100}") ==
        Names{"/step0 0 -", "/step5 5 -"});
  CHECK(listed(here, "{model: run, revisions: \"step{step}\", match: {step: 3}, thin: 2}") ==
        Names{"/step3 3 -"});
}

TEST_CASE("branches: tokens follow from the step where a step's tokens are known", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step10", "step20"});
  CHECK(listed(here, "{model: run, revisions: \"step{step}\", tokens_per_step: 2M}") ==
        Names{"/step10 10 20000000", "/step20 20 40000000"});
}

TEST_CASE("branches: every branch carries its own config, family and tokenizer", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step1", "step2"});
  here.folder().write("config.json", "{\"a\": 1}\n");
  here.folder().write("tok/tokenizer.json", "{}");
  const auto cells =
      here.resolve(with_checkpoints(
                       "{model: run, family: template_model, tokenizer: bytes, branches: {a: "
                       "{revisions: [step1], config: config.json, tokenizer: tok}, b: {revisions: "
                       "[step2], config: {model_type: x, layers: 2}}}}"))
          .at(0);
  CHECK(cells.tokenizer == "bytes");
  CHECK(cells.checkpoints.at(0).config == "{\"a\": 1}\n");
  CHECK(cells.checkpoints[0].tokenizer == here.folder() / "tok/tokenizer.json");
  CHECK(cells.checkpoints[0].family == "template_model");
  CHECK(cells.checkpoints.at(1).config == R"({"layers":2,"model_type":"x"})");
  CHECK(cells.checkpoints[1].tokenizer.empty());
}

TEST_CASE("branches: a tree that cannot be is refused with its place", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"step1", "step2", "step3"});
  here.add_revisions("twice", {"a-step1", "b-step1"});
  const auto branches = [&](const std::string& text) {
    return wrong(here, "{model: run, branches: {" + text + "}}");
  };
  CHECK(branches("a: {revisions: [step1], parent: b}, b: {revisions: [step2], parent: a}") ==
        "m.yaml:1:70: branch a: its parents lead back to it: a -> b -> a\n"
        "m.yaml:1:106: branch b: its parents lead back to it: b -> a -> b");
  CHECK(branches("a: {revisions: [step1], parent: a}") ==
        "m.yaml:1:70: branch a: its parents lead back to it: a -> a");
  CHECK(branches("trunk: {revisions: [step1]}, b: {revisions: [step2], parent: trnk}") ==
        "m.yaml:1:99: branch b: no branch is called `trnk`; did you mean `trunk`?");
  CHECK(branches("a: {revisions: \"step{step}\"}, b: {revisions: [step2]}") ==
        "m.yaml:1:84: branch b: step2 of run is in branch `a` already");
  CHECK(branches("\"a{i}\": {revisions: \"step{i}\"}, a2: {model: twice, revisions: [a-step1]}") ==
        "m.yaml:1:70: checkpoints: two branches are called `a2`");
  CHECK(branches("\"a{i}\": {revisions: \"step{step}\"}") ==
        "m.yaml:1:38: branch a{i}: the capture {i} of its name is not in `revisions`");
  CHECK(branches("a: {revisions: \"step{step}\", match: {step: [5, 9]}}") ==
        "m.yaml:1:81: branch a: match: no revision has its `step` there");
  CHECK(branches("a: {revisions: \"step{step}\", match: {i: [5, 9]}}") ==
        "m.yaml:1:78: branch a: match: no revision tells its `i`");
  CHECK(wrong(here, "{model: twice, revisions: \"{x}-step{step}\"}") ==
        "m.yaml:1:40: checkpoints: no revision of twice matches \"{x}-step{step}\"; there are 2: "
        "a-step1, b-step1");
  CHECK(wrong(here, "{model: twice, revisions: [a-step1, b-step1]}") ==
        "m.yaml:1:50: checkpoints: a-step1 and b-step1 are both at step 1");
  CHECK(wrong(here, "{model: run, revisions: [step11]}") ==
        "m.yaml:1:39: checkpoints: no revision \"step11\" in run; nearest is step1");
  CHECK(wrong(here, "{model: walk}") == "m.yaml:1:22: checkpoints: model walk does not exist");
  CHECK(branches("a: {revisions: [step1], offset: {step: 9223372036854775807}}") ==
        "m.yaml:1:54: branch a: step1: step or tokens are beyond 64 bits with the branch's offset");
}

TEST_CASE("branches: a hub model's revisions are those of the cache", "[core][run]") {
  const ManifestFolder here;
  here.folder().write("hub/models--org--name/refs/step2", std::string(40, 'a'));
  here.folder().write("hub/models--org--name/refs/step1", std::string(40, 'b'));
  const auto cells =
      here.resolve(with_checkpoints("{model: hf://org/name, revisions: \"step{step}\"}"))
          .at(0)
          .checkpoints;
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].location == "hf://org/name@step1");
  CHECK(wrong(here, "{model: hf://els/what, revisions: \"step{step}\"}") ==
        "m.yaml:1:48: checkpoints: no revision of hf://els/what matches \"step{step}\"; there are "
        "none in the cache; get them with: quench fetch m.yaml");
  CHECK(wrong(here, "{model: hf://org/nane, revisions: \"step{step}\"}") ==
        "m.yaml:1:48: checkpoints: no revision of hf://org/nane matches \"step{step}\"; there are "
        "none in the cache; get them with: quench fetch m.yaml; did you mean hf://org/name?");
}

TEST_CASE("branches: a list of a hub model's revisions needs nothing in the cache", "[core][run]") {
  const ManifestFolder here;
  CHECK(listed(here, "{model: hf://org/none, revisions: [step20, step3]}") ==
        Names{"/step3 3 -", "/step20 20 -"});
}

TEST_CASE("branches: a pattern reads the names of a list", "[core][run]") {
  const ManifestFolder here;
  here.add_revisions("run", {"iter_0010", "iter_0009", "iter_0100", "main"});
  CHECK(listed(here, "{model: run, revisions: [iter_0100, iter_0009], pattern: \"iter_{step}\"}") ==
        Names{"/iter_0009 9 -", "/iter_0100 100 -"});
  CHECK(listed(here,
               "{model: hf://org/none, branches: {\"s{i}\": {revisions: [s2-1B, s1-2B, s1-1B], "
               "pattern: \"s{i}-{tokens}B\"}}}") ==
        Names{"s1/s1-1B - 1000000000", "s1/s1-2B - 2000000000", "s2/s2-1B - 1000000000"});
  CHECK(wrong(here, "{model: run, revisions: [main, iter_0009], pattern: \"iter_{step}\"}") ==
        "m.yaml:1:39: checkpoints: revision \"main\" does not match the pattern \"iter_{step}\"");
  CHECK(wrong(here, "{model: run, pattern: \"iter_{step}\"}") ==
        "m.yaml:1:36: checkpoints: `pattern` reads the names of a list in `revisions`; there is "
        "none");
}

TEST_CASE("checkpoint: one on the command line knows its step from its name", "[core][run]") {
  const auto folder = quench::single_checkpoint("runs/a/step40/");
  CHECK(folder.location == "runs/a/step40/");
  CHECK(folder.revision.empty());
  CHECK(folder.step == 40);
  const auto hub = quench::single_checkpoint("hf://org/name@step80");
  CHECK(hub.model == "hf://org/name");
  CHECK(hub.revision == "step80");
  CHECK(hub.location == "hf://org/name@step80");
  CHECK(hub.step == 80);
  CHECK_FALSE(quench::single_checkpoint("hf://org/name").step);
}
