// A plugin of this build, tried in the test's own process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "promises/candidate.hpp"

namespace quench::test {

class BuiltPlugin : public promises::Candidate {
 public:
  explicit BuiltPlugin(const quench_item& item);
  ~BuiltPlugin() override;

  const quench_item& item() override { return item_; }
  const std::vector<promises::Parameter>& parameters() const override { return parameters_; }
  void set_threads(uint32_t threads) override;
  bool start_afresh() override { return false; }
  void request_cancel(bool requested) override;
  std::optional<int64_t> live_blocks() override;
  std::optional<int64_t> peak_during(const std::function<void()>& work) override;

 private:
  const quench_item& item_;
  std::vector<promises::Parameter> parameters_;
};

// Every promise of the kind, each a section, held by the plugin.
void check_promises(promises::Candidate& candidate);

}  // namespace quench::test
