#include "tokenizers/tokenizer_json/known_members.hpp"

#include <algorithm>
#include <span>

namespace quench::tokenizers {

namespace {

constexpr std::string_view kOfFile[] = {
    "version", "normalizer", "pre_tokenizer", "model", "added_tokens", "post_processor",
    // Settings of calls: here every text is encoded whole, and none is filled up.
    "truncation", "padding",
    // For the way from ids to text.
    "decoder"};

constexpr std::string_view kOfModel[] = {"type", "vocab", "merges", "dropout", "unk_token",
                                         "continuing_subword_prefix", "end_of_word_suffix",
                                         "fuse_unk", "byte_fallback", "ignore_merges",
                                         // How many words the library remembers.
                                         "cache_capacity"};

void add_unknown(const Entry& object, std::span<const std::string_view> known,
                 const std::string& prefix, std::string& unknown) {
  constexpr size_t kShownBytes = 300;
  object.value().each_member([&](std::string_view key, const kit::JsonValue&) {
    if (std::find(known.begin(), known.end(), key) == known.end() && unknown.size() < kShownBytes) {
      unknown += (unknown.empty() ? "" : ", ") + prefix + printable(key, 40);
    }
  });
}

}  // namespace

void warn_of_unknown_members(const Entry& root) {
  std::string unknown;
  add_unknown(root, kOfFile, "", unknown);
  add_unknown(root.member("model"), kOfModel, "model.", unknown);
  if (!unknown.empty()) {
    kit::log(QUENCH_LOG_WARNING,
             fmt::format("{}: {}: not known, taken to change no ids", root.file(), unknown));
  }
}

}  // namespace quench::tokenizers
