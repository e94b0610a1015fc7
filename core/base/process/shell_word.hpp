// A word as a shell reads it back.
#pragma once

#include <string>
#include <string_view>

namespace quench {

// As it is if a shell takes nothing in it for its own, else in single quotes.
std::string shell_word(std::string_view word);

}  // namespace quench
