// Divides the work of a run among processes that share its folder, without locks: what one process
// is at, the others leave alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/io/lease.hpp"

namespace quench {

// Who took a piece of work.
struct ClaimOwner {
  std::string job;
  std::string attempt;
  std::string host;
};

class Claims;

// A piece of work that this process has; released with the object.
class Claim {
 public:
  ~Claim();
  Claim(Claim&& other) noexcept;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  Claim& operator=(Claim&&) = delete;

  // False once another process has taken the work over: this one showed no sign of life for the
  // time of the lease, because it was stopped or its disk was. Then what was computed here must not
  // be kept.
  bool held() const;
  // Who had it before, the latest last.
  const std::vector<ClaimOwner>& earlier() const { return earlier_; }

 private:
  friend class Claims;
  Claim(std::filesystem::path stem, uint64_t generation, std::vector<ClaimOwner> earlier);

  std::filesystem::path stem_;
  uint64_t generation_ = 0;
  std::vector<ClaimOwner> earlier_;
};

// The claims of one attempt, in RUN/claims: `<work>.<generation>.claim` says who has it, and
// `<work>.<generation>.released` that he has it no more. A claim is published by link under the
// next generation, so of several processes one gets it, and no file is ever changed or removed
// while a run lasts. Only the highest generation counts. It is free if it was released or if its
// owner is gone (core/base/io/lease.hpp): its process does not run any more, where that can be seen
// from here, or its status file (heartbeat.hpp) has not changed for the time of the lease.
class Claims {
 public:
  using Clock = LifeWatch::Clock;
  using Log = std::function<void(const std::string&)>;

  // `folder`: of the run; the attempt must have a heartbeat there. `log` receives a line for what
  // is taken over.
  Claims(std::filesystem::path folder, std::string job, std::string attempt, Clock::duration lease,
         Log log = {});

  // Nothing while another process has it. `work`: any name that all processes give it. Throws Error
  // naming the path if the folder cannot be written.
  std::optional<Claim> take(const std::string& work, Clock::time_point now = Clock::now());
  // Whether another process seems to have it.
  bool is_taken(const std::string& work, Clock::time_point now = Clock::now());

 private:
  struct State {
    uint64_t next = 0;  // generation of the next claim
    std::vector<ClaimOwner> owners;
    bool taken = false;
    std::string gone;  // why the last owner is gone without a release
  };
  State look(const std::filesystem::path& stem, Clock::time_point now);
  std::string why_gone(const std::filesystem::path& claim, const ClaimOwner& owner,
                       Clock::time_point now);
  std::filesystem::path stem_of(const std::string& work) const;

  std::filesystem::path folder_;
  std::string job_;
  std::string attempt_;
  Clock::duration lease_;
  Log log_;
  LifeWatch watch_;
};

}  // namespace quench
