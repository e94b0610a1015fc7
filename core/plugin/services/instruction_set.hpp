// The instruction set of all kernels in this process. It is decided once, before any plugin is
// loaded: by the processor, or by the user with QUENCH_ISA. Libraries follow it too, and keys
// contain it, so that a result depends on nothing else about the processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quench/abi/host.h"

namespace quench {

enum class InstructionSet : int32_t {
  kPortable = QUENCH_INSTRUCTIONS_PORTABLE,
  kAvx2 = QUENCH_INSTRUCTIONS_AVX2,
  kAvx512 = QUENCH_INSTRUCTIONS_AVX512,
};

// "portable", "avx2", "avx512"
const char* to_text(InstructionSet instructions);

// For keys: "avx512", "avx2", or "portable" with the architecture, which decides its arithmetic.
std::string key_text(InstructionSet instructions);

// The sets that this processor has, the widest last.
std::vector<InstructionSet> available_instruction_sets();

// The set that QUENCH_ISA names, or the widest if it is not set. Fails with INVALID_ARGUMENT if the
// name is unknown or the processor lacks the set.
InstructionSet choose_instruction_set(const std::optional<std::string>& wanted);

// Sets the variables by which libtorch and oneDNN choose their kernels; both read them when they
// are loaded. oneDNN's extensions of AVX-512 (bfloat16, tiles) are excluded: they would make two
// machines with one key differ.
void bind_libraries_to(InstructionSet instructions);

}  // namespace quench
