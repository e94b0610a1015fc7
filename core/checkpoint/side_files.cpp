#include "core/checkpoint/side_files.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxSideFile = uint64_t{1} << 30;

struct TokenizerFile {
  const char* name;
  bool has_vocabulary;
};
constexpr TokenizerFile kTokenizerFiles[] = {
    {"tokenizer.json", true},           {"tokenizer.model", true}, {"tokenizer_config.json", false},
    {"special_tokens_map.json", false}, {"vocab.json", true},      {"merges.txt", true},
    {"added_tokens.json", false},       {"vocab.txt", true},       {"spiece.model", true},
    {"chat_template.jinja", false}};

bool has_vocabulary(const fs::path& folder) {
  return std::any_of(std::begin(kTokenizerFiles), std::end(kTokenizerFiles),
                     [&](const TokenizerFile& file) {
                       return file.has_vocabulary && is_file_at(folder / file.name);
                     });
}

}  // namespace

std::vector<fs::path> side_files(const fs::path& from, const fs::path& tokenizer) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& file) {
    if (is_file_at(file)) {
      files.push_back(file);
    }
  };
  add(from / "generation_config.json");
  if (!tokenizer.empty() && !is_folder_at(tokenizer)) {
    files.push_back(tokenizer);
    return files;
  }
  for (const TokenizerFile& file : kTokenizerFiles) {
    add((tokenizer.empty() ? from : tokenizer) / file.name);
  }
  return files;
}

void copy_side_files(const CheckpointFolder& from, const fs::path& tokenizer, const fs::path& to,
                     WrittenFiles& list) {
  for (const fs::path& file : side_files(from.path, tokenizer)) {
    write_file_atomically(to / file.filename(), read_file(file, kMaxSideFile), &list);
  }
  if (tokenizer.empty() && from.carried_tokenizer && !has_vocabulary(from.path)) {
    write_file_atomically(to / from.carried_tokenizer->name, from.carried_tokenizer->bytes, &list);
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
