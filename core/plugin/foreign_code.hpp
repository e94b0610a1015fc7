// Code that did not come with the program: what its processes get.
#pragma once

#include <string>
#include <vector>

namespace quench {

// Of the caller's environment, "NAME=value" each, what processes of plugins get: variables of a
// list, which names no secret, and none that changes which libraries a program finds.
std::vector<std::string> foreign_environment();

// The same with what changes which libraries are found: a library that is probed may be loaded into
// this process later and must find the same there.
std::vector<std::string> probe_environment();

}  // namespace quench
