// Copies of built plugins: they did not come with the program, so they run in processes of their
// own, or beside it where the user says so.
#pragma once

#include <set>
#include <string>

#include "tests/cli/program.hpp"

namespace quench::test {

// Copies plugins by id, or all of them, into the folder `plugins` of the workplace, with the
// libraries that they stand on beside them. Returns their ids.
std::set<std::string> copy_plugins(const Workplace& here, const std::set<std::string>& ids = {});

}  // namespace quench::test
