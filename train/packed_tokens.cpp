#include "train/packed_tokens.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/arithmetic/build_id.hpp"
#include "core/base/io/atomic_file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/or_null.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/sealed_folder.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int kPackingFormat = 2;
constexpr int kTries = 5;
constexpr uint64_t kIdsPerShard = uint64_t{1} << 26;
constexpr uint64_t kBatchBytes = 16u << 20;  // bytes of text that are tokenized at once
constexpr uint64_t kMaxIndexBytes = 1u << 20;
constexpr uint64_t kBlockBytes = 4096;             // bytes per checksum; a shard may end with fewer
constexpr uint64_t kReadBytes = 64 * kBlockBytes;  // bytes that are read at once
constexpr const char* kIndexFile = "index.json";
constexpr const char* kBlocksFile = "blocks.sums";
constexpr const char* kDocumentsFile = "documents.hashes";
static_assert(kIdsPerShard * 2 % kBlockBytes == 0 && kBatchBytes % kBlockBytes == 0);
constexpr size_t kNarrowVocabulary = 65536;

Tokenizer open_tokenizer(Catalog& catalog, const std::string& path) {
  return path == "bytes" ? Tokenizer::bytes() : Tokenizer::open(catalog, path);
}

std::string shard_name(size_t shard) {
  return fmt::format("{:06}.ids", shard);
}

uint64_t blocks_of(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes;
}

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Reads a file that holds numbers as they are in memory.
std::vector<uint64_t> read_numbers(const fs::path& path, uint64_t count) {
  const File file(path);
  std::vector<uint64_t> out(count);
  if (file.size() != count * sizeof(uint64_t)) {
    fail(QUENCH_DATA_LOSS, "{}: has {} bytes, wanted {}", path.string(), file.size(),
         count * sizeof(uint64_t));
  }
  file.read(0, out.data(), file.size());
  return out;
}

// Writes shards; each file appears completely or not at all.
class ShardWriter {
 public:
  ShardWriter(SealedFolder& folder, uint64_t width) : folder_(folder), width_(width) {}

  void append(std::span<const int32_t> ids) {
    for (const int32_t id : ids) {
      largest_ = std::max(largest_, id);
      if (width_ == 2) {
        const auto narrow = static_cast<uint16_t>(id);
        buffer_.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
      } else {
        buffer_.append(reinterpret_cast<const char*>(&id), sizeof id);
      }
      if (++ids_ % kIdsPerShard == 0) {
        end_shard();
      } else if (buffer_.size() >= kBatchBytes) {
        flush();
      }
    }
  }
  void finish() {
    if (ids_ % kIdsPerShard != 0) {
      end_shard();
    }
  }
  uint64_t ids() const { return ids_; }
  int32_t largest() const { return largest_; }
  const std::vector<uint64_t>& blocks() const { return blocks_; }

 private:
  // Writes whole blocks, except at the end of a shard.
  void flush() {
    if (!file_) {
      file_.emplace(folder_.temporary() / shard_name(shards_), 0, &folder_.files());
    }
    for (uint64_t at = 0; at < buffer_.size(); at += kBlockBytes) {
      blocks_.push_back(sha256_head(std::string_view(buffer_).substr(at, kBlockBytes)));
    }
    file_->write(buffer_);
    buffer_.clear();
  }
  void end_shard() {
    flush();
    file_->commit();
    file_.reset();
    ++shards_;
  }

  SealedFolder& folder_;
  uint64_t width_;
  std::string buffer_;
  std::optional<AtomicFile> file_;
  std::vector<uint64_t> blocks_;
  uint64_t ids_ = 0;
  size_t shards_ = 0;
  int32_t largest_ = -1;
};

// Reads a corpus to its end and packs it into `folder`.
class Packer {
 public:
  Packer(Catalog& catalog, const PackingRequest& request, SealedFolder& folder)
      : request_(request),
        tokenizer_(open_tokenizer(catalog, request.tokenizer)),
        width_(tokenizer_.vocabulary_size() <= kNarrowVocabulary ? 2 : 4),
        folder_(folder),
        writer_(folder, width_) {}

  void add(const quench_document& document) {
    hashes_.push_back(document_hash(document));
    if (document.ids != nullptr) {
      take({document.ids, document.id_count});
    } else if (document.text != nullptr) {
      pending_.add({document.text, document.text_bytes});
      if (pending_.bytes() >= kBatchBytes) {
        flush();
      }
    } else {
      fail(QUENCH_INVALID_ARGUMENT, "corpus {}: yields records; wanted text or ids",
           request_.corpus->name);
    }
  }

  std::string tokenizer_key() const { return tokenizer_.identity().key(); }

  void finish() {
    flush();
    writer_.finish();
    std::sort(hashes_.begin(), hashes_.end());
    write(kDocumentsFile, bytes_of(hashes_));
    write(kBlocksFile, bytes_of(writer_.blocks()));
    const nlohmann::json index = {
        {"format", kPackingFormat},  {"ids", writer_.ids()},        {"width", width_},
        {"per_shard", kIdsPerShard}, {"documents", hashes_.size()}, {"largest", writer_.largest()}};
    write(kIndexFile, index.dump() + "\n");
  }

 private:
  void write(const char* name, std::string_view content) {
    write_file_atomically(folder_.temporary() / name, content, &folder_.files());
  }

  void take(std::span<const int32_t> ids) {
    if (width_ == 2 && std::any_of(ids.begin(), ids.end(), [](int32_t id) {
          return id < 0 || static_cast<size_t>(id) >= kNarrowVocabulary;
        })) {
      fail(QUENCH_INVALID_ARGUMENT, "corpus {}: an id is outside the tokenizer's vocabulary",
           request_.corpus->name);
    }
    writer_.append(ids);
    if (request_.document_end) {
      const int32_t end = *request_.document_end;
      writer_.append({&end, 1});
    }
  }

  void flush() {
    try {
      const EncodedBatch encoded = tokenizer_.encode(pending_, false);
      for (size_t d = 0; d < encoded.documents(); ++d) {
        take(encoded.document(d));
      }
    } catch (const Error& error) {
      fail(error.code(), "corpus {}: {}", request_.corpus->name, error.what());
    }
    pending_.clear();
  }

  const PackingRequest& request_;
  Tokenizer tokenizer_;
  uint64_t width_;
  SealedFolder& folder_;
  ShardWriter writer_;
  TextBatch pending_;
  std::vector<uint64_t> hashes_;
};

void pack(Catalog& catalog, const PackingRequest& request, const fs::path& path) {
  make_folders(path.parent_path());
  SealedFolder folder(path, /*replaces=*/false);
  const TrainingCorpus& use = *request.corpus;
  HeldCorpus corpus(catalog, {use.name, use.plugin, use.parameters, use.part}, {}, use.fingerprint);
  PartReader reader(corpus.handle(), use.part);
  Packer packer(catalog, request, folder);
  if (packer.tokenizer_key() != request.tokenizer_key) {
    fail(QUENCH_UNAVAILABLE,
         "{}: the tokenizer was replaced before it was read; run the command again",
         request.tokenizer);
  }
  quench_document document{};
  while (reader.next(document)) {
    stop_if_asked();
    packer.add(document);
  }
  packer.finish();
  corpus.check();
  if (corpus.handle().skipped() > 0) {
    warn_of_skipped(use.name, corpus.handle().skipped(), corpus.handle().given());
  }
  check_running_code();
  folder.publish({{"packed", path.filename().string()}});
}

std::string key_of(const PackingRequest& request) {
  const TrainingCorpus& use = *request.corpus;
  return sha256_hex(canonical_json({{"format", kPackingFormat},
                                    {"host", arithmetic_build_id()},
                                    {"files", use.fingerprint},
                                    {"plugin", use.plugin->code},
                                    {"corpus", use.plugin->id},
                                    {"parameters", reading_parameters(*use.plugin, use.parameters)},
                                    {"part", use.part.key()},
                                    {"tokenizer", request.tokenizer_key},
                                    {"end", or_null(request.document_end)}}));
}

}  // namespace

std::optional<PackedTokens> PackedTokens::find(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    return std::nullopt;
  }
  // Every read compares the checksums of the ids.
  if (const std::string fault = fault_of_sealed_folder(folder, Depth::kSizes, nullptr,
                                                       {kIndexFile, kBlocksFile, kDocumentsFile});
      !fault.empty()) {
    throw DamagedTokens(folder, fault);
  }
  const std::string path = (folder / kIndexFile).string();
  const nlohmann::json index = parse_json(read_file(path, kMaxIndexBytes), path);
  PackedTokens out;
  out.folder_ = folder;
  out.ids_ = index.at("ids").get<uint64_t>();
  out.width_ = index.at("width").get<uint64_t>();
  out.per_shard_ = index.at("per_shard").get<uint64_t>();
  out.documents_ = index.at("documents").get<uint64_t>();
  out.largest_ = index.at("largest").get<int32_t>();
  uint64_t blocks = 0;
  for (uint64_t first = 0; first < out.ids_; first += out.per_shard_) {
    out.shards_.push_back(std::make_shared<const File>(folder / shard_name(out.shards_.size())));
    blocks += blocks_of(out.shards_.back()->size());
  }
  out.blocks_ = read_numbers(folder / kBlocksFile, blocks);
  return out;
}

PackedTokens PackedTokens::open(Catalog& catalog, const PackingRequest& request,
                                const fs::path& home) {
  const fs::path folder = home / "tokens" / (key_of(request) + ".packed");
  std::optional<PackedTokens> there;
  const std::string fault = remove_damaged(folder, [&]() -> std::string {
    try {
      there = find(folder);
      return "";
    } catch (const DamagedTokens& damage) {
      return damage.what();
    }
  });
  if (there) {
    return std::move(*there);
  }
  if (!fault.empty()) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", fault + "; making it again");
  }
  for (int tries = 1;; ++tries) {  // what cleans the home may take it away before it is opened
    try {
      pack(catalog, request, folder);
    } catch (const Error&) {
      if (there = find(folder); there) {  // another process was faster
        return std::move(*there);
      }
      throw;
    }
    try {
      if (auto made = find(folder)) {
        return std::move(*made);
      }
    } catch (const DamagedTokens&) {
      if (tries == kTries) {
        throw;
      }
    }
    if (tries == kTries) {
      fail(QUENCH_UNAVAILABLE, "{}: was removed {} times before it could be opened",
           folder.string(), kTries);
    }
  }
}

void PackedTokens::read(uint64_t first, std::span<int32_t> out) const {
  if (first > ids_ || out.size() > ids_ - first) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: ids {}..{} of {}", folder_.string(), first,
         first + out.size(), ids_);
  }
  std::vector<uint16_t> narrow(width_ == 2 ? out.size() : 0);
  for (size_t done = 0; done < out.size();) {
    const uint64_t at = first + done;
    const uint64_t inside = at % per_shard_;
    const auto count =
        static_cast<size_t>(std::min<uint64_t>(out.size() - done, per_shard_ - inside));
    void* to = width_ == 2 ? static_cast<void*>(narrow.data() + done) : out.data() + done;
    read_bytes(at / per_shard_, inside * width_, (inside + count) * width_, static_cast<char*>(to));
    done += count;
  }
  std::copy(narrow.begin(), narrow.end(), out.begin());
}

// Reads whole blocks and copies the requested part.
void PackedTokens::read_bytes(size_t shard, uint64_t begin, uint64_t end, char* destination) const {
  const File& file = *shards_[shard];
  const uint64_t first_block = shard * blocks_of(per_shard_ * width_);
  std::string bytes;
  for (uint64_t from = begin / kBlockBytes * kBlockBytes; from < end; from += kReadBytes) {
    const uint64_t to = std::min({from + kReadBytes, blocks_of(end) * kBlockBytes, file.size()});
    bytes.resize(to - from);
    file.read(from, bytes.data(), bytes.size());
    for (uint64_t at = from; at < to; at += kBlockBytes) {
      const std::string_view block = std::string_view(bytes).substr(at - from, kBlockBytes);
      const uint64_t sum = sha256_head(block);
      const uint64_t wanted = blocks_[first_block + at / kBlockBytes];
      if (sum != wanted) {
        throw DamagedTokens(
            folder_, fmt::format("{}: bytes {}..{} have the checksum {:016x}, "
                                 "wanted {:016x}",
                                 file.path().string(), at, at + block.size() - 1, sum, wanted));
      }
    }
    const uint64_t copied_from = std::max(from, begin);
    const uint64_t copied_to = std::min(to, end);
    std::memcpy(destination + (copied_from - begin), bytes.data() + (copied_from - from),
                copied_to - copied_from);
  }
}

std::vector<uint64_t> PackedTokens::document_hashes() const {
  return read_numbers(folder_ / kDocumentsFile, documents_);
}

uint64_t documents_in_both(const PackedTokens& a, const PackedTokens& b) {
  const std::vector<uint64_t> of_a = a.document_hashes();
  const std::vector<uint64_t> of_b = b.document_hashes();
  std::vector<uint64_t> both;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                        std::back_inserter(both));
  return both.size();
}

}  // namespace quench
