// Names of weights and methods as names of folders.
#pragma once

#include <string>

namespace quench {

// Different names have different folders, whatever is in them. Letters, digits and `-._=,@` stay,
// a space is '+', every other byte %XX, also a dot in front; "" is "%". What takes more than 200
// bytes is cut, with a '~' and its hash behind. "lawa window=5 at decay/step1200" is
// "lawa+window=5+at+decay%2Fstep1200".
std::string folder_name(const std::string& name);

// What no name is turned into: the folder of a point of a sweep among those of names.
std::string folder_name_of_job(size_t job);

}  // namespace quench
