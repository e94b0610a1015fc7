// A pseudo-terminal: a program in it believes that a person is watching.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/process/child_process.hpp"

namespace quench::test {

class Terminal {
 public:
  // Nothing where the system has none to give, for lack of /dev/pts for example.
  static std::optional<Terminal> open();

  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  void set_columns(unsigned short columns) const;
  // `command` in a session of its own that this terminal controls, all three streams in it; stdout
  // goes to `output` where that is named.
  ChildProcess start(Command command, const std::filesystem::path& output = {}) const;
  // What is written to the terminal until `wanted` appears, at most as long as `limit`.
  std::string read_until(const std::string& wanted, std::chrono::seconds limit) const;

 private:
  Terminal(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;    // the end at which the person would sit
  std::string path_;  // of the end for programs
};

// The longest line of what a terminal shows, in characters of UTF-8.
size_t widest_line(const std::string& shown);

}  // namespace quench::test
