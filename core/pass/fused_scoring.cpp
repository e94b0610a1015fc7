#include "core/pass/fused_scoring.hpp"

namespace quench {

template <typename Body>
void FusedScoring::with_weights(const std::vector<size_t>& first, Body body) {
  for (size_t i = 0; i < settings_.all().size(); ++i) {
    PassSetting& setting = settings_.all()[i];
    if (setting.out.error || setting.fused.empty()) {
      continue;
    }
    for (size_t m = first[i]; m < setting.out.weights.size(); ++m) {
      model_.weight_set(setting.out.weights[m].first, setting.out.weights[m].second.view());
    }
    for (FusedScore& score : setting.fused) {
      clock_.timed("scoring", [&] { body(setting, score); });
    }
    for (size_t m = first[i]; m < setting.out.weights.size(); ++m) {
      kept_.put_back(setting.out.weights[m].first);
    }
  }
}

std::vector<size_t> FusedScoring::from_the_first() const {
  return std::vector<size_t>(settings_.all().size());
}

void FusedScoring::embed() {
  with_weights(from_the_first(), [](PassSetting&, FusedScore& score) { score.embed(); });
}

void FusedScoring::begin_block() {
  before_block_.clear();
  for (const PassSetting& setting : settings_.all()) {
    before_block_.push_back(setting.out.weights.size());
  }
}

void FusedScoring::end_block(uint32_t block) {
  with_weights(before_block_, [&](PassSetting& setting, FusedScore& score) {
    score.block(block);
    setting.out.result.fused_tokens += block == 0 ? score.tokens() : 0;
  });
}

void FusedScoring::finish() {
  with_weights(from_the_first(), [](PassSetting& setting, FusedScore& score) {
    setting.out.result.answers.push_back(score.finish());
  });
}

}  // namespace quench
