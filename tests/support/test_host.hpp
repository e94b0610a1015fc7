// A small but real host for unit tests of plugin code that is linked into the test itself.
//
// Services: log (to stderr), cancel, memory, random, tasks (on the calling thread), processor,
// json and json values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/host.h"
#include "quench/kit/host.hpp"

namespace quench::test {

// The one host of the test process; lives as long as the process.
const quench_host* test_host();

// Kit code of a program whose sources include this header uses test_host() from its start.
inline const bool host_is_installed = (kit::current_host = test_host(), true);

// The instruction sets that this processor has, QUENCH_INSTRUCTIONS_*, the widest last; without
// that which must be asked for.
std::vector<int32_t> available_instructions();
bool has_avx512_bf16();

// What the processor service answers: what QUENCH_ISA names or, where it is not set, the widest
// that there is; for the life of a UseInstructions, the one that it was made with.
class UseInstructions {
 public:
  explicit UseInstructions(int32_t instructions);
  ~UseInstructions();
  UseInstructions(const UseInstructions&) = delete;
  UseInstructions& operator=(const UseInstructions&) = delete;

 private:
  int32_t before_;
};

// Blocks that plugins got from the host's memory and have not given back.
int64_t live_allocations();
// Their bytes now, and at most since the peak was last forgotten.
int64_t allocated_bytes();
int64_t peak_allocated_bytes();
void forget_peak_allocated_bytes();

// From here on memory requests of more than `bytes` fail, as if there were none left; UINT64_MAX
// lifts that.
void limit_allocation(uint64_t bytes);

// What the cancel service answers.
void request_cancel(bool requested);

// Messages logged so far, of all levels.
std::vector<std::string> logged();

}  // namespace quench::test
