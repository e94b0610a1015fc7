// Directory of a zip archive as torch.save writes it: members stored, never compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quench::formats {

class PlaceFile;

struct ZipMember {
  std::string name;
  uint64_t offset = 0;  // of the content in the file
  uint64_t size = 0;
  uint32_t crc32 = 0;
};

// The central directory decides; every local header must agree with it in name, method and size.
// Refused with Error(INVALID_ARGUMENT): compressed or encrypted members, duplicate or unsafe names,
// members that overlap, several volumes, a comment or anything else after the directory, more than
// 100,000 members. That ends zip bombs, and files that two readers understand differently.
class ZipArchive {
 public:
  // `file` must outlive the archive.
  explicit ZipArchive(const PlaceFile& file);

  const std::vector<ZipMember>& members() const { return members_; }
  // Null when there is none.
  const ZipMember* find(std::string_view name) const;
  // The content, its checksum verified. Throws Error(DATA_LOSS) for a wrong checksum,
  // Error(INVALID_ARGUMENT) beyond `limit` bytes.
  std::string read(const ZipMember& member, uint64_t limit) const;

 private:
  const PlaceFile& file_;
  std::vector<ZipMember> members_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace quench::formats
