// Runs of two quantizers, of which the first does one thing that a plugin must not do.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

namespace quench::test {

// The folder of one of plugins/, for --plugin-path.
std::string boundary_plugin(const std::string& id);

// A workplace with the manifest m.yaml: the tiny checkpoint, quantizers `misbehaving` and
// `template_quantizer`, one metric.
class MisbehavingRun {
 public:
  // Plugins named in `in_process` run in the program's own process, all others in workers.
  explicit MisbehavingRun(const std::string& deed, const std::string& more = "",
                          const std::vector<std::string>& in_process = {"misbehaving",
                                                                        "template_quantizer"});

  Workplace::Arguments arguments(Workplace::Arguments more = {}) const;
  Outcome run(Workplace::Arguments more = {}) const { return here.run(arguments(std::move(more))); }
  // The validation loss of a quantizer's cell, as it was recorded; its error else.
  static nlohmann::json cell(const nlohmann::json& records, const std::string& quantizer);
  // All records that `quench results` shows, run with `--json`.
  nlohmann::json records() const;

  const Workplace here{Page::kNone};

 private:
  std::vector<std::string> in_process_;
};

// The loss of the template quantizer's cell in a run without a fault.
double undisturbed_loss();

}  // namespace quench::test
