// What is wrong with a command line is said in one line on stderr, with exit code 2, and nothing
// else happens.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cli/program.hpp"

using quench::test::Outcome;
using quench::test::Workplace;

namespace {

struct BadLine {
  Workplace::Arguments arguments;
  std::string message;
};

const std::string kLoss = "validation_loss:text=t.txt,block=16";

Workplace::Arguments eval_with(Workplace::Arguments more) {
  Workplace::Arguments out = {"eval", "tiny", "--metric", kLoss};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// Takes the folder's path out, and the list of folders that were searched.
std::string plain(std::string text, const std::filesystem::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
    text.erase(at, prefix.size());
  }
  const size_t searched = text.find("; looked in ");
  return searched == std::string::npos ? text : text.substr(0, searched) + "\n";
}

}  // namespace

TEST_CASE("bad command line: one line on stderr, nothing on stdout, exit code 2", "[cli]") {
  const Workplace here;
  const BadLine cases[] = {
      {{"frobnicate"},
       "quench: no subcommand is called frobnicate; there are init, import, plan, fetch, run, "
       "submit, watch, status, why, adopt, results, report, diff, merge, verify, forget, export, "
       "eval, "
       "gate, "
       "compare, quantize, average, layer, logits, tokenize, plugins, doctor, schema, clean, "
       "completion"},
      {{"watch"}, "quench watch: folders is required; see `quench watch --help`"},
      {{"watch", "gone"}, "gone: no such folder"},
      {{"init", "--from=", "tiny"}, "--from: got nothing, wanted a value"},
      {{"init", "tiny", "-o", ""},
       "quench init: --out: got nothing, wanted a value; see `quench init --help`"},
      {{"watch", "t.txt"}, "t.txt: is no folder"},
      {{"watch", "tiny", "--manifest", "gone.yaml"}, "gone.yaml: no such file"},
      {{"watch", "tiny", "--manifest", "tiny"}, "tiny: is no file"},
      {{"watch", "tiny", "--config", "gone.json"}, "gone.json: no such file"},
      {{"watch", "tiny", "--settle", "-1"},
       "quench watch: --settle: Value -1 not in range 0 to 86400; see `quench watch --help`"},
      {{"watch", "tiny", "--threads", "0"},
       "quench watch: --threads: Value 0 not in range 1 to 1024; see `quench watch --help`"},
      {{"evl", "tiny"}, "quench: no subcommand is called evl; did you mean eval?"},
      {{"eval"}, "quench eval: model is required; see `quench eval --help`"},
      {eval_with({"--frob"}), "quench eval: unknown option --frob; see `quench eval --help`"},
      {eval_with({"--quantiser=template_quantizer"}),
       "quench eval: unknown option --quantiser; did you mean --quantizer?; see `quench eval "
       "--help`"},
      {eval_with({"--threads", "0"}),
       "quench eval: --threads: Value 0 not in range 1 to 1024; see `quench eval --help`"},
      {eval_with({"--threads", "x"}),
       "quench eval: --threads: Value x not in range 1 to 1024; see `quench eval --help`"},
      {eval_with({"--seed", "-1"}),
       "quench eval: --seed: got -1, wanted a whole number from 0; see `quench eval --help`"},
      {eval_with({"--quantizer", "template_quantiser"}),
       "no quantizer is called template_quantiser; did you mean template_quantizer?"},
      {eval_with({"--quantizer", "template_quantizer:bits=9"}),
       "quantizer template_quantizer: bits: got 9, wanted 2..8"},
      {eval_with({"--quantizer", "template_quantizer:bits=1e5"}),
       "quantizer template_quantizer: bits: got 1e5, wanted an integer"},
      {eval_with({"--quantizer", "template_quantizer:bits=99999999999999999999"}),
       "quantizer template_quantizer: bits: got 99999999999999999999, wanted an integer"},
      {eval_with({"--quantizer", "template_quantizer:bits=3,bits=4"}),
       "\"template_quantizer:bits=3,bits=4\": bits is given twice"},
      {eval_with({"--quantizer", "template_quantizer:bits"}),
       "\"template_quantizer:bits\": option \"bits\": wanted key=value"},
      {eval_with({"--quantizer", "template_quantizer:bist=3"}),
       "quantizer template_quantizer: bist: unknown parameter of quantizer template_quantizer; did "
       "you mean bits?"},
      {{"eval", "tiny", "--metric", "validation_loss:text=t.txt,blok=16"},
       "metric validation_loss: blok: unknown parameter of metric validation_loss; did you mean "
       "block?"},
      {eval_with({"--quantizer", "template_quantizer:bits=3,4"}),
       "\"template_quantizer:bits=3,4\": option \"4\": wanted key=value; a comma begins the next "
       "option: join the values of a list with +, and for several settings give the whole spec "
       "once for each"},
      {eval_with({"--quantizer", "template_quantizer:bits=3+4"}),
       "quantizer template_quantizer: bits: got 3+4, wanted an integer; it takes one value: give "
       "the whole spec once for each"},
      {{"eval", "org/name", "--metric", kLoss},
       "checkpoint org/name does not exist; did you mean hf://org/name?"},
      {eval_with({"--dtype", "float33"}),
       "`dtype`: got \"float33\", wanted one of float32, float64, bfloat16, float16"},
      {eval_with({"--device", "gpu"}), "`device`: got \"gpu\", wanted cpu, cuda or cuda:N"},
      {eval_with({"--device", "cuda:-1"}), "`device`: got \"cuda:-1\", wanted cpu, cuda or cuda:N"},
      {{"eval", "nothere", "--metric", kLoss}, "checkpoint nothere does not exist"},
      {eval_with({"--tokenizer", "no.json"}), "tokenizer no.json does not exist"},
      {{"eval", "tiny", "--metric", "validation_loss:text=no.txt"},
       "corpus text: no.txt: cannot be read: No such file or directory"},
      {eval_with({"--calibration", "sequences=2,length=8"}),
       "calibration: no corpus; wanted text=FILE or tokens=FILE"},
      {eval_with({"--calibration", "text=t.txt,sequences=2"}),
       "calibration: `sequences` and `length` go together"},
      {eval_with({"--calibration", "text=t.txt,sequences=0,length=8"}),
       "calibration: `sequences`: got \"0\", wanted a whole number of 1..2147483648"},
      {eval_with({"--calibration", "text=t.txt,text=t.txt"}),
       "\"calibration:text=t.txt,text=t.txt\": text is given twice"},
      {{"run", "no.yaml"}, "no.yaml: cannot be opened: No such file or directory"},
      {{"run", "m.yaml", "--device", "gpu"}, "`device`: got \"gpu\", wanted cpu, cuda or cuda:N"},
  };
  here.folder().write("m.yaml", "checkpoints: {model: tiny}\nmetrics: [validation_loss]\n");
  for (const BadLine& bad : cases) {
    const Outcome got = here.run(bad.arguments);
    CAPTURE(bad.arguments);
    CHECK(got.code == 2);
    CHECK(got.out.empty());
    CHECK(plain(got.err, here.folder().path()) == bad.message + "\n");
  }
}

TEST_CASE("eval: too little text is an error before the model is opened", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(eval_with({"--quantizer", "template_quantizer", "--calibration",
                                          "text=t.txt,sequences=20,length=100"}));
  CHECK(got.code == 2);
  CHECK(got.out.empty());
  CHECK(got.err ==
        "calibration command line: 20 sequences of 100 ids need 2000 ids, the corpus has 1000\n");
}

TEST_CASE("eval: what only the model tells is an error before it is measured", "[cli]") {
  const Workplace here;
  here.folder().write("long.txt", std::string(6000, 'x'));
  const Outcome got = here.run(eval_with({"--quantizer", "template_quantizer", "--calibration",
                                          "text=long.txt,sequences=1,length=5000"}));
  CHECK(got.code == 1);
  CHECK(got.out.empty());
  CHECK(got.err ==
        "tiny\ncalibration command line: `length`: got 5000 ids, wanted at most 4096, the context "
        "of the model\n");
}

TEST_CASE("eval: a folder of checkpoints is told from a checkpoint", "[cli]") {
  const Workplace here;
  for (const char* name : {"run/step1", "run/step2", "run/notes"}) {
    std::filesystem::create_directories(here.folder() / name);
    std::filesystem::copy(here.folder() / "tiny", here.folder() / name);
  }
  std::filesystem::remove(here.folder() / "run/notes/model.safetensors");
  const Outcome got = here.run({"eval", "run", "--metric", kLoss});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Catch::Contains("no weights: ") &&
                          Catch::Contains("the folder has no files; but 2 of its folders are "
                                          "checkpoints (step1, step2): name one of them, or write "
                                          "a manifest for all with: quench init run\n"));
}

TEST_CASE("eval: a corpus by its name in manifests is told from one by its plugin", "[cli]") {
  const Workplace here;
  const Outcome got = here.run({"eval", "tiny", "--metric", "validation_loss:corpus=t.txt"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err,
             Catch::StartsWith("metric validation_loss: corpus = t.txt: a command line names the "
                               "plugin that reads the file, as in text=t.txt; there are "));
}

TEST_CASE("eval: a tokenizer of the hub that is not cached is fetched by a command", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(eval_with({"--tokenizer", "hf://org/name"}));
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Catch::StartsWith("hf://org/name: 'org/name' is not in the cache") &&
                          Catch::EndsWith("quench fetch hf://org/name\n"));
}

TEST_CASE("eval: a quantizer that needs calibration and has none is bad usage", "[cli][torch]") {
  quench::test::need_plugin("quantizers/gptq");
  const Workplace here;
  const Outcome got = here.run(eval_with({"--quantizer", "gptq:bits=4"}));
  CHECK(got.code == 2);
  CHECK_THAT(got.err,
             Catch::StartsWith("quantizer gptq: needs calibration data and got none, "
                               "wanted `calibration` beside it or --calibration text=FILE,"));

  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\nquantizers:\n  - gptq: {bits: [3, 4]}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const Outcome run = here.run({"run", "m.yaml"});
  CHECK(run.code == 2);
  CHECK_THAT(run.err,
             Catch::StartsWith("m.yaml:3:5: quantizer gptq: needs calibration data and got none, "
                               "wanted `calibration` beside it or --calibration text=FILE,"));
  CHECK(!std::filesystem::exists(here.folder() / "runs"));
}

TEST_CASE("manifest: problems of structure and of plugins come together", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny, modle: x}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: [3, 9], grop_size: 4, calibration: c}\n"
                      "  - rtm\n"
                      "  - template_quantizer: {bits: 3}\n    calibration: d\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: w, block: 16}\n"
                      "corpora: {v: {text: {path: none.txt}}, x: {txt: {path: t.txt}}}\n");
  const Outcome got = here.run({"plan", "m.yaml"});
  CHECK(got.code == 2);
  CHECK(got.out.empty());
  for (const char* line :
       {"m.yaml:1:28: checkpoints: unknown key `modle`; did you mean `model`?\n",
        "m.yaml:3:36: quantizer template_quantizer: bits: got 9, wanted 2..8\n",
        "m.yaml:3:51: quantizer template_quantizer: grop_size: unknown parameter of quantizer "
        "template_quantizer; did you mean group_size?\n",
        "m.yaml:3:67: quantizer template_quantizer: `calibration` belongs beside the id, not under "
        "it\n",
        "m.yaml:4:5: no quantizer is called rtm",
        "m.yaml:6:18: no calibration \"d\" in `calibration`; there are none\n",
        "m.yaml:8:31: no corpus \"w\" in `corpora`; did you mean \"v\"?\n",
        "m.yaml:9:44: no corpus is called txt; did you mean text?"}) {
    CAPTURE(line);
    CHECK_THAT(got.err, Catch::Contains(line));
  }
}

TEST_CASE("manifest: a contrast may leave out the values of a sweep where one label has them",
          "[cli]") {
  const Workplace here;
  const auto planned = [&](const std::string& bits) {
    here.folder().write("m.yaml",
                        "checkpoints: {model: tiny}\n"
                        "quantizers:\n  - template_quantizer: {bits: " +
                            bits +
                            "}\n    label: mine\n"
                            "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                            "corpora: {v: {text: {path: t.txt}}}\n"
                            "report:\n  contrasts:\n    - {a: mine, b: {averaging: null}}\n");
    return here.run({"plan", "m.yaml"});
  };
  const Outcome one = planned("[3]");
  CHECK(one.code == 0);
  CHECK(one.err.empty());
  const Outcome two = planned("[3, 4]");
  CHECK(two.code == 2);
  CHECK(two.err ==
        "m.yaml:9:7: contrasts: `a`: mine is the label of a sweep; wanted one of mine bits=3, mine "
        "bits=4\n");
}

TEST_CASE("manifest: a contrast of what is not measured is a warning before the run", "[cli]") {
  const Workplace here;
  const auto told = [&](const std::string& contrast) {
    here.folder().write("m.yaml",
                        "checkpoints: {model: tiny}\n"
                        "quantizers: [template_quantizer: {bits: [3, 4]}]\n"
                        "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                        "corpora: {v: {text: {path: t.txt}}}\n"
                        "report:\n  contrasts:\n    - " +
                            contrast + "\n");
    const Outcome got = here.run({"plan", "m.yaml"});
    CHECK(got.code == 0);
    return got.err;
  };
  CHECK(told("{a: {bits: 3, quantizer: template_quantizer}, b: {bits: 4}}").empty());
  CHECK(told("{a: template_quantizer bits=3, b: template_quantizer}").empty());
  CHECK(told("{a: {quantizer: template_quantizer, bits: 3}, b: {quantizer: gptq, bits: 3}}") ==
        "warning: m.yaml:7:7: contrasts: `b`: no quantizer of this manifest is called gptq; there "
        "are none, template_quantizer; it will compare nothing\n");
  CHECK_THAT(told("{a: {averaging: lawa}, b: {averaging: null}}"),
             Catch::Contains("`a`: no averaging of this manifest is called lawa"));
  CHECK_THAT(told("{a: template_quantiser, b: template_quantizer bits=3}"),
             Catch::Contains("did you mean template_quantizer?"));
}

TEST_CASE("manifest: a contrast that several cells fit is refused by plan and by run", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "quantizers: [template_quantizer: {bits: [3, 4], group_size: [32, 64]}]\n"
                      "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                      "corpora: {v: {text: {path: t.txt}}}\n"
                      "report:\n  contrasts:\n    - {a: {bits: 3}, b: {bits: 4}}\n");
  for (const char* verb : {"plan", "run"}) {
    CAPTURE(verb);
    const Outcome got = here.run({verb, "m.yaml"});
    CHECK(got.code == 2);
    CHECK(got.err ==
          "m.yaml:7:7: contrasts: 2 cells of bits 3, which differ in label, params.group_size, fit "
          "2 cells of bits 4, which differ in label, params.group_size; select one on a side, or "
          "add what should be equal to `match`\n");
  }
}

TEST_CASE("bad command line: results inside a file are refused before anything runs", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "metrics: [{validation_loss: {corpus: short, block: 16}}]\n"
                      "corpora: {short: {text: {path: t.txt}}}\n");
  const Outcome got = here.run({"run", "m.yaml", "--out", "t.txt/results"});
  CHECK(got.code == 2);
  CHECK(plain(got.err, here.folder().path()) ==
        "t.txt/results: t.txt is not a folder, so it cannot contain results\n");
}

TEST_CASE("bad command line: a path longer than the system takes is told like any other", "[cli]") {
  const Workplace here;
  const std::string path(5000, 'x');
  const Workplace::Arguments lines[] = {
      {"run", path},
      {"plan", path},
      {"eval", path, "--metric", kLoss},
      {"eval", "tiny", "--metric", kLoss, "--tokenizer", path},
      {"eval", "tiny", "--metric", "validation_loss:text=" + path + ",block=16"},
      {"quantize", path, "--quantizer", "template_quantizer", "-o", "q"},
      {"quantize", "tiny", "--quantizer", "template_quantizer", "-o", path},
      {"average", path, path, "--averaging", "template_averaging", "-o", "a"},
      {"tokenize", path},
      {"results", path},
      {"status", path},
      {"diff", path, path},
      {"verify", path},
      {"report", path},
      {"export", path, "--to", "tensorboard"},
      {"watch", path},
      {"watch", "tiny", "--manifest", path},
      {"init", path},
      {"init", "tiny", "-o", path},
      {"why", path, "tiny"}};
  for (const Workplace::Arguments& line : lines) {
    const Outcome got = here.run(line);
    CAPTURE(line[0], got.err.substr(0, 400), got.err.size());
    CHECK((got.code == 1 || got.code == 2));
    CHECK_THAT(got.err, !Catch::Contains("internal error") && !Catch::Contains("filesystem error"));
    CHECK_THAT(got.err, Catch::EndsWith("\n") || Catch::Contains("--help"));
  }
}
