// A pseudo-terminal: a program in it believes that a person is watching.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/process/child_process.hpp"

namespace quench::test {

class Terminal {
 public:
  // Nothing where the system has none to give, for lack of /dev/pts for example.
  static std::optional<Terminal> open();

  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  // `command` in a session of its own that this terminal controls, all three streams in it.
  ChildProcess start(Command command) const;
  // What is written to the terminal until `wanted` appears, at most as long as `limit`.
  std::string read_until(const std::string& wanted, std::chrono::seconds limit) const;

 private:
  Terminal(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;    // the end at which the person would sit
  std::string path_;  // of the end for programs
};

}  // namespace quench::test
