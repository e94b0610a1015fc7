#include "core/inputs/corpora/tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/parameters.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;
constexpr uint64_t kMostConfigBytes = uint64_t{64} << 20;

EncodedBatch bytes_of(const TextBatch& batch) {
  EncodedBatch out;
  out.offsets = batch.offsets();
  out.ids.reserve(batch.bytes());
  for (const char byte : batch.text()) {
    out.ids.push_back(static_cast<unsigned char>(byte));
  }
  return out;
}

// The text of a token as tokenizer_config.json has it: itself, or an object with `content`.
std::string text_of(const nlohmann::json& config, const char* token) {
  const auto found = config.find(token);
  if (found == config.end()) {
    return "";
  }
  const nlohmann::json& text =
      found->is_object() && found->contains("content") ? found->at("content") : *found;
  return text.is_string() ? text.get<std::string>() : "";
}

// The object in tokenizer_config.json; an empty one where there is none.
nlohmann::json settings_in(const fs::path& config) {
  nlohmann::json root = nlohmann::json::object();
  if (is_file_at(config)) {
    root = parse_json(read_file(config, kMostConfigBytes), config.string());
  }
  return root.is_object() ? root : nlohmann::json::object();
}

// The ids that stand for a token's text; none where it cannot be encoded.
std::vector<int32_t> ids_of(Tokenizer& tokenizer, const std::string& text) {
  try {
    return tokenizer.encode(text, false);
  } catch (const Error& error) {
    if (error.code() != QUENCH_INVALID_ARGUMENT) {
      throw;
    }
    return {};
  }
}

// Loaders add such a token where the tokenizer's file has not got it, and go by one of the two
// where they differ. A file that lists no added tokens may keep control tokens out of texts.
void check_added_tokens(Tokenizer& tokenizer, const fs::path& config, bool lists_added_tokens) {
  const nlohmann::json root = settings_in(config);
  const auto list = root.find("added_tokens_decoder");
  if (list == root.end() || !list->is_object()) {
    return;
  }
  for (const auto& [id, token] : list->items()) {
    const std::string text = text_of(*list, id.c_str());
    const std::vector<int32_t> ids =
        text.empty() ? std::vector<int32_t>() : ids_of(tokenizer, text);
    if (text.empty() || (ids.size() == 1 && std::to_string(ids.front()) == id) ||
        (ids.size() != 1 && !lists_added_tokens)) {
      continue;
    }
    fail(QUENCH_UNSUPPORTED,
         "{}: added_tokens_decoder: '{}' has id {}, and in the tokenizer's file {}: make the two "
         "agree",
         config.string(), printable(text, 40), printable(id, 20),
         ids.size() == 1 ? fmt::format("id {}", ids.front()) : "there is no such token");
  }
}

}  // namespace

std::string TokenizerIdentity::key() const {
  return plugin == nullptr ? file
                           : fmt::format("{} {} {} {}", file, plugin->id, plugin->code.dump(),
                                         computing_libraries(plugin->links).dump());
}

Tokenizer Tokenizer::open(Catalog& catalog, const fs::path& file) {
  const CarriedFile read{file.filename().string(), read_file(file, kMostFileBytes)};
  Tokenizer out = open(catalog, read, file.string());
  const fs::path config = file.parent_path() / "tokenizer_config.json";
  check_added_tokens(out, config, read.bytes.find(R"("added_tokens")") != std::string::npos);
  out.compare_with(config);
  return out;
}

Tokenizer Tokenizer::open(Catalog& catalog, const CarriedFile& file, const std::string& where) {
  const PluginDescription& plugin =
      choose_tokenizer_plugin(catalog, FileHead::of(file.name, file.bytes), where);
  return Tokenizer(TokenizerHandle(catalog, plugin, file.bytes, where, default_parameters(plugin)),
                   {sha256_hex(file.bytes), &plugin});
}

// Loaders let these flags, where they are set, outweigh the tokenizer's own file, or do not, by
// version and class.
void Tokenizer::compare_with(const fs::path& config) {
  const nlohmann::json root = settings_in(config);
  for (const auto& [flag, token, behind] :
       {std::tuple{"add_bos_token", "bos_token", false}, {"add_eos_token", "eos_token", true}}) {
    const auto set = root.find(flag);
    if (set == root.end() || !set->is_boolean() || !doubt_.empty()) {
      continue;
    }
    const std::vector<int32_t> around = encode("", true);
    const std::optional<int32_t> id = single_id(text_of(root, token));
    const bool there = !around.empty() && (!id || (behind ? around.back() : around.front()) == *id);
    if (set->get<bool>() && !there) {
      doubt_ = fmt::format("{}: {} is true, and the tokenizer's file puts no such token {} a text",
                           config.string(), flag, behind ? "behind" : "before");
    } else if (!set->get<bool>() && there && id) {
      doubt_ = fmt::format("{}: {} is false, and the tokenizer's file puts '{}' {} a text",
                           config.string(), flag, printable(text_of(root, token), 40),
                           behind ? "behind" : "before");
    }
  }
}

std::optional<int32_t> Tokenizer::single_id(const std::string& token) {
  const std::vector<int32_t> ids = token.empty() ? std::vector<int32_t>() : encode(token, false);
  return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

EncodedBatch Tokenizer::encode(const TextBatch& batch, bool add_special) {
  if (add_special && !doubt_.empty()) {
    fail(QUENCH_UNSUPPORTED, "{}: make the two agree", doubt_);
  }
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

WrittenTokenizer read_tokenizer_name(const Catalog& catalog, const std::string& written,
                                     const fs::path& folder) {
  const size_t colon = written.find(':');
  if (colon == std::string::npos || colon + 1 == written.size() || written.starts_with("hf:") ||
      written.find('/') < colon || exists_at(folder / written)) {
    return {written};
  }
  return {written.substr(colon + 1),
          &catalog.require(QUENCH_KIND_TOKENIZER, written.substr(0, colon))};
}

namespace {

// Why a folder has no tokenizer: there is no such file, or none that a plugin reads.
std::string tokenizer_absence(Catalog& catalog, const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    const fs::path file = folder / name;
    try {
      if (is_file_at(file)) {
        refuse_lfs_pointer(File(file));
        choose_tokenizer_plugin(catalog, file);
      }
    } catch (const Error& error) {
      return error.what();
    }
  }
  return folder.string() + ": has no file of a tokenizer";
}

}  // namespace

std::string take_tokenizer(Catalog& catalog, const WrittenTokenizer& written,
                           const fs::path& folder) {
  if (written.path == "bytes") {
    return written.path;
  }
  const std::string file =
      tokenizer_file(catalog, folder / written.path).lexically_normal().string();
  const auto [named, added] = catalog.tokenizers().emplace(file, written.plugin);
  if (!added && named->second != written.plugin) {
    const auto shown = [](const PluginDescription* plugin) {
      return plugin == nullptr ? "none" : plugin->id;
    };
    fail(QUENCH_INVALID_ARGUMENT, "tokenizer {}: got the plugins {} and {}, wanted one for a file",
         printable(file, 4096), shown(named->second), shown(written.plugin));
  }
  return file;
}

fs::path tokenizer_file(Catalog& catalog, const fs::path& path) {
  if (!is_folder_at(path)) {
    return path;
  }
  const std::optional<fs::path> file = find_tokenizer_file(catalog, path);
  if (!file) {
    fail(QUENCH_NOT_FOUND, "{}", tokenizer_absence(catalog, path));
  }
  return *file;
}

TokenizerChoice::TokenizerChoice(std::optional<std::string> path, std::string missing_message)
    : path_(std::move(path)), missing_message_(std::move(missing_message)) {}

TokenizerChoice TokenizerChoice::beside(Catalog& catalog, const std::filesystem::path& folder) {
  if (const auto file = find_tokenizer_file(catalog, folder)) {
    return TokenizerChoice(file->string(), "");
  }
  return TokenizerChoice(std::nullopt,
                         fmt::format("{}, and text is to be tokenized; name a tokenizer, or give "
                                     "token ids",
                                     tokenizer_absence(catalog, folder)));
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
