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
  kAvx512Bf16 = QUENCH_INSTRUCTIONS_AVX512_BF16,
};

// "portable", "avx2", "avx512", "avx512_bf16"
const char* to_text(InstructionSet instructions);

// For keys: the same, but "portable" with the architecture, which decides its arithmetic.
std::string key_text(InstructionSet instructions);

// The sets that this processor has, the widest last.
std::vector<InstructionSet> available_instruction_sets();

// The set that QUENCH_ISA names or, if it is not set, the widest but kAvx512Bf16, which makes other
// values of the same model. Fails with INVALID_ARGUMENT if the name is unknown or the processor
// lacks the set.
InstructionSet choose_instruction_set(
    const std::optional<std::string>& wanted,
    const std::vector<InstructionSet>& available = available_instruction_sets());

// Sets the variables by which libtorch and oneDNN choose their kernels; both read them when they
// are loaded. oneDNN's extensions of AVX-512 (bfloat16, tiles) are excluded: they would make two
// machines with one key differ.
void bind_libraries_to(InstructionSet instructions);

}  // namespace quench
