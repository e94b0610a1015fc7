#include "core/text/tokenizer.hpp"

#include "core/io/file.hpp"
#include "core/json/parse_json.hpp"
#include "core/text/limits.hpp"
#include "core/text/pipeline.hpp"
#include "core/text/sentencepiece/pipeline.hpp"

namespace quench::text {

namespace {

// A vocabulary of 2^24 entries with as many merges, pairs included, stays below these.
constexpr JsonLimits kLimits{kFileLimitBytes, 64, size_t{1} << 27};

class BytePipeline final : public Tokenizer::Pipeline {
 public:
  std::vector<int32_t> encode(std::string_view text, bool /*add_special_tokens*/) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size());
    for (const char byte : text) {
      ids.push_back(static_cast<unsigned char>(byte));
    }
    return ids;
  }
  size_t vocabulary_size() const override { return 256; }
};

}  // namespace

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  const std::string content = read_file(path, kFileLimitBytes);
  return path.extension() == ".model" ? from_sentencepiece(content, path.string())
                                      : from_json(content, path.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
  const nlohmann::json root = parse_json(text, name, kLimits);
  return Tokenizer(make_pipeline(Entry(root, name)));
}

Tokenizer Tokenizer::from_sentencepiece(std::string_view bytes, const std::string& name) {
  return Tokenizer(make_sentencepiece_pipeline(bytes, name));
}

Tokenizer Tokenizer::bytes() {
  return Tokenizer(std::make_shared<BytePipeline>());
}

std::vector<int32_t> Tokenizer::encode(std::string_view utf8, bool add_special_tokens) const {
  return pipeline_->encode(utf8, add_special_tokens);
}

size_t Tokenizer::vocabulary_size() const {
  return pipeline_->vocabulary_size();
}

std::filesystem::path tokenizer_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return path;
  }
  const auto model = path / "tokenizer.model";
  const auto json = path / "tokenizer.json";
  const bool only_model =
      !std::filesystem::exists(json, error) && std::filesystem::exists(model, error);
  return only_model ? model : json;
}

}  // namespace quench::text
