#include "core/run/keep_average.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/checkpoint/safetensors_writer.hpp"
#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/io/new_folder.hpp"
#include "core/json/parse_json.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/average_card.hpp"
#include "core/run/average_identity.hpp"
#include "core/run/average_pass.hpp"
#include "core/run/experiment.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxSideFile = uint64_t{1} << 30;
constexpr const char* kTokenizerFiles[] = {
    "tokenizer.json", "tokenizer.model",    "tokenizer_config.json", "special_tokens_map.json",
    "vocab.json",     "merges.txt",         "added_tokens.json",     "vocab.txt",
    "spiece.model",   "chat_template.jinja"};
// Keys that say nothing about what the weights compute.
const std::set<std::string> kIdleKeys = {"_name_or_path", "transformers_version", "torch_dtype",
                                         "dtype", "use_cache"};

// Weights in one file or in shards of at most `shard_bytes` each, written tensor by tensor.
class ShardedWriter {
 public:
  ShardedWriter(const fs::path& folder, const TensorSource& tensors, uint64_t shard_bytes)
      : folder_(folder), tensors_(tensors), shard_of_(tensors.count()) {
    uint64_t filled = 0;
    for (const uint64_t index : name_order(tensors)) {
      const TensorInfo& tensor = tensors.info(index);
      const uint64_t bytes = *element_count(tensor.shape) * dtype_size(tensor.dtype);
      if (shards_.empty() || (filled > 0 && bytes > shard_bytes - std::min(shard_bytes, filled))) {
        shards_.emplace_back();
        filled = 0;
      }
      shards_.back().push_back(index);
      shard_of_[index] = shards_.size() - 1;
      filled += bytes;
      total_ += bytes;
    }
  }

  uint64_t total_bytes() const { return total_; }

  void write(uint64_t index, const void* data, uint64_t bytes) {
    if (!writer_ || shard_of_[index] != open_) {
      finish_shard();
      open_shard();
    }
    writer_->write(data, bytes);
  }

  void finish() {
    finish_shard();
    while (opened_ < shards_.size()) {  // of empty tensors alone
      open_shard();
      finish_shard();
    }
    if (shards_.size() > 1) {
      write_index();
    }
  }

 private:
  std::string file_name(size_t shard) const {
    return shards_.size() <= 1
               ? "model.safetensors"
               : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards_.size());
  }

  void open_shard() {
    open_ = opened_++;
    writer_.emplace(folder_ / file_name(open_),
                    std::map<std::string, std::string>{{"format", "pt"}});
    for (const uint64_t index : shards_[open_]) {
      writer_->declare(tensors_.info(index));
    }
  }

  void finish_shard() {
    if (writer_) {
      writer_->finish();
      writer_.reset();
    }
  }

  void write_index() const {
    nlohmann::json map = nlohmann::json::object();
    for (size_t shard = 0; shard < shards_.size(); ++shard) {
      for (const uint64_t index : shards_[shard]) {
        map[tensors_.info(index).name] = file_name(shard);
      }
    }
    const nlohmann::json document = {{"metadata", {{"total_size", total_}}}, {"weight_map", map}};
    write_file_atomically(folder_ / "model.safetensors.index.json", document.dump(2) + "\n");
  }

  fs::path folder_;
  const TensorSource& tensors_;
  std::vector<std::vector<uint64_t>> shards_;  // indices of tensors
  std::vector<size_t> shard_of_;               // [tensor]
  std::optional<SafetensorsWriter> writer_;
  size_t open_ = 0;
  size_t opened_ = 0;
  uint64_t total_ = 0;
};

void check_space(const fs::path& folder, uint64_t needed) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (!unknown && space.available < needed) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: {} bytes needed, {} available", folder.string(), needed,
         space.available);
  }
}

void warn_where_configs_differ(const std::vector<KeptMember>& members) {
  const KeptMember& last = members.back();
  const auto parsed = [](const KeptMember& member) {
    return parse_json(member.folder.config_json, (member.folder.path / "config.json").string());
  };
  if (last.folder.config_json.empty()) {
    return;
  }
  const nlohmann::json wanted = parsed(last);
  std::set<std::string> keys;
  for (const KeptMember& member : members) {
    if (member.folder.config_json.empty() || member.folder.config_json == last.folder.config_json) {
      continue;
    }
    const nlohmann::json got = parsed(member);
    for (const auto* config : {&wanted, &got}) {
      for (const auto& [key, value] : config->items()) {
        if (!kIdleKeys.contains(key) &&
            (!wanted.contains(key) || !got.contains(key) || wanted.at(key) != got.at(key))) {
          keys.insert(printable(key));
        }
      }
    }
  }
  if (!keys.empty()) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("the members' configs differ in {}; the last member's is kept",
                    fmt::join(keys, ", ")));
  }
}

// The last member's config with the element type that the weights have now.
void write_config(const KeptMember& last, quench_dtype dtype, const fs::path& folder) {
  if (last.folder.config_json.empty()) {
    return;
  }
  nlohmann::json config =
      parse_json(last.folder.config_json, (last.folder.path / "config.json").string());
  if (config.is_object()) {
    config[config.contains("dtype") ? "dtype" : "torch_dtype"] = dtype_text(dtype);
  }
  write_file_atomically(folder / "config.json", config.dump(2) + "\n");
}

void copy_beside(const fs::path& from, const fs::path& folder) {
  write_file_atomically(folder / from.filename(), read_file(from, kMaxSideFile));
}

void copy_side_files(const KeptMember& last, const fs::path& tokenizer, const fs::path& folder) {
  std::error_code ignored;
  const fs::path generation = last.folder.path / "generation_config.json";
  if (fs::is_regular_file(generation, ignored)) {
    copy_beside(generation, folder);
  }
  if (!tokenizer.empty() && !fs::is_directory(tokenizer)) {
    copy_beside(tokenizer, folder);
    return;
  }
  for (const char* name : kTokenizerFiles) {
    const fs::path file = (tokenizer.empty() ? last.folder.path : tokenizer) / name;
    if (fs::is_regular_file(file, ignored)) {
      copy_beside(file, folder);
    }
  }
}

std::string card_text(const AveragingCell& averaging, const std::vector<KeptMember>& members,
                      const fs::path& folder, const KeepOptions& options, const KeptAverage& kept) {
  AverageCard card;
  card.name = folder.filename().string();
  card.averaging = &averaging;
  card.dtype = options.dtype;
  card.searched = !options.weights.empty();
  card.identity = kept.identity;
  card.manifest = options.manifest;
  for (size_t i = 0; i < members.size(); ++i) {
    const KeptMember& member = members[i];
    card.members.push_back({member.location, member.commit, member.step, member.tokens,
                            card.searched ? options.weights[i] : 0, kept.member_hashes[i]});
  }
  return average_card(card);
}

}  // namespace

AverageMember average_member(const KeptMember& member) {
  return {member.name, member.step, member.tokens, member.folder.source};
}

KeptAverage keep_average(Catalog& catalog, const AveragingCell& averaging,
                         const std::vector<KeptMember>& members, const fs::path& folder,
                         const KeepOptions& options) {
  NewFolder target(folder);
  std::vector<AverageMember> sources;
  std::transform(members.begin(), members.end(), std::back_inserter(sources), average_member);
  const AverageSource average(catalog, averaging, sources,
                              {options.dtype, options.weights, options.threads});
  warn_where_configs_differ(members);
  ShardedWriter writer(target.temporary(), average, options.shard_bytes);
  check_space(target.temporary(), writer.total_bytes());

  AveragePass pass;
  pass.threads = options.threads;
  pass.on_progress = options.on_progress;
  pass.take = [&](uint64_t index, const void* data, uint64_t bytes) {
    writer.write(index, data, bytes);
  };
  const std::vector<std::string> hashes = run_average_pass(average, pass);
  writer.finish();

  KeptAverage kept{"", std::vector<std::string>(members.size()), writer.total_bytes()};
  for (size_t i = 0; i < hashes.size(); ++i) {
    kept.member_hashes[average.order()[i]] = hashes[i];
  }
  kept.identity =
      average_identity(averaging, sources, kept.member_hashes, options.dtype, options.weights);
  write_config(members.back(), options.dtype, target.temporary());
  copy_side_files(members.back(), options.tokenizer, target.temporary());
  write_file_atomically(target.temporary() / "README.md",
                        card_text(averaging, members, target.path(), options, kept));
  target.commit();
  return kept;
}

}  // namespace quench
