// A corpus as one long sequence of token ids on disk, split into shards.
//
// Documents follow each other, each ended by the tokenizer's end-of-document id if it has one. The
// folder is in QUENCH_HOME/tokens under the key of its content: text is tokenized once for all
// trainings. Ids are read by pread, so a corpus may exceed memory; each block of 4096 bytes has a
// checksum that every read verifies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "train/recipe.hpp"

namespace quench {

struct PackingRequest {
  const TrainingCorpus* corpus = nullptr;
  std::string tokenizer;  // path or "bytes"
  std::string tokenizer_key;
  std::optional<int32_t> document_end;
};

// The ids differ from what was packed. The caller removes their folder and packs again.
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
  // Opens the ids packed earlier, or packs them; warns and packs again if a file is missing or has
  // another size. Throws Error: UNAVAILABLE if corpus or tokenizer are not those of the request,
  // RESOURCE_EXHAUSTED if the disk is full, and what corpora and tokenizers throw.
  static PackedTokens open(Catalog& catalog, const PackingRequest& request,
                           const std::filesystem::path& home);

  uint64_t size() const { return ids_; }  // of all documents, with their ends
  uint64_t documents() const { return documents_; }
  int32_t largest() const { return largest_; }  // the largest id; -1 without ids
  // Reads ids first .. first+out.size()-1. Throws DamagedTokens naming file and bytes.
  void read(uint64_t first, std::span<int32_t> out) const;
  // The first 64 bits of every document's hash, ascending.
  std::vector<uint64_t> document_hashes() const;

 private:
  PackedTokens() = default;
  static std::optional<PackedTokens> find(const std::filesystem::path& folder);
  void read_bytes(size_t shard, uint64_t begin, uint64_t end, char* destination) const;

  std::filesystem::path folder_;
  std::vector<std::shared_ptr<const File>> shards_;
  std::vector<uint64_t> blocks_;  // checksums of the blocks of all shards
  uint64_t per_shard_ = 0;        // ids per shard; the last may have fewer
  uint64_t width_ = 4;            // bytes per id: 2 or 4
  uint64_t ids_ = 0;
  uint64_t documents_ = 0;
  int32_t largest_ = -1;
};

// Counts the documents that two corpora share, by content.
uint64_t documents_in_both(const PackedTokens& a, const PackedTokens& b);

}  // namespace quench
