#include "core/checkpoint/side_files.hpp"

#include <system_error>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxSideFile = uint64_t{1} << 30;
constexpr const char* kTokenizerFiles[] = {
    "tokenizer.json", "tokenizer.model",    "tokenizer_config.json", "special_tokens_map.json",
    "vocab.json",     "merges.txt",         "added_tokens.json",     "vocab.txt",
    "spiece.model",   "chat_template.jinja"};

}  // namespace

std::vector<fs::path> side_files(const fs::path& from, const fs::path& tokenizer) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& file) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) {
      files.push_back(file);
    }
  };
  add(from / "generation_config.json");
  if (!tokenizer.empty() && !fs::is_directory(tokenizer)) {
    files.push_back(tokenizer);
    return files;
  }
  for (const char* name : kTokenizerFiles) {
    add((tokenizer.empty() ? from : tokenizer) / name);
  }
  return files;
}

void copy_side_files(const fs::path& from, const fs::path& tokenizer, const fs::path& to,
                     WrittenFiles& list) {
  for (const fs::path& file : side_files(from, tokenizer)) {
    write_file_atomically(to / file.filename(), read_file(file, kMaxSideFile), &list);
  }
}

void check_space(const fs::path& folder, uint64_t needed) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (!unknown && space.available < needed) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: needs {} bytes, {} are available", folder.string(), needed,
         space.available);
  }
}

}  // namespace quench
