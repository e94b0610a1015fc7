// A corpus as one long row of token ids on disk, cut into shards.
//
// Documents follow each other, each with the id that ends documents behind it where there is one.
// The folder lies under QUENCH_HOME/tokens by its content's key: text is tokenized once, whatever
// trains on it. Ids are read by pread, so a corpus may be larger than memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/io/file.hpp"
#include "core/train/recipe.hpp"

namespace quench {

struct PackingRequest {
  const TrainingCorpus* corpus = nullptr;
  std::string tokenizer;  // path or "bytes"
  std::string tokenizer_key;
  std::optional<int32_t> document_end;
};

class PackedTokens {
 public:
  // Opens what was packed before, or packs; a folder whose files are not as its index says is
  // packed again. Throws Error: DATA_LOSS when the corpus changes meanwhile, RESOURCE_EXHAUSTED
  // when the disk is full, and what corpora and tokenizers throw.
  static PackedTokens open(Catalog& catalog, const PackingRequest& request,
                           const std::filesystem::path& home);

  uint64_t size() const { return ids_; }  // of all documents, their ends included
  uint64_t documents() const { return documents_; }
  int32_t largest() const { return largest_; }  // id, -1 without any
  // Ids first .. first+out.size()-1. Throws Error(DATA_LOSS) when a file was cut.
  void read(uint64_t first, std::span<int32_t> out) const;
  // The first 64 bits of every document's hash, ascending.
  std::vector<uint64_t> document_hashes() const;

 private:
  PackedTokens() = default;
  static std::optional<PackedTokens> find(const std::filesystem::path& folder);

  std::filesystem::path folder_;
  std::vector<std::shared_ptr<const File>> shards_;
  uint64_t per_shard_ = 0;  // ids of all shards but the last
  uint64_t width_ = 4;      // bytes of an id: 2 or 4
  uint64_t ids_ = 0;
  uint64_t documents_ = 0;
  int32_t largest_ = -1;
};

// How many documents two corpora share, by their content.
uint64_t documents_in_both(const PackedTokens& a, const PackedTokens& b);

}  // namespace quench
