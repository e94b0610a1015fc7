// A JSON value with the hash of its own spelling: {"<name>":<body>,"sha256":"<hex of body>"}. What
// is kept on disk is kept so; a byte that changed, moved or was lost is seen before anything is
// parsed.
#pragma once

#include <string>
#include <string_view>

namespace quench {

// Without a newline. `body` is canonical JSON, so that it has none either.
std::string seal(std::string_view name, std::string_view body);

struct Unsealed {
  std::string_view body;        // into the line; empty when it does not verify
  const char* fault = nullptr;  // what is wrong, or nullptr
};

// `line` without its newline. Never throws; allocates nothing.
Unsealed unseal(std::string_view name, std::string_view line);

// The body of a file that is one sealed line and a newline. Throws Error: NOT_FOUND when there is
// no such file, DATA_LOSS naming the path when it does not verify or holds more than `limit` bytes.
std::string read_sealed_file(const std::string& path, std::string_view name,
                             size_t limit = size_t{256} << 20);

}  // namespace quench
