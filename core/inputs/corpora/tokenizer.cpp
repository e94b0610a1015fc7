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

// All parameters of a tokenizer have defaults, because a manifest names only the file.
nlohmann::json default_parameters(const PluginDescription& plugin) {
  std::vector<ParameterProblem> problems;
  nlohmann::json out = complete_parameters(plugin, nlohmann::json::object(), problems);
  if (!problems.empty()) {
    fail(QUENCH_UNSUPPORTED, "tokenizer {}: parameter {}", plugin.id, problems.front().message);
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

}  // namespace quench
