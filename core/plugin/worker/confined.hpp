// A process of a plugin confines itself, by what the host has told it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

// `box`: {"readable": [paths], "writable": [paths]} and of a program that is to be started
// "executable"; null: nothing. Returns what is in force, for messages. Throws as enter_sandbox.
std::string enter_sandbox_of(const nlohmann::json& box);

// Body of `quench __confined BOX PROGRAM ARGUMENTS...`: becomes the program, confined before its
// first instruction. Returns an exit code where it cannot.
int confined_main(const std::vector<std::string>& arguments);

}  // namespace quench
