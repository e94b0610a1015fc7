// Measures how a pass spends its time.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace quench {

class PassClock {
 public:
  // Runs `body` and adds its time to `part`.
  template <typename Body>
  void timed(const char* part, Body body) {
    const Reading before = read();
    body();
    add(part, before);
  }
  // Adds time that a quantizer reports as a part of "quantize".
  void add_detail(const std::string& part, double seconds) { seconds_[part] += seconds; }

  void start() { start_ = read(); }
  // "all" is the whole time since `start`; "other" is what no part of the host covers.
  void stop();

  // Wall seconds, and processor seconds of all threads.
  const std::map<std::string, double>& seconds() const { return seconds_; }
  const std::map<std::string, double>& cpu_seconds() const { return cpu_seconds_; }

 private:
  struct Reading {
    std::chrono::steady_clock::time_point wall;
    double processor;  // seconds of the process
  };
  static Reading read();
  void add(const char* part, const Reading& before);

  Reading start_{};
  std::map<std::string, double> seconds_;
  std::map<std::string, double> cpu_seconds_;
};

}  // namespace quench
