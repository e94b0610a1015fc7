// The children of probing: each answers one question about a library, within a limit of time, and
// how it ends does the parent no harm.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/probe.hpp"

namespace quench {

// What a child is started for.
struct ProbeQuestion {
  std::filesystem::path library = {};
  std::filesystem::path interpreter = {};  // of a Python file; "": a library
  std::vector<std::string> words = {};     // what it is asked about the library: options

  bool is_about_python() const { return !interpreter.empty(); }
};

constexpr size_t kProbesAtOnce = 2;

// The answer to question `index`: one JSON object, {"rejected": why} where the child gave none,
// with "passing": true where it was ended from outside or could not be started.
using TakeAnswer = std::function<void(size_t index, const nlohmann::json& answer, bool timed_out)>;

// Asks every question of a child of its own, at most kProbesAtOnce at a time. Throws
// Error(FAILED_PRECONDITION) when the program itself cannot be started.
void ask(const std::vector<ProbeQuestion>& questions, const ProbeOptions& options,
         const TakeAnswer& take);

}  // namespace quench
