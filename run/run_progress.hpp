// Reports the progress of a run, for people and for programs that watch it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/plugin/at_work.hpp"

namespace quench {

class RunProgress {
 public:
  using Step = std::function<void(const std::string& what, uint64_t done, uint64_t total)>;

  // `on_step` may be empty; `total`: cells of all experiments.
  RunProgress(Step on_step, uint64_t total) : on_step_(std::move(on_step)), total_(total) {}

  // A piece of work begins.
  void say(const std::string& what) const {
    set_work(what);
    if (on_step_) {
      on_step_(what, done_, total_);
    }
  }
  // This many more cells are done.
  void advance(uint64_t cells) { done_ += cells; }
  uint64_t done() const { return done_; }
  // Work that began at `done` was in vain.
  void set_back(uint64_t done) { done_ = done; }

 private:
  Step on_step_;
  uint64_t total_;
  uint64_t done_ = 0;
};

}  // namespace quench
