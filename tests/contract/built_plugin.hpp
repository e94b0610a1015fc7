// A plugin of this build, tried in the test's own process.
#pragma once

#include <filesystem>
#include <functional>
#include <utility>
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
  std::filesystem::path sample() const override { return sample_; }
  nlohmann::json settings() const override { return settings_; }
  std::optional<promises::SmallModel> model() const override { return model_; }
  void use_sample(std::filesystem::path sample) { sample_ = std::move(sample); }
  void use_settings(nlohmann::json settings) { settings_ = std::move(settings); }
  void use_model(promises::SmallModel model) { model_ = std::move(model); }

 private:
  const quench_item& item_;
  std::vector<promises::Parameter> parameters_;
  std::filesystem::path sample_;
  nlohmann::json settings_ = nlohmann::json::object();
  promises::SmallModel model_;
};

// Every promise of the kind, each a section, held by the plugin, which leaves no block of the
// host's memory behind.
void check_promises(promises::Candidate& candidate);

}  // namespace quench::test
