// What must hold for a program that writes records, whatever fails.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/faults.hpp"

namespace quench::test {

// The faults of the order in which a program made its calls, as a power failure would show them: a
// name is given only to content that was synced, names are synced before the next record, and every
// record is synced before anything else happens.
std::vector<std::string> order_faults(const std::vector<WriteCall>& calls);

// Each returns what it found wrong with `driver` (record_writer or a mutant of it), nothing when
// all is well; at the first fault it may stop.
std::vector<std::string> check_order(const std::filesystem::path& driver);
std::vector<std::string> check_reading(const std::filesystem::path& driver);
std::vector<std::string> check_errors(const std::filesystem::path& driver);
std::vector<std::string> check_kills(const std::filesystem::path& driver);

}  // namespace quench::test
