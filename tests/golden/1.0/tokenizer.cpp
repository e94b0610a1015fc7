// golden_tokenizer: words by their place in a list.
//
// The file *.words has one word a line; a word's id is the number of its line, from 0. A text is
// what stands between its spaces and line ends, and the first line stands for words that are not
// there.
//
//   checkpoints: {model: ..., tokenizer: my.words}
//
// Which tokenizer reads a file is asked of `probe`; a manifest names the file alone.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quench/kit/tokenizer.hpp"

namespace kit = quench::kit;

namespace {

class GoldenTokenizer final : public kit::Tokenizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::FileHead& file) {
    if (file.bytes.empty() || !file.name.ends_with(".words")) {
      return 0;
    }
    return file.name == "tokenizer.words" ? QUENCH_TOKENIZER_BY_NAME : 50;
  }

  GoldenTokenizer(const Params&, std::string_view file, const std::string& name) {
    while (!file.empty()) {
      const std::string_view line = file.substr(0, file.find('\n'));
      file.remove_prefix(std::min(line.size() + 1, file.size()));
      if (!ids_.emplace(line, static_cast<int32_t>(ids_.size())).second) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: line %zu: the word is there twice", name.c_str(),
                  ids_.size() + 1);
      }
    }
    kit::expects(!ids_.empty(), (name + ": has no words").c_str());
  }

  size_t vocabulary_size() const override { return ids_.size(); }

  std::vector<int32_t> encode(std::string_view text, bool /*add_special*/) const override {
    std::vector<int32_t> ids;
    while (!text.empty()) {
      const std::string word(text.substr(0, text.find_first_of(" \n")));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      if (!word.empty()) {
        const auto found = ids_.find(word);
        ids.push_back(found != ids_.end() ? found->second : 0);
      }
    }
    return ids;
  }

 private:
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace

QUENCH_MODULE("golden_tokenizer", "0.1.0",
              kit::tokenizer<GoldenTokenizer>({.id = "golden_tokenizer",
                                               .version = "0.1.0",
                                               .summary = "Words by their place in a list."}))
