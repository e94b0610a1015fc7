// What names the code behind a value in content keys: the same code has one name, wherever it lies
// and whoever built it again with the same compiler.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/description.hpp"

namespace quench {

// The code of a plugin: an object of named parts, so that an explanation of a key can say which one
// differs. Of a shared library {"build_id": <hex>}, which its linker made of all its content and
// which moving, stripping and installing it leave alone; {"sha256": <hex>} where there is none, or
// one too short to be a hash. A plugin that is no library has other parts: of a script its file,
// its interpreter and the versions of what it imports.
nlohmann::json code_of_library(const std::string& build_id, const std::string& sha256);

// Of what plugins run on, the libraries that decide numbers: {soname: build id, or "sha256:<hex>"
// of a file without one}. Left out is what computes nothing, what a standard holds to one output,
// and the C library, which has a version that says more (math_library). What is not known counts.
nlohmann::json computing_libraries(const std::vector<LinkedLibrary>& links);

// The C library's sin, exp, pow, ...: "glibc 2.36 fma". Patch levels of a version share them; "fma"
// where the processor has it run the forms that fuse multiplication and addition.
std::string math_library();
std::string math_library(const std::string& version, bool fuses);

}  // namespace quench
