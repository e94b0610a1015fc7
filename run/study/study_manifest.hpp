// The manifest that one of the study's files amounts to.
#pragma once

#include <string>

#include "run/study/study_file.hpp"

namespace quench {

// The text of the manifest; `from` is the file's name, for its comments, which name every key
// without a counterpart. Throws Error(INVALID_ARGUMENT) for a text that no YAML can hold.
std::string study_manifest(const StudyFile& file, const std::string& from);

}  // namespace quench
