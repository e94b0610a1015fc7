// Which instruction set the kernels of this process use. Decided once, before any plugin is loaded:
// by the processor, or by the user with QUENCH_ISA. What computes follows it, libraries included,
// and keys say it, so that a result depends on nothing else about the processor.
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

// For keys: "avx512", "avx2", or "portable" with the architecture, whose arithmetic it is.
std::string key_text(InstructionSet instructions);

// Those that this processor has, the widest last.
std::vector<InstructionSet> available_instruction_sets();

// What QUENCH_ISA names, or the widest where it is not set. Fails with INVALID_ARGUMENT where the
// name is unknown or the processor does not have it.
InstructionSet choose_instruction_set(const std::optional<std::string>& wanted);

// Sets the variables by which libtorch and oneDNN choose their kernels; both read them when they
// are loaded. oneDNN's extensions of AVX-512 (bfloat16, tiles) are no part of ours: they would make
// two machines with one key differ.
void bind_libraries_to(InstructionSet instructions);

}  // namespace quench
