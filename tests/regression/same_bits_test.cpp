// What a run finds depends neither on the number of threads nor on the libraries that libtorch was
// built with: every family, its derivatives, every quantizer and every optimizer.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;

constexpr const char* kFamilies[] = {"apertus", "gpt_neox-seq", "gpt_neox-small",
                                     "llama",   "olmo-clip",    "olmo-tied",
                                     "olmo2",   "opensci",      "smollm3"};

// `quench eval` of a trained model of the fixtures: its loss in float and after each quantizer,
// eigenvalues of the Hessian and of Gauss and Newton's matrix, and the terms of a rounding's loss.
class Evaluation {
 public:
  explicit Evaluation(const std::string& model) : model_(model) {
    std::string text;
    for (int i = 0; i < 6000; ++i) {
      text += static_cast<char>('a' + (i * i + i / 7) % 26);
    }
    text_ = folder_.write("text.txt", text).string();
  }

  std::vector<std::vector<std::string>> commands() const {
    const std::string sequences = "text=" + text_ + ",length=96,rows=4,";
    std::vector<std::vector<std::string>> all = {
        with({"--metric",      "validation_loss:text=" + text_ + ",block=96",
              "--calibration", "text=" + text_ + ",sequences=8,length=96",
              "--quantizer",   "rtn:bits=3",
              "--quantizer",   "gptq:bits=3,group_size=32",
              "--quantizer",   "gptq:bits=3,group_size=32,desc_act=true,precision=float64",
              "--quantizer",   "awq:bits=3,group_size=32",
              "--quantizer",   "hqq:bits=3,group_size=32",
              "--quantizer",   "noise:bits=3",
              "--quantizer",   "nf4",
              "--quantizer",   "int8:threshold=1"})};
    for (const char* curvature : {"hessian", "gauss_newton", "forward"}) {
      all.push_back(
          with({"--metric", "hessian:" + sequences + "top=1,steps=6,trace_samples=2,seed=1," +
                                "curvature=" + curvature}));
    }
    all.push_back(with({"--metric", "taylor:" + sequences + "parts=layers", "--quantizer",
                        "rtn:bits=4,group_size=32"}));
    return all;
  }

 private:
  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), {"eval", model_, "--tokenizer", "bytes"});
    return more;
  }

  TemporaryDir folder_;
  std::string model_;
  std::string text_;
};

// Removes what says how long something took or how much memory there was.
void drop_costs(json& value) {
  if (value.is_object()) {
    for (auto it = value.begin(); it != value.end();) {
      const bool cost = it.key().find("seconds") != std::string::npos ||
                        it.key().find("memory") != std::string::npos || it.key() == "environment";
      it = cost ? value.erase(it) : std::next(it);
    }
  }
  for (json& part : value) {
    if (part.is_structured()) {
      drop_costs(part);
    }
  }
}

std::vector<std::string> results_of(const json& document) {
  std::vector<std::string> results;
  for (json record : document.at("records")) {
    drop_costs(record);
    results.push_back(record.dump(1));
  }
  return results;
}

// Every call of MKL and oneDNN is printed.
const std::map<std::string, std::string> kVerbose = {{"MKL_VERBOSE", "1"}, {"ONEDNN_VERBOSE", "1"}};

void check_calls_neither(const Finished& finished) {
  CHECK(finished.code == 0);
  CHECK_THAT(finished.out + finished.err,
             !Catch::Contains("MKL_VERBOSE") && !Catch::Contains("onednn_verbose"));
}

// A training on the bytes of `text`, large enough that there is work for every thread.
std::string training(const std::string& text, const std::string& optimizer,
                     const std::string& precision) {
  return "name: m\ncheckpoints: {model: train}\n"
         "train: {model: {model_type: gpt_neox, hidden_size: 96, intermediate_size: 384, "
         "num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 256, "
         "max_position_embeddings: 128, hidden_act: gelu, layer_norm_eps: 1e-5, rotary_pct: 0.25, "
         "rotary_emb_base: 10000, use_parallel_residual: true, attention_bias: true, "
         "tie_word_embeddings: false, initializer_range: 0.02}, corpus: text, tokenizer: bytes, "
         "optimizer: " +
         optimizer + ", precision: " + precision +
         ", lr: {schedule: constant, peak: 0.003, warmup: 2}, batch: 8, length: 128, steps: 4, "
         "every: 1}\n"
         "averaging: [lawa: {window: 2, every: 1}, ema: {decay: 0.5}]\n"
         "metrics: [validation_loss: {corpus: text, block: 64}, weights: {}]\n"
         "corpora: {text: {text: {path: \"" +
         text + "\"}}}\n";
}

}  // namespace

TEST_CASE("eval: a family's results have the same bits for 1, 2 and 3 threads, and none of MKL's",
          "[regression]") {
  const std::string family = GENERATE(from_range(std::begin(kFamilies), std::end(kFamilies)));
  const auto model = fixture("models/" + family);
  const Evaluation evaluation(model.string());
  for (std::vector<std::string> command : evaluation.commands()) {
    CAPTURE(family, command.at(5));
    command.insert(command.end(), {"--json", "--threads", "1"});
    const Finished one = run_quench(command, kVerbose);
    check_calls_neither(one);
    const std::vector<std::string> results = results_of(data_of(one.out));
    CHECK(!results.empty());
    for (const char* threads : {"2", "3"}) {
      command.back() = threads;
      CHECK(results_of(data_of(run_quench(command).out)) == results);
    }
  }
}

TEST_CASE("eval: in bfloat16, too, no product and no solve is MKL's or oneDNN's", "[regression]") {
  const std::string family = GENERATE(from_range(std::begin(kFamilies), std::end(kFamilies)));
  const auto model = fixture("models/" + family);
  const Evaluation evaluation(model.string());
  std::vector<std::string> command = evaluation.commands().front();  // curvature wants float32
  CAPTURE(family);
  command.insert(command.end(), {"--dtype", "bfloat16"});
  check_calls_neither(run_quench(command, kVerbose));
}

TEST_CASE("run: training and averages have the same bits for 1, 2 and 3 threads", "[regression]") {
  const auto [optimizer, precision] = GENERATE(
      table<std::string, std::string>({{"adamw", "float32"},
                                       {"muon", "float32"},
                                       {"sgd", "float32"},
                                       {"{soap: {precondition_frequency: 2}}", "float32"},
                                       {"{shampoo: {precondition_frequency: 2}}", "float32"},
                                       {"schedule_free_adamw", "float32"},
                                       {"adamw", "bfloat16"}}));
  CAPTURE(optimizer, precision);
  const TemporaryDir folder;
  std::string text;
  for (int i = 0; i < 9000; ++i) {
    text += static_cast<char>('a' + (i * i + i / 7) % 26);
  }
  const std::string manifest =
      training(folder.write("text.txt", text).string(), optimizer, precision);
  const std::vector<std::string> one = results_of(run_manifest(manifest, {"--threads", "1"}));
  CHECK(one.size() >= 8);
  CHECK(results_of(run_manifest(manifest, {"--threads", "2"})) == one);
  CHECK(results_of(run_manifest(manifest, {"--threads", "3"})) == one);
}

}  // namespace quench::test
