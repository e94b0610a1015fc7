// What a library says of itself, asked by loading it into this process.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace quench {

// Called before each step that runs the library's code, with its name: "while it was loaded".
using EnterPhase = std::function<void(const std::string& phase)>;

// Loads the library, initializes its module, asks it what it offers and shuts it down: {"module",
// "items", "links", "findings"}, which read_description of library_description.hpp reads. `create`:
// also creates and destroys every item with its default parameters. Throws Error with the reason
// why the library is of no use.
nlohmann::json describe_library(const std::filesystem::path& library, bool create,
                                const EnterPhase& enter);

}  // namespace quench
