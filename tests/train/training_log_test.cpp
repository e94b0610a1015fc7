#include "train/training_log.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <sstream>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"

using quench::TrainedStates;
using quench::TrainingLog;
using quench::TrainingRow;

namespace {

const std::vector<quench::FlatParameter> kParameters = {{"w", QUENCH_ROLE_MATRIX, {2}, 0, 2}};
const std::vector<float> kWeights = {1, 2};

TrainingRow row(int64_t step) {
  TrainingRow out;
  out.step = step;
  out.loss = 0.5;
  return out;
}

std::vector<int64_t> steps_of(const std::string& log) {
  std::vector<int64_t> out;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    out.push_back(nlohmann::json::parse(line).at("row").at("step").get<int64_t>());
  }
  return out;
}

void save(TrainedStates& states, const std::string& key, const TrainingLog& log) {
  states.save_weights(key, {"{}", "", log.note()}, kParameters, kWeights);
}

}  // namespace

TEST_CASE("training log: rows of several checkpoints come in order", "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  TrainingLog log;
  log.add(row(1));
  log.add(row(2));
  save(states, "a", log);
  log.cut("a");
  log.add(row(3));
  save(states, "b", log);
  CHECK(steps_of(training_log(states, "b")) == std::vector<int64_t>{1, 2, 3});
  CHECK(steps_of(training_log(states, "a")) == std::vector<int64_t>{1, 2});
}

TEST_CASE("training log: what goes on from a passing state carries its rows", "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  TrainingLog log;
  log.add(row(1));
  save(states, "passing", log);
  TrainingLog resumed;
  resumed.continue_from(states, "passing", false);
  resumed.add(row(2));
  save(states, "kept", resumed);
  states.drop_weights("passing");
  CHECK(steps_of(training_log(states, "kept")) == std::vector<int64_t>{1, 2});
}

TEST_CASE("training log: a loop of states ends", "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  TrainingLog log;
  log.cut("a");
  log.add(row(1));
  save(states, "a", log);
  CHECK(steps_of(training_log(states, "a")) == std::vector<int64_t>{1});
}

TEST_CASE("training log: a note that is none is not written, and one that is read leads nowhere",
          "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  TrainingLog log;
  log.add(row(1));
  save(states, "a", log);
  using Change = std::pair<const char*, const char*>;
  const auto [member, value] =
      GENERATE(Change{"previous", R"("../elsewhere")"}, Change{"previous", R"("..")"},
               Change{"previous", R"("/tmp/a")"}, Change{"previous", "1"}, Change{"rows", "null"},
               Change{"rows", "[1]"}, Change{"rows", R"([{"step": "1"}])"},
               Change{"rows", R"([{"step": 1, "loss": "less"}])"}, Change{"step", "1.5"},
               Change{"keeps_weights", R"("yes")"}, Change{"keeps_optimizer", "1"});
  const nlohmann::json before = states.note("a");
  nlohmann::json note = before;
  note[member] = nlohmann::json::parse(value);
  CAPTURE(note.dump());
  const auto tells = Catch::Contains("training.json: " + std::string(member) + " = ");
  CHECK_THROWS_WITH(states.save_note("a", note), tells);
  CHECK(states.note("a") == before);
  home.write("training/a/training.json",
             quench::seal("training", quench::canonical_json(note)) + "\n");
  CHECK_THROWS_WITH(states.note("a"), tells);
  CHECK(training_log(states, "a").empty());
  CHECK_THAT(states.fault(states.weights_path("a"), quench::Depth::kContents), tells);
}

TEST_CASE("training log: a damaged row is named, and rows without seals are not said to be right",
          "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  TrainingLog log;
  log.add(row(1));
  log.add(row(2));
  save(states, "a", log);
  const std::string whole = training_log(states, "a");
  const auto findings = [&](const std::string& content) {
    const auto path = home.write("run/training/job~1/b.jsonl", content);
    quench::LogFindings out = quench::verify_training_logs(home / "run");
    for (std::string& fault : out.faults) {
      REQUIRE(fault.starts_with(path.string() + ":"));
      fault.erase(0, path.string().size() + 1);
    }
    return out;
  };
  CHECK(findings(whole).checked == 2);
  CHECK(findings(whole).faults.empty());
  CHECK(findings(whole).unchecked.empty());
  using Faults = std::vector<std::string>;
  std::string digit = whole;
  digit[digit.find("0.5", digit.find('\n')) + 2] = '6';
  CHECK(findings(digit).faults == Faults{"2: the checksum does not match"});
  std::string name = whole;
  name[2] = 's';
  CHECK(findings(name).faults == Faults{"1: it does not begin as a sealed line"});
  CHECK(findings(whole.substr(0, whole.size() - 1)).faults ==
        Faults{"2: it is cut short: no end of the line"});
  const quench::LogFindings before = findings("{\"gradient_norm\":0.0,\"loss\":0.5,\"step\":1}\n");
  CHECK(before.checked == 0);
  CHECK(before.faults.empty());
  CHECK(before.unchecked.size() == 1);
}

TEST_CASE("trained states: a tokenizer that was replaced is not put beside the weights",
          "[train]") {
  const quench::test::TemporaryDir home;
  const std::string file = home.write("tokenizer.json", "{\"model\": 1}").string();
  const std::string key = quench::sha256_hex("{\"model\": 1}") + " a_plugin";
  TrainedStates states(home.path());
  states.save_weights("a", {"{}", file, {{"step", 1}}, key}, kParameters, kWeights);
  CHECK(states.has_weights("a"));
  home.write("tokenizer.json", "{\"model\": 2}");
  CHECK_THROWS_WITH(
      states.save_weights("b", {"{}", file, {{"step", 1}}, key}, kParameters, kWeights),
      file + ": the tokenizer was replaced during the training; run the command again");
  CHECK_FALSE(states.has_weights("b"));
}

TEST_CASE("trained states: weights are a state only with the optimizer beside them", "[train]") {
  const quench::test::TemporaryDir home;
  TrainedStates states(home.path());
  CHECK_FALSE(states.has_weights("k"));
  save(states, "k", {});
  CHECK(states.has_weights("k"));
  CHECK_FALSE(states.has_state("k"));
  float moment = 3;
  const quench::TensorInfo m{"m", {QUENCH_DTYPE_FLOAT, 32, 1}, {1}, 0};
  states.save_optimizer("k", {m},
                        [&](size_t, void* bytes) { std::memcpy(bytes, &moment, sizeof moment); });
  CHECK(states.has_state("k"));
  moment = 0;
  const auto take = [&](size_t, const void* bytes) { std::memcpy(&moment, bytes, sizeof moment); };
  states.load_optimizer("k", {m}, take);
  CHECK(moment == 3);
  quench::TensorInfo other = m;
  other.name = "other";
  CHECK_THROWS_AS(states.load_optimizer("k", {other}, take), quench::Error);
  other = m;
  other.shape = {2};
  CHECK_THROWS_AS(states.load_optimizer("k", {other}, take), quench::Error);
  states.drop_optimizer("k");
  CHECK(states.has_weights("k"));
  CHECK_FALSE(states.has_state("k"));
}
