// A corpus as one long row of token ids on disk, cut into shards.
//
// Documents follow each other, each with the id that ends documents behind it where there is one.
// The folder lies under QUENCH_HOME/tokens by its content's key: text is tokenized once, whatever
// trains on it. Ids are read by pread, so a corpus may be larger than memory, and each block of
// 4096 bytes has a checksum that every read of it compares.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/io/file.hpp"
#include "train/recipe.hpp"

namespace quench {

struct PackingRequest {
  const TrainingCorpus* corpus = nullptr;
  std::string tokenizer;  // path or "bytes"
  std::string tokenizer_key;
  std::optional<int32_t> document_end;
};

// Ids that are not what was packed. Their folder is to be removed and packed again.
class DamagedTokens : public Error {
 public:
  DamagedTokens(std::filesystem::path folder, const std::string& fault)
      : Error(QUENCH_DATA_LOSS, fault), folder_(std::move(folder)) {}
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

class PackedTokens {
 public:
  // Opens what was packed before, or packs; a folder that lacks a file or has one of another size
  // is told in a warning and packed again. Throws Error: DATA_LOSS when the corpus changes
  // meanwhile, RESOURCE_EXHAUSTED when the disk is full, and what corpora and tokenizers throw.
  static PackedTokens open(Catalog& catalog, const PackingRequest& request,
                           const std::filesystem::path& home);

  uint64_t size() const { return ids_; }  // of all documents, their ends included
  uint64_t documents() const { return documents_; }
  int32_t largest() const { return largest_; }  // id, -1 without any
  // Ids first .. first+out.size()-1. Throws DamagedTokens naming file and bytes.
  void read(uint64_t first, std::span<int32_t> out) const;
  // The first 64 bits of every document's hash, ascending.
  std::vector<uint64_t> document_hashes() const;

 private:
  PackedTokens() = default;
  static std::optional<PackedTokens> find(const std::filesystem::path& folder);
  void read_bytes(size_t shard, uint64_t begin, uint64_t end, char* destination) const;

  std::filesystem::path folder_;
  std::vector<std::shared_ptr<const File>> shards_;
  std::vector<uint64_t> blocks_;  // checksums, of all shards
  uint64_t per_shard_ = 0;        // ids of all shards but the last
  uint64_t width_ = 4;            // bytes of an id: 2 or 4
  uint64_t ids_ = 0;
  uint64_t documents_ = 0;
  int32_t largest_ = -1;
};

// How many documents two corpora share, by their content.
uint64_t documents_in_both(const PackedTokens& a, const PackedTokens& b);

}  // namespace quench
