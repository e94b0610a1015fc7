// The input is a message of a process that a plugin runs in: the body of a call of one of the
// host's functions, or replies to the calls that the host makes of a plugin. Whatever it holds, the
// host ends the call with a status or an Error, and takes no more memory than was written.
#include <cstddef>
#include <cstdint>

#include "tests/core/plugin/wire/garbage.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quench::test::take_garbage({data, size});
  return 0;
}
