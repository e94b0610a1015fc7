// Text as Python's str has it: the prompts of published results were made with its methods.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quench::tasks {

// Code points of a text in UTF-8; a byte that is not part of one counts as one.
size_t length_of(std::string_view text);

// Without the characters of `characters` at the ends; without white space where it is empty (what
// str.isspace() says: the no-break space and the separators 0x1c to 0x1f included).
std::string strip(std::string_view text, std::string_view characters = {});
std::string strip_left(std::string_view text, std::string_view characters = {});
std::string strip_right(std::string_view text, std::string_view characters = {});

// With the characters whose other case is several (SpecialCasing.txt), and the sigma that ends a
// word.
std::string lower(std::string_view text);
std::string upper(std::string_view text);
// The first character in title case, all others lower.
std::string capitalize(std::string_view text);

std::string replace(std::string_view text, std::string_view what, std::string_view by);

// Bytes that a text may have once a template has rewritten it. The longest prompts of known tasks
// have some 100,000.
inline constexpr size_t kMostText = size_t{16} << 20;
// Throws INVALID_ARGUMENT where a text would become longer.
void check_length(size_t bytes);
// From code point `first` on.
std::string from(std::string_view text, size_t first);

}  // namespace quench::tasks
