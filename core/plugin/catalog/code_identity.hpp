// Identifies the code behind a value in content keys: the same code has one identity, wherever it
// is installed, and also when it is built again with the same compiler.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"

namespace quench {

// The code of a plugin as an object of named parts, so that an explanation of a key can name the
// part that differs. For a shared library {"build_id": <hex>}, which the linker computes from its
// whole content and which moving, stripping and installing preserve; {"sha256": <hex>} if it has
// none, or one too short to be a hash.
nlohmann::json code_of_library(const std::string& build_id, const std::string& sha256);

// The same of a Python file, from what quench.describe says of its `surroundings`; `sha256` is the
// file's. {"python file": <hex>, "interpreter": "3.11.2", "distributions": {"numpy": "1.24.2"},
// "beside": {file in its folder: <hex>}, "package": <hex> of what quench itself computes there}.
// And {"program": <hex>} of an `interpreter` that is not CPython itself, whose version is its own
// word. Throws a JSON exception, and what File throws.
nlohmann::json code_of_python(const nlohmann::json& surroundings, const std::string& sha256,
                              const std::filesystem::path& interpreter);

// The files behind that code, by path: `file` and those beside it; none of a shared library.
std::map<std::string, std::string> files_of_python(const nlohmann::json& code,
                                                   const std::filesystem::path& file);

// The libraries under plugins that affect numbers: {soname: build id, or "sha256:<hex>" of a file
// without one}. Leaves out libraries that compute nothing, those whose output a standard fixes, and
// the C library, whose version says more (math_library). Unknown libraries count.
nlohmann::json computing_libraries(const std::vector<LinkedLibrary>& links);

// Identifies the C library's sin, exp, pow, ...: "glibc 2.36 fma". Patch levels of a version are
// equal; "fma" if the processor runs the variants that fuse multiplication and addition.
std::string math_library();
std::string math_library(const std::string& version, bool fuses);

}  // namespace quench
