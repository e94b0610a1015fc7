// --strict, of the verbs that measure.
#pragma once

#include "cli/command_line.hpp"
#include "core/plugin/services/heard_warnings.hpp"

namespace quench {

inline void add_strict_option(Verb& verb) {
  verb.flag("--strict", HeardWarnings::strict(),
            "Refuse checkpoints and tokenizers whose files say what is not known, in place of a "
            "warning");
}

}  // namespace quench
