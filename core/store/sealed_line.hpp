// A JSON value with the hash of its own text: {"<name>":<body>,"sha256":"<hex of body>"}.
// Everything kept on disk has this form, so a changed, moved or lost byte is noticed before
// anything is parsed.
#pragma once

#include <string>
#include <string_view>

namespace quench {

// Returns the line without a newline. `body` is canonical JSON, so it contains none either.
std::string seal(std::string_view name, std::string_view body);

struct Unsealed {
  std::string_view body;        // view into the line; empty if the line does not verify
  const char* fault = nullptr;  // what is wrong, or nullptr
};

// `line` without its newline. Never throws and allocates nothing.
Unsealed unseal(std::string_view name, std::string_view line);

// The text of a file that read_sealed_file reads with this name and limit. Throws Error(INTERNAL)
// naming the path if it would refuse it, so that nothing is written that cannot be read.
std::string sealed_file_text(const std::string& path, std::string_view name, std::string_view body,
                             size_t limit);

// Reads the body of a file that is one sealed line and a newline. Throws Error: NOT_FOUND if there
// is no file, DATA_LOSS naming the path if it does not verify or exceeds `limit` bytes.
std::string read_sealed_file(const std::string& path, std::string_view name,
                             size_t limit = size_t{256} << 20);

}  // namespace quench
