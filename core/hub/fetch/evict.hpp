// Takes weights out of the hub's cache again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "core/hub/fetch/download_ledger.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// Removes the weights that the ledger has of one repository, as far as nobody wants them: blobs
// that were fetched for `commits` alone, that are still the files which arrived, to which no other
// snapshot links, and of whose commits no other process claims one. Their links go with them; the
// small files and the names of the revisions stay, so that the cache is one that other tools read
// and a later fetch completes. A kill leaves a blob without links, or a claim, which the next call
// removes.
// Returns the number of bytes removed. Throws Error naming the path of what cannot be removed.
uint64_t evict_weights(const std::filesystem::path& root, const HubSpec& repository,
                       const std::set<std::string>& commits, const DownloadLedger& ledger);

// Bytes in the cache that the ledger has of one repository. Those that were fetched for `released`
// commits alone and are still there because somebody else wants them do not count.
uint64_t bytes_held(const std::filesystem::path& root, const HubSpec& repository,
                    const std::set<std::string>& released, const DownloadLedger& ledger);

}  // namespace quench
