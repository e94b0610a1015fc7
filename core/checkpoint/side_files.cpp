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

void copy_beside(const fs::path& from, const fs::path& folder) {
  write_file_atomically(folder / from.filename(), read_file(from, kMaxSideFile));
}

}  // namespace

void copy_side_files(const fs::path& from, const fs::path& tokenizer, const fs::path& to) {
  std::error_code ignored;
  const fs::path generation = from / "generation_config.json";
  if (fs::is_regular_file(generation, ignored)) {
    copy_beside(generation, to);
  }
  if (!tokenizer.empty() && !fs::is_directory(tokenizer)) {
    copy_beside(tokenizer, to);
    return;
  }
  for (const char* name : kTokenizerFiles) {
    const fs::path file = (tokenizer.empty() ? from : tokenizer) / name;
    if (fs::is_regular_file(file, ignored)) {
      copy_beside(file, to);
    }
  }
}

void check_space(const fs::path& folder, uint64_t needed) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (!unknown && space.available < needed) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: {} bytes needed, {} available", folder.string(), needed,
         space.available);
  }
}

}  // namespace quench
