// Transforms and AWQ's plan on trained fixture models of every family: what is folded leaves the
// float model as it is, what cannot be folded is refused or kept explicit, and a map that is not
// sound is named.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

struct Fixture {
  std::string name;
  std::string refusal;             // of the rotation, or ""
  std::map<std::string, int> how;  // of smoothquant's changes in a block, by the first word
};

// Which groups fold: docs/quantizers.md. olmo2 has weights behind each branch; the others that are
// refused have a head that is tied behind a norm with weights.
const std::vector<Fixture>& families() {
  static const std::vector<Fixture> kFamilies = {
      {"apertus", "", {{"folded", 2}, {"explicit", 2}}},
      {"gpt_neox-seq", "tied", {{"folded", 3}, {"explicit", 1}}},
      {"gpt_neox-small", "", {{"folded", 3}, {"explicit", 1}}},
      {"llama", "", {{"folded", 4}}},
      {"olmo-clip", "", {{"folded", 1}, {"explicit", 3}}},
      {"olmo-tied", "", {{"folded", 2}, {"explicit", 2}}},
      {"olmo2", "lies between each branch", {{"folded", 2}, {"explicit", 2}}},
      {"opensci", "tied", {{"folded", 4}}},
      {"smollm3", "tied", {{"folded", 3}, {"explicit", 1}}}};
  return kFamilies;
}

// A few thousand characters that no fixture was trained on, in a file.
class SmallText {
 public:
  static SmallText make() {
    const auto text = public_data("text/tinyshakespeare.txt");
    SmallText out;
    out.folder_ = std::make_shared<TemporaryDir>();
    out.file_ = out.folder_->write("text.txt", read_file(text).substr(ValidationText::kFrom, 6000));
    return out;
  }
  std::string metric() const { return "validation_loss:text=" + file_.string() + ",block=64"; }
  std::string calibration() const { return "text=" + file_.string() + ",sequences=8,length=64"; }

 private:
  std::shared_ptr<TemporaryDir> folder_;
  std::filesystem::path file_;
};

Finished run_eval(const std::filesystem::path& model, const SmallText& text,
                  const std::vector<std::string>& quantizers) {
  std::vector<std::string> arguments = {
      "eval",          model.string(),          "--metric",
      text.metric(),   "--calibration",         text.calibration(),
      "--plugin-path", test_plugins().string(), "--json"};
  for (const std::string& quantizer : quantizers) {
    arguments.insert(arguments.end(), {"--quantizer", quantizer});
  }
  return run_quench(arguments);
}

// The records of some quantizers, without the float model's.
std::vector<nlohmann::json> eval(const std::filesystem::path& model, const SmallText& text,
                                 const std::vector<std::string>& quantizers) {
  const Finished finished = run_eval(model, text, quantizers);
  INFO(finished.err);
  REQUIRE(finished.code == 0);
  const auto records = records_of(data_of(finished.out), "validation_loss");
  REQUIRE(records.size() == quantizers.size() + 1);
  return {records.begin() + 1, records.end()};
}

// What the record of a quantizer that fails says.
std::string refusal(const std::filesystem::path& model, const SmallText& text,
                    const std::string& quantizer) {
  const Finished finished = run_eval(model, text, {quantizer});
  CHECK(finished.code == 1);
  const auto records = records_of(data_of(finished.out), "validation_loss");
  REQUIRE(records.size() == 2);
  CHECK(records[0].at("error").is_null());  // the float model's
  return records[1].at("error").get<std::string>();
}

std::map<std::string, int> kinds_of(const nlohmann::json& changes) {
  std::map<std::string, int> kinds;
  for (const nlohmann::json& change : changes) {
    const std::string how = change.at("how");
    ++kinds[how.substr(0, how.find(':'))];
  }
  return kinds;
}

}  // namespace

TEST_CASE("transforms: every family's map is sound, and what it lacks is refused with a reason",
          "[regression][transforms]") {
  const auto text = SmallText::make();
  const auto models = fixture("models");
  for (const Fixture& family : families()) {
    INFO(family.name);
    std::vector<std::string> quantizers = {"rtn:bits=4,transform=smoothquant",
                                           "awq:bits=4,group_size=32"};
    if (family.refusal.empty()) {
      quantizers.emplace_back("rtn:bits=4,transform=rotation");
    } else {
      CHECK_THAT(refusal(models / family.name, text, "rtn:bits=4,transform=rotation"),
                 Catch::Contains(family.refusal));
    }
    const auto records = eval(models / family.name, text, quantizers);
    const nlohmann::json& smooth = records[0].at("details").at("transform");
    CHECK(smooth.at("logit_distance").get<double>() < 1e-5);
    std::map<std::string, int> expected = family.how;
    const auto blocks = static_cast<int>(smooth.at("changes").size()) / 4;
    for (auto& [kind, count] : expected) {
      count *= blocks;
    }
    CHECK(kinds_of(smooth.at("changes")) == expected);
    if (family.refusal.empty()) {
      CHECK(records[2].at("details").at("transform").at("logit_distance").get<double>() < 1e-5);
    }
    const nlohmann::json& plan = records[1].at("details").at("plan");
    CHECK(plan.at("logit_distance").get<double>() < 1e-5);
    CHECK(kinds_of(plan.at("changes")) == expected);
  }
}

TEST_CASE("transforms: a map that is not sound is an error that names the group",
          "[regression][transforms]") {
  const auto text = SmallText::make();
  const auto models = fixture("models");
  CHECK_THAT(
      refusal(models / "gpt_neox-small", text, "rtn:bits=4,transform=across_activation"),
      Catch::Contains("layers.1.mlp.dense_4h_to_h (folded) changes what the float model computes"));
  const auto llama = eval(models / "llama", text, {"rtn:bits=4,transform=across_activation"});
  CHECK(llama[0].at("error").is_null());  // silu(gate) * up is linear in up
}

// What a transform leaves behind would show in whatever is measured next.
TEST_CASE("transforms: the float model is back afterwards", "[regression][transforms]") {
  const auto text = SmallText::make();
  const auto models = fixture("models");
  const std::vector<std::string> plain = {"rtn:bits=3", "int8"};
  const auto alone = eval(models / "gpt_neox-small", text, plain);
  const auto after =
      eval(models / "gpt_neox-small", text,
           {"gptq:bits=3,transform=rotation", "int8:transform=smoothquant", "rtn:bits=3", "int8"});
  CHECK(after[2].at("value") == alone[0].at("value"));
  CHECK(after[3].at("value") == alone[1].at("value"));
  CHECK(after[0].at("value") != alone[0].at("value"));
  CHECK(after[1].at("value") != alone[1].at("value"));
}

// Scaling and dividing by the same numbers is nothing to a method that rounds each column by
// itself.
TEST_CASE("transforms: an explicit scale goes through linear ops and weights alike",
          "[regression][transforms]") {
  const auto text = SmallText::make();
  const auto models = fixture("models");
  const auto records = eval(
      models / "olmo2", text,
      {"int8:threshold=1e-30,half=false", "int8:threshold=1e-30,half=false,transform=smoothquant"});
  const double plain = records[0].at("value");
  const double smooth = records[1].at("value");
  CHECK(smooth == Approx(plain).epsilon(2e-3));  // other int8 codes of the weights, the same inputs
  CHECK(smooth != plain);
}

}  // namespace quench::test
