// Facts from the .ZIP application note (PKWARE APPNOTE 6.3): 4.3.7 local header, 4.3.9 data
// descriptor, 4.3.12 central directory, 4.3.14-16 its end records, 4.5.3 zip64 extra field.
#include "formats/torch_archive/zip_archive.hpp"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "formats/shared/failure.hpp"
#include "formats/shared/place_file.hpp"

namespace quench::formats {

namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDescriptorSignature = 0x08074b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint64_t kMaxMembers = 100'000;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{64} << 20;
constexpr uint32_t kFull32 = 0xFFFFFFFF;
constexpr uint16_t kFull16 = 0xFFFF;
constexpr uint16_t kEncryptedFlags = 0x2041;  // bits 0, 6 and 13
constexpr uint16_t kDescriptorFlag = 0x0008;

// Little-endian fields of a record whose length was checked.
uint64_t field(std::string_view record, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(record[at + i]);
  }
  return value;
}

uint16_t field16(std::string_view record, size_t at) {
  return static_cast<uint16_t>(field(record, at, 2));
}

uint32_t field32(std::string_view record, size_t at) {
  return static_cast<uint32_t>(field(record, at, 4));
}

std::string read_bytes(const PlaceFile& file, uint64_t offset, uint64_t bytes) {
  std::string out(bytes, '\0');
  file.read(offset, out.data(), bytes);
  return out;
}

struct Directory {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t members = 0;
};

// A central directory entry, and what is left of it to check.
struct Entry {
  ZipMember member;
  uint16_t flags = 0;
  uint64_t local_offset = 0;
  uint64_t end = 0;  // behind content and data descriptor
};

[[noreturn]] void refuse(const PlaceFile& file, const std::string& what) {
  fail(QUENCH_INVALID_ARGUMENT, "{}: zip archive: {}", file.path(), what);
}

[[noreturn]] void refuse(const PlaceFile& file, const std::string& member,
                         const std::string& what) {
  refuse(file, "member '" + printable(member) + "': " + what);
}

// The zip64 end record, when there is one in front of the end record at `end_offset`.
bool find_end64(const PlaceFile& file, uint64_t end_offset, Directory& directory, uint64_t& end) {
  if (end_offset < kLocator64Bytes + kEnd64Bytes) {
    return false;
  }
  const std::string locator = read_bytes(file, end_offset - kLocator64Bytes, kLocator64Bytes);
  if (field32(locator, 0) != kLocator64Signature) {
    return false;
  }
  end = end_offset - kLocator64Bytes - kEnd64Bytes;
  const std::string record = read_bytes(file, end, kEnd64Bytes);
  if (field(locator, 8, 8) != end || field32(record, 0) != kEnd64Signature ||
      field(record, 4, 8) != kEnd64Bytes - 12) {
    refuse(file, "the zip64 end record is not where its locator says");
  }
  if (field32(locator, 4) != 0 || field32(locator, 16) > 1 || field32(record, 16) != 0 ||
      field32(record, 20) != 0 || field(record, 24, 8) != field(record, 32, 8)) {
    refuse(file, "several volumes");
  }
  directory = {field(record, 48, 8), field(record, 40, 8), field(record, 32, 8)};
  return true;
}

Directory find_directory(const PlaceFile& file) {
  if (file.size() < kEndBytes) {
    refuse(file, fmt::format("{} bytes, shorter than an end record", file.size()));
  }
  const uint64_t end_offset = file.size() - kEndBytes;
  const std::string record = read_bytes(file, end_offset, kEndBytes);
  if (field32(record, 0) != kEndSignature || field16(record, 20) != 0) {
    refuse(file, "no end record in the last 22 bytes: the file is truncated or has bytes appended");
  }
  if (field16(record, 4) != 0 || field16(record, 6) != 0 ||
      field16(record, 8) != field16(record, 10)) {
    refuse(file, "several volumes");
  }
  const Directory plain{field32(record, 16), field32(record, 12), field16(record, 10)};
  Directory directory = plain;
  uint64_t end = end_offset;
  if (find_end64(file, end_offset, directory, end)) {
    const bool agree = (plain.offset == kFull32 || plain.offset == directory.offset) &&
                       (plain.bytes == kFull32 || plain.bytes == directory.bytes) &&
                       (plain.members == kFull16 || plain.members == directory.members);
    if (!agree) {
      refuse(file, "the two end records disagree: a second central directory");
    }
  } else if (plain.offset == kFull32 || plain.bytes == kFull32 || plain.members == kFull16) {
    refuse(file, "the zip64 end record is missing");
  }
  if (directory.members > kMaxMembers) {
    refuse(file, fmt::format("{} members, at most {} are read", directory.members, kMaxMembers));
  }
  if (directory.bytes > kMaxDirectoryBytes) {
    refuse(file, fmt::format("central directory of {} bytes, at most {} are read", directory.bytes,
                             kMaxDirectoryBytes));
  }
  if (directory.offset > end || directory.bytes != end - directory.offset) {
    refuse(file, fmt::format("central directory of {} bytes at offset {} does not end at {}",
                             directory.bytes, directory.offset, end));
  }
  return directory;
}

void check_name(const PlaceFile& file, const std::string& name) {
  bool unsafe = name.empty() || name.front() == '/' || name.size() > 4096 ||
                name.find('\0') != std::string::npos || name.find('\\') != std::string::npos ||
                (name.size() > 1 && name[1] == ':');
  for (size_t at = 0; at <= name.size() && !unsafe;) {
    const size_t slash = std::min(name.find('/', at), name.size());
    unsafe = name.compare(at, slash - at, "..") == 0;
    at = slash + 1;
  }
  if (unsafe) {
    refuse(file, name, "unsafe name");
  }
}

// Replaces saturated 32-bit fields, in this order, by those of the zip64 extra field.
void resolve_zip64(const PlaceFile& file, const std::string& name, std::string_view extra,
                   std::initializer_list<uint64_t*> fields) {
  std::string_view zip64;
  for (std::string_view rest = extra; rest.size() >= 4;) {
    const uint64_t bytes = field16(rest, 2);
    if (bytes > rest.size() - 4) {
      refuse(file, name, "extra field longer than its record");
    }
    if (field16(rest, 0) == 1) {
      zip64 = rest.substr(4, bytes);
    }
    rest.remove_prefix(4 + bytes);
  }
  for (uint64_t* value : fields) {
    if (*value == kFull32) {
      if (zip64.size() < 8) {
        refuse(file, name, "zip64 extra field is missing or too short");
      }
      *value = field(zip64, 0, 8);
      zip64.remove_prefix(8);
    }
  }
}

// Takes one entry off the front of `rest`.
Entry parse_entry(const PlaceFile& file, std::string_view& rest) {
  if (rest.size() < kCentralBytes || field32(rest, 0) != kCentralSignature) {
    refuse(file, "central directory has a damaged entry");
  }
  const uint64_t name_bytes = field16(rest, 28);
  const uint64_t extra_bytes = field16(rest, 30);
  const uint64_t comment_bytes = field16(rest, 32);
  if (name_bytes + extra_bytes + comment_bytes > rest.size() - kCentralBytes) {
    refuse(file, "central directory has a damaged entry");
  }
  Entry entry;
  entry.member.name = rest.substr(kCentralBytes, name_bytes);
  const std::string& name = entry.member.name;
  check_name(file, name);
  entry.flags = field16(rest, 8);
  if ((entry.flags & kEncryptedFlags) != 0) {
    refuse(file, name, "encrypted");
  }
  if (field16(rest, 10) != 0) {
    refuse(file, name,
           fmt::format("compressed (method {}), torch.save only stores", field16(rest, 10)));
  }
  entry.member.crc32 = field32(rest, 16);
  uint64_t packed = field32(rest, 20);
  entry.member.size = field32(rest, 24);
  entry.local_offset = field32(rest, 42);
  resolve_zip64(file, name, rest.substr(kCentralBytes + name_bytes, extra_bytes),
                {&entry.member.size, &packed, &entry.local_offset});
  if (packed != entry.member.size || field16(rest, 34) != 0) {
    refuse(file, name, fmt::format("stored in {} bytes, but {} long", packed, entry.member.size));
  }
  rest.remove_prefix(kCentralBytes + name_bytes + extra_bytes + comment_bytes);
  return entry;
}

// The data descriptor behind the content: signature, checksum, two sizes of 8 or of 4 bytes.
void check_descriptor(const PlaceFile& file, Entry& entry, uint64_t limit) {
  const ZipMember& member = entry.member;
  const std::string record = read_bytes(file, entry.end, std::min<uint64_t>(24, limit - entry.end));
  const bool head = record.size() >= 16 && field32(record, 0) == kDescriptorSignature &&
                    field32(record, 4) == member.crc32;
  const auto sizes_agree = [&](size_t bytes) {
    return record.size() >= 8 + 2 * bytes && field(record, 8, bytes) == member.size &&
           field(record, 8 + bytes, bytes) == member.size;
  };
  if (!head || !(sizes_agree(8) || sizes_agree(4))) {
    refuse(file, member.name, "data descriptor disagrees with the central directory");
  }
  entry.end += sizes_agree(8) ? 24 : 16;
}

// The local header against the central directory, which begins at `limit`.
void check_local(const PlaceFile& file, Entry& entry, uint64_t limit) {
  ZipMember& member = entry.member;
  if (entry.local_offset > limit || limit - entry.local_offset < kLocalBytes) {
    refuse(file, member.name,
           fmt::format("local header at offset {}, outside the file", entry.local_offset));
  }
  const std::string head = read_bytes(file, entry.local_offset, kLocalBytes);
  const uint64_t name_bytes = field16(head, 26);
  const uint64_t extra_bytes = field16(head, 28);
  const uint64_t room = limit - entry.local_offset - kLocalBytes;
  if (field32(head, 0) != kLocalSignature || name_bytes + extra_bytes > room) {
    refuse(file, member.name, fmt::format("no local header at offset {}", entry.local_offset));
  }
  const std::string tail =
      read_bytes(file, entry.local_offset + kLocalBytes, name_bytes + extra_bytes);
  const auto disagree = [&](const char* what) {
    refuse(file, member.name,
           fmt::format("local header disagrees with the central directory in its {}", what));
  };
  if (tail.compare(0, name_bytes, member.name) != 0) {
    disagree("name");
  }
  if (field16(head, 8) != 0) {
    disagree("method");
  }
  if (field16(head, 6) != entry.flags) {
    disagree("flags");
  }
  uint64_t packed = field32(head, 18);
  uint64_t size = field32(head, 22);
  resolve_zip64(file, member.name, std::string_view(tail).substr(name_bytes), {&size, &packed});
  // torch.save leaves both zero and puts the sizes into a descriptor behind the content.
  const bool later = (entry.flags & kDescriptorFlag) != 0;
  if (!(size == member.size && packed == member.size) && !(later && size == 0 && packed == 0)) {
    disagree("size");
  }
  if (!later && field32(head, 14) != member.crc32) {
    disagree("checksum");
  }
  member.offset = entry.local_offset + kLocalBytes + name_bytes + extra_bytes;
  if (member.size > limit - member.offset) {
    refuse(file, member.name,
           fmt::format("{} bytes at offset {} reach beyond offset {}, where the directory begins",
                       member.size, member.offset, limit));
  }
  entry.end = member.offset + member.size;
  if (later) {
    check_descriptor(file, entry, limit);
  }
}

void check_overlap(const PlaceFile& file, std::vector<const Entry*> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->local_offset < b->local_offset; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i]->local_offset < entries[i - 1]->end) {
      refuse(file, entries[i]->member.name,
             "overlaps member '" + printable(entries[i - 1]->member.name) + "'");
    }
  }
}

}  // namespace

ZipArchive::ZipArchive(const PlaceFile& file) : file_(file) {
  const Directory directory = find_directory(file);
  const std::string bytes = read_bytes(file, directory.offset, directory.bytes);
  std::vector<Entry> entries;
  std::string_view rest = bytes;
  for (uint64_t i = 0; i < directory.members; ++i) {
    entries.push_back(parse_entry(file, rest));
    if (!by_name_.emplace(entries.back().member.name, i).second) {
      refuse(file, entries.back().member.name, "name given twice");
    }
  }
  if (!rest.empty()) {
    refuse(file,
           fmt::format("{} bytes after the last entry of the central directory", rest.size()));
  }
  std::vector<const Entry*> pointers;
  for (Entry& entry : entries) {
    check_local(file, entry, directory.offset);
    pointers.push_back(&entry);
  }
  check_overlap(file, std::move(pointers));
  for (Entry& entry : entries) {
    members_.push_back(std::move(entry.member));
  }
}

const ZipMember* ZipArchive::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &members_[found->second];
}

std::string ZipArchive::read(const ZipMember& member, uint64_t limit) const {
  if (member.size > limit) {
    refuse(file_, member.name, fmt::format("{} bytes, at most {} are read", member.size, limit));
  }
  std::string content = read_bytes(file_, member.offset, member.size);
  const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (sum != member.crc32) {
    fail(QUENCH_DATA_LOSS, "{}: zip archive: member '{}': checksum {:08x}, wanted {:08x}",
         file_.path(), printable(member.name), sum, member.crc32);
  }
  return content;
}

}  // namespace quench::formats
