#include "core/store/sealed_line.hpp"

#include <algorithm>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr std::string_view kSeal = ",\"sha256\":\"";
constexpr size_t kDigits = 64;
constexpr size_t kTail = kSeal.size() + kDigits + 2;  // the digits, '"' and '}'

}  // namespace

std::string seal(std::string_view name, std::string_view body) {
  std::string line;
  line.reserve(name.size() + body.size() + kTail + 4);
  line.append("{\"").append(name).append("\":").append(body).append(kSeal);
  line.append(sha256_hex(body)).append("\"}");
  return line;
}

Unsealed unseal(std::string_view name, std::string_view line) {
  if (std::all_of(line.begin(), line.end(), [](char c) { return c == '\0'; })) {
    return {{}, line.empty() ? "an empty line" : "a line of zeros"};
  }
  const size_t head = name.size() + 4;
  const bool begins = line.size() > head && line.substr(0, 2) == "{\"" &&
                      line.substr(2, name.size()) == name && line.substr(head - 2, 2) == "\":";
  if (!begins) {
    return {{}, "it does not begin as a sealed line"};
  }
  if (line.size() < head + kTail || !line.ends_with("\"}") ||
      line.substr(line.size() - kTail, kSeal.size()) != kSeal) {
    return {{}, "it is cut short: no checksum at its end"};
  }
  const std::string_view body = line.substr(head, line.size() - head - kTail);
  if (sha256_hex(body) != line.substr(line.size() - kDigits - 2, kDigits)) {
    return {{}, "the checksum does not match"};
  }
  return {body, nullptr};
}

std::string sealed_file_text(const std::string& path, std::string_view name, std::string_view body,
                             size_t limit) {
  std::string out = seal(name, body) + "\n";
  if (out.size() > limit || body.find('\n') != std::string_view::npos) {
    fail(QUENCH_INTERNAL, "{}: would be written as {} bytes of {} lines, wanted at most {} of one",
         path, out.size(), std::count(out.begin(), out.end(), '\n'), limit);
  }
  return out;
}

std::string read_sealed_file(const std::string& path, std::string_view name, size_t limit) {
  const File file(path);
  if (file.size() > limit) {
    fail(QUENCH_DATA_LOSS, "{}: {} bytes, wanted at most {}", path, file.size(), limit);
  }
  std::string content(file.size(), '\0');
  file.read(0, content.data(), content.size());
  std::string_view line = content;
  if (line.ends_with('\n')) {
    line.remove_suffix(1);
  }
  const Unsealed unsealed = unseal(name, line);
  if (unsealed.fault != nullptr) {
    fail(QUENCH_DATA_LOSS, "{}: {}", path, unsealed.fault);
  }
  return std::string(unsealed.body);
}

}  // namespace quench
