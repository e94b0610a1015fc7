// What a library says of itself, asked by loading it into this process.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace quench {

// How the phase ends in which an instance is made.
inline constexpr const char* kCreating = " was created";

// Called before each step that runs the library's code, with its name: "while it was loaded".
using EnterPhase = std::function<void(const std::string& phase)>;

// Loads the library, initializes its module, asks it what it offers and shuts it down: {"module",
// "items", "links"}, which result_of of probe.hpp reads. Throws Error with the reason why the
// library is of no use. Without `instances` none is made to be asked.
nlohmann::json describe_library(const std::filesystem::path& library, const EnterPhase& enter,
                                bool instances = true);

}  // namespace quench
