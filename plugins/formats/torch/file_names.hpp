// What the names of a training loop's files tell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/format.hpp"

namespace quench::formats {

// Whether it ends in .pth or .pt.
bool is_archive_name(std::string_view name);
// Files of the place with such a name.
std::vector<std::string> archives_of(const kit::Place& place);
// "a, b, c and 7 more"
std::string listing(const std::vector<std::string>& names);
// Step and tokens as the name tells them: the digits behind "step", "iter", "checkpoint" or "ckpt"
// and behind "tokens"; a name with one number has it as its step.
kit::CheckpointEntry entry_of(const std::string& name);

}  // namespace quench::formats
