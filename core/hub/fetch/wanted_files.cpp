#include "core/hub/fetch/wanted_files.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr const char* kBesideWeights[] = {"config.json",
                                          "generation_config.json",
                                          "quantize_config.json",
                                          "quant_config.json",
                                          "tokenizer.json",
                                          "tokenizer.model",
                                          "tokenizer_config.json",
                                          "special_tokens_map.json",
                                          "vocab.json",
                                          "merges.txt",
                                          "added_tokens.json",
                                          "vocab.txt",
                                          "spiece.model",
                                          "chat_template.jinja"};

class Chooser {
 public:
  Chooser(const HubSpec& spec, const std::vector<HubFile>& all,
          const std::function<std::string(const HubFile&)>& content)
      : spec_(spec), all_(all), content_(content) {}

  std::vector<HubFile> take() {
    std::vector<HubFile> out;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(out),
                 [&](const HubFile& file) { return chosen_.contains(file.path); });
    return out;
  }

  void add_all() {
    for (const HubFile& file : all_) {
      chosen_.insert(file.path);
    }
  }

  void add_beside_weights() {
    chosen_.insert(std::begin(kBesideWeights), std::end(kBesideWeights));
  }

  void add_named() {
    size_t found = 0;
    for (const HubFile& file : all_) {
      if (file.path == spec_.file || file.path.starts_with(spec_.file + "/")) {
        chosen_.insert(file.path);
        ++found;
      }
    }
    if (found == 0) {
      fail(QUENCH_NOT_FOUND, "{}: no such file ({})", printable(to_text(spec_), 300), there());
    }
  }

  void add_weights() {
    const bool done = add_one("model.safetensors") || add_shards("model.safetensors.index.json") ||
                      add_one("pytorch_model.bin") || add_shards("pytorch_model.bin.index.json") ||
                      add_ending(".pth") || add_ending(".pt") || add_single(".gguf");
    if (!done) {
      fail(
          QUENCH_NOT_FOUND,
          "{}: no weights: looked for model.safetensors, pytorch_model.bin, .pth, .pt and a single "
          ".gguf ({}); name a file with: quench fetch {}/FILE",
          printable(to_text(spec_), 300), there(), repository_text(spec_));
    }
  }

 private:
  const HubFile* find(const std::string& path) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&](const HubFile& file) { return file.path == path; });
    return found == all_.end() ? nullptr : &*found;
  }

  // Files of the top folder with this ending.
  std::vector<std::string> ending(const std::string& text) const {
    std::vector<std::string> out;
    for (const HubFile& file : all_) {
      if (file.path.ends_with(text) && file.path.find('/') == std::string::npos) {
        out.push_back(file.path);
      }
    }
    return out;
  }

  bool add_one(const std::string& path) {
    return find(path) != nullptr && chosen_.insert(path).second;
  }

  bool add_ending(const std::string& text) {
    const std::vector<std::string> files = ending(text);
    chosen_.insert(files.begin(), files.end());
    return !files.empty();
  }

  bool add_single(const std::string& text) { return ending(text).size() == 1 && add_ending(text); }

  bool add_shards(const std::string& index) {
    const HubFile* file = find(index);
    if (file == nullptr) {
      return false;
    }
    const std::string where = repository_text(spec_) + "/" + index;
    const nlohmann::json document = parse_json(content_(*file), where);
    const auto map = document.is_object() ? document.find("weight_map") : document.end();
    if (!document.is_object() || map == document.end() || !map->is_object()) {
      fail(QUENCH_DATA_LOSS, "{}: has no weight_map, wanted an index of shards", where);
    }
    chosen_.insert(index);
    for (const auto& [tensor, shard] : map->items()) {
      const std::string name = shard.is_string() ? shard.get<std::string>() : "";
      if (find(name) == nullptr) {
        fail(QUENCH_DATA_LOSS, "{}: the shard '{}' is not in the repository", where,
             printable(name));
      }
      chosen_.insert(name);
    }
    return true;
  }

  // "there: a, b and 3 more"
  std::string there() const {
    constexpr size_t kShown = 8;
    std::string out = all_.empty() ? "there: nothing" : "there: ";
    for (size_t i = 0; i < std::min(all_.size(), kShown); ++i) {
      out += (i == 0 ? "" : ", ") + printable(all_[i].path);
    }
    return all_.size() > kShown ? out + fmt::format(" and {} more", all_.size() - kShown) : out;
  }

  const HubSpec& spec_;
  const std::vector<HubFile>& all_;
  const std::function<std::string(const HubFile&)>& content_;
  std::set<std::string> chosen_;
};

}  // namespace

std::vector<HubFile> wanted_files(const HubSpec& spec, Purpose purpose,
                                  const std::vector<HubFile>& all,
                                  const std::function<std::string(const HubFile&)>& content) {
  Chooser chooser(spec, all, content);
  if (!spec.file.empty()) {
    chooser.add_named();
  } else if (purpose == Purpose::kAll) {
    chooser.add_all();
  } else if (purpose == Purpose::kModel) {
    chooser.add_weights();
  }
  if (!spec.dataset && purpose != Purpose::kAll) {
    chooser.add_beside_weights();
  }
  return chooser.take();
}

}  // namespace quench
