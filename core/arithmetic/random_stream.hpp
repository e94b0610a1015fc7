// Random numbers that depend on a seed, a module and a name.
#pragma once

#include <cstdint>
#include <string>

namespace quench {

// Numbers counter .. counter+count-1 of a stream of quench.random/1.
void random_uniform(uint64_t seed, const std::string& module, const char* stream, uint64_t counter,
                    uint64_t count, uint64_t* values);

}  // namespace quench
