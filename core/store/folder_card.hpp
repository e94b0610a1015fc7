// The model card README.md of a sealed folder whose values are measured after it was sealed. It is
// not in the seal: a run completes it when more is measured, and what the seal lists stays as it
// is. Its last line has the SHA-256 of all before, so that quench knows its own card from one that
// somebody wrote or changed.
#pragma once

#include <filesystem>
#include <string>

namespace quench {

inline constexpr const char* kFolderCard = "README.md";

// Whether the file is a card as quench wrote it.
bool is_own_card(const std::filesystem::path& file);

// Puts the card into the folder, in the place of one that quench wrote. The file is there as a
// whole or not at all. Returns false and writes nothing where another README.md stands. Throws
// RESOURCE_EXHAUSTED for one of more than 16 MiB, and what AtomicFile throws.
bool write_folder_card(const std::filesystem::path& folder, const std::string& text);

}  // namespace quench
