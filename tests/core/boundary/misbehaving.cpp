#include "tests/core/boundary/misbehaving.hpp"

#include <catch2/catch.hpp>

#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

std::string boundary_plugin(const std::string& id) {
  return (binary_dir() / "tests/boundary" / id).string();
}

MisbehavingRun::MisbehavingRun(const std::string& deed, const std::string& more,
                               const std::vector<std::string>& in_process)
    : in_process_(in_process) {
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - misbehaving: {deed: " +
                          deed +
                          "}\n"
                          "  - template_quantizer: {bits: 4}\n"
                          "metrics:\n"
                          "  - validation_loss: {corpus: v, block: 16}\n"
                          "corpora: {v: {text: {path: t.txt}}}\n" +
                          more);
}

Workplace::Arguments MisbehavingRun::arguments(Workplace::Arguments more) const {
  Workplace::Arguments out = {"run", "m.yaml", "--plugin-path", boundary_plugin("misbehaving")};
  for (const std::string& plugin : in_process_) {
    out.insert(out.end(), {"--in-process", plugin});
  }
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

nlohmann::json MisbehavingRun::cell(const nlohmann::json& records, const std::string& quantizer) {
  for (const nlohmann::json& record : records) {
    if (record.at("metric") == "validation_loss" && record.at("quantizer").is_object() &&
        record.at("quantizer").at("id") == quantizer) {
      return record.at("error").is_string() && record.at("error") != "" ? record.at("error")
                                                                        : record.at("value");
    }
  }
  return nullptr;
}

nlohmann::json MisbehavingRun::records() const {
  const Outcome got = here.run(arguments({"--json"}));
  INFO(got.err);
  REQUIRE(got.code <= 1);
  return data_of(got.out).at("records");
}

double undisturbed_loss() {
  static const double kLoss = [] {
    const MisbehavingRun run("nothing");
    return MisbehavingRun::cell(run.records(), "template_quantizer").get<double>();
  }();
  return kLoss;
}

}  // namespace quench::test
