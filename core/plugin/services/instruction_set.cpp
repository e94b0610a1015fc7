#include "core/plugin/services/instruction_set.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.hpp"

namespace quench {

namespace {

struct Form {
  InstructionSet instructions;
  const char* name;
  const char* libtorch;  // ATEN_CPU_CAPABILITY
  const char* onednn;    // ONEDNN_MAX_CPU_ISA
};

constexpr Form kForms[] = {
    {InstructionSet::kPortable, "portable", "default", "SSE41"},
    {InstructionSet::kAvx2, "avx2", "avx2", "AVX2"},
    {InstructionSet::kAvx512, "avx512", "avx512", "AVX512_CORE"},
    {InstructionSet::kAvx512Bf16, "avx512_bf16", "avx512", "AVX512_CORE"},
};

const Form& form_of(InstructionSet instructions) {
  return kForms[static_cast<size_t>(instructions)];
}

bool has(InstructionSet instructions) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  switch (instructions) {
    case InstructionSet::kPortable:
      return true;
    case InstructionSet::kAvx2:
      return avx2;
    case InstructionSet::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0;
    case InstructionSet::kAvx512Bf16:
      return has(InstructionSet::kAvx512) && __builtin_cpu_supports("avx512bf16") != 0;
  }
#endif
  return instructions == InstructionSet::kPortable;
}

}  // namespace

const char* to_text(InstructionSet instructions) {
  return form_of(instructions).name;
}

std::string key_text(InstructionSet instructions) {
  if (instructions != InstructionSet::kPortable) {
    return to_text(instructions);
  }
  utsname system{};
  uname(&system);
  return fmt::format("portable {}", system.machine);
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> found;
  for (const Form& form : kForms) {
    if (has(form.instructions)) {
      found.push_back(form.instructions);
    }
  }
  return found;
}

InstructionSet choose_instruction_set(const std::optional<std::string>& wanted,
                                      const std::vector<InstructionSet>& available) {
  if (!wanted) {
    return std::min(available.back(), InstructionSet::kAvx512);
  }
  for (const Form& form : kForms) {
    if (*wanted != form.name) {
      continue;
    }
    if (std::find(available.begin(), available.end(), form.instructions) == available.end()) {
      fail(QUENCH_INVALID_ARGUMENT,
           "QUENCH_ISA = \"{}\": this processor does not have it, {} at most", *wanted,
           to_text(available.back()));
    }
    return form.instructions;
  }
  fail(QUENCH_INVALID_ARGUMENT,
       "QUENCH_ISA = \"{}\", wanted one of avx512_bf16, avx512, avx2, portable",
       printable(*wanted));
}

void bind_libraries_to(InstructionSet instructions) {
  setenv("ATEN_CPU_CAPABILITY", form_of(instructions).libtorch, 1);
  setenv("ONEDNN_MAX_CPU_ISA", form_of(instructions).onednn, 1);
}

}  // namespace quench
