// Text methods with the behaviour of Python's str, because published prompts were made with them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quench::tasks {

// The number of code points in UTF-8 text; a byte that belongs to none counts as one.
size_t length_of(std::string_view text);

// Removes the characters in `characters` from both ends. If it is empty, removes white space as
// defined by str.isspace(), which includes the no-break space and the separators 0x1c to 0x1f.
std::string strip(std::string_view text, std::string_view characters = {});
std::string strip_left(std::string_view text, std::string_view characters = {});
std::string strip_right(std::string_view text, std::string_view characters = {});

// Handles characters whose other case is several characters (SpecialCasing.txt), and the sigma at
// the end of a word.
std::string lower(std::string_view text);
std::string upper(std::string_view text);
// The first character in title case, all others in lower case.
std::string capitalize(std::string_view text);

std::string replace(std::string_view text, std::string_view what, std::string_view by);

// Bytes that a text may have after a template has rewritten it. The longest prompts of known tasks
// have about 100,000.
inline constexpr size_t kMostText = size_t{16} << 20;
// Throws INVALID_ARGUMENT if a text would become longer than that.
void check_length(size_t bytes);
// The text from code point `first` on.
std::string from(std::string_view text, size_t first);

}  // namespace quench::tasks
