#include "core/inputs/corpora/tokenizer.hpp"

#include <utility>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/parameters.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;

EncodedBatch bytes_of(const TextBatch& batch) {
  EncodedBatch out;
  out.offsets = batch.offsets();
  out.ids.reserve(batch.bytes());
  for (const char byte : batch.text()) {
    out.ids.push_back(static_cast<unsigned char>(byte));
  }
  return out;
}

}  // namespace

std::string TokenizerIdentity::key() const {
  return plugin == nullptr ? file
                           : fmt::format("{} {} {} {}", file, plugin->id, plugin->code.dump(),
                                         computing_libraries(plugin->links).dump());
}

Tokenizer Tokenizer::open(Catalog& catalog, const fs::path& file) {
  return open(catalog, {file.filename().string(), read_file(file, kMostFileBytes)}, file.string());
}

Tokenizer Tokenizer::open(Catalog& catalog, const CarriedFile& file, const std::string& where) {
  const PluginDescription& plugin =
      choose_tokenizer_plugin(catalog, FileHead::of(file.name, file.bytes), where);
  return Tokenizer(TokenizerHandle(catalog, plugin, file.bytes, where, default_parameters(plugin)),
                   {sha256_hex(file.bytes), &plugin});
}

EncodedBatch Tokenizer::encode(const TextBatch& batch, bool add_special) {
  return handle_ ? handle_->encode(batch, add_special) : bytes_of(batch);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special) {
  TextBatch batch;
  batch.add(text);
  return encode(batch, add_special).ids;
}

uint64_t Tokenizer::vocabulary_size() const {
  constexpr uint64_t kBytes = 256;
  return handle_ ? handle_->vocabulary_size() : kBytes;
}

fs::path tokenizer_file(Catalog& catalog, const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return path;
  }
  const std::optional<fs::path> file = find_tokenizer_file(catalog, path);
  if (!file) {
    fail(QUENCH_NOT_FOUND, "{}: has no file of a tokenizer", path.string());
  }
  return *file;
}

TokenizerChoice::TokenizerChoice(std::optional<std::string> path, std::string missing_message)
    : path_(std::move(path)), missing_message_(std::move(missing_message)) {}

TokenizerChoice TokenizerChoice::beside(Catalog& catalog, const std::filesystem::path& folder) {
  std::optional<std::string> path;
  if (const auto file = find_tokenizer_file(catalog, folder)) {
    path = file->string();
  }
  return TokenizerChoice(path, fmt::format("{}: has no file of a tokenizer, and text is to be "
                                           "tokenized; name a tokenizer, or give token ids",
                                           folder.string()));
}

TokenizerChoice TokenizerChoice::of(Catalog& catalog, const CheckpointFolder& checkpoint) {
  TokenizerChoice out = beside(catalog, checkpoint.path);
  if (!out.path_ && checkpoint.carried_tokenizer) {
    out.carried_ = checkpoint.carried_tokenizer;
    out.carried_where_ = fmt::format(
        "{}: {}", (checkpoint.files.empty() ? checkpoint.path : checkpoint.files.front()).string(),
        out.carried_->name);
  }
  return out;
}

Tokenizer& TokenizerChoice::get(Catalog& catalog) {
  if (!exists()) {
    fail(QUENCH_NOT_FOUND, "{}", missing_message_);
  }
  if (!tokenizer_) {
    auto opened = std::make_shared<Tokenizer>(open(catalog));
    const TokenizerIdentity& read = opened->identity();
    if (identity_ && identity_->file != read.file) {
      fail(
          QUENCH_UNAVAILABLE,
          "{}: the tokenizer was replaced before it was read (sha256 {} when it was hashed for the "
          "keys, {} now); run the command again",
          path_.value_or(carried_where_), identity_->file.substr(0, 12), read.file.substr(0, 12));
    }
    identity_ = read;
    tokenizer_ = std::move(opened);
  }
  return *tokenizer_;
}

Tokenizer TokenizerChoice::open(Catalog& catalog) const {
  if (!path_) {
    return Tokenizer::open(catalog, *carried_, carried_where_);
  }
  return *path_ == "bytes" ? Tokenizer::bytes() : Tokenizer::open(catalog, *path_);
}

const TokenizerIdentity& TokenizerChoice::identity(Catalog& catalog) {
  if (!identity_) {
    identity_ = measured(catalog);
  }
  return *identity_;
}

TokenizerIdentity TokenizerChoice::measured(Catalog& catalog) const {
  if (!path_ && carried_) {
    const FileHead head = FileHead::of(carried_->name, carried_->bytes);
    return {sha256_hex(carried_->bytes), &choose_tokenizer_plugin(catalog, head, carried_where_)};
  }
  if (!path_ || *path_ == "bytes") {
    return {path_.value_or("none"), nullptr};
  }
  return {sha256_of(File(*path_)), &choose_tokenizer_plugin(catalog, *path_)};
}

}  // namespace quench
