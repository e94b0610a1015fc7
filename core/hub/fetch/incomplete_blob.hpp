// A file of the hub's cache while it arrives: BLOBS/HASH.<8 hex digits>.incomplete.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/io/descriptor.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/hub/hub_file.hpp"

namespace quench {

// What an earlier process left is taken over, unless its writer is alive: a writer locks its file.
// Some network file systems grant a lock to everybody; there, a file that grew within the last
// minute counts as one that is written. Correctness rests on neither: a taker renames the file,
// which only one can do, bytes are written at their own offsets, the same ones by any writer of
// this name, and the hash of the whole decides.
//
// Errors name the file: RESOURCE_EXHAUSTED for a full disk, else FAILED_PRECONDITION.
class IncompleteBlob {
 public:
  // `blobs` exists. Reads what is there already, for its hash. Throws CANCELLED, too.
  IncompleteBlob(const std::filesystem::path& blobs, const HubFile& file,
                 const std::atomic<bool>* cancel);

  // Bytes that are there: where the next ones go.
  uint64_t bytes() const { return bytes_; }

  // `at` is bytes(), or 0: a server that starts over.
  void take(uint64_t at, std::string_view piece);
  // Drops what came.
  void restart();
  // Whether the whole content has the hash that is its name.
  bool is_intact();
  // By what the file is known, also under its name; the time of change is not set.
  FileIdentity identity() const;
  // Makes it durable and gives it its name. Leftovers of the same file go. False if another process
  // took it over and has not published it yet.
  bool publish();

 private:
  bool take_over(const std::filesystem::path& left);
  void start_new();
  void hash_what_is_there();
  void read(uint64_t at, char* buffer, uint64_t bytes) const;

  std::filesystem::path blobs_;
  HubFile file_;
  const std::atomic<bool>* cancel_;
  std::filesystem::path path_;
  Descriptor descriptor_;
  uint64_t bytes_ = 0;
  std::optional<Sha256> sha256_;  // of large files, while they arrive
};

// Removes what is left of files that are there completely by now, unless somebody writes it.
void remove_published_leftovers(const std::filesystem::path& blobs);

// Likewise of files with these hashes.
void remove_unwanted_leftovers(const std::filesystem::path& blobs,
                               const std::set<std::string>& hashes);

// The bytes of a file that earlier processes left, for a plan.
uint64_t bytes_left_over(const std::filesystem::path& blobs, const HubFile& file);

}  // namespace quench
