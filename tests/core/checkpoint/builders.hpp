// Small writers of checkpoint files, good and bad, for tests.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace quench::test {

// The lowest `bytes` bytes of a number, least significant first.
inline std::string little(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) {
    out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
  }
  return out;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) {
    std::memcpy(out.data(), values.data(), out.size());
  }
  return out;
}

inline std::string safetensors(const std::string& header, const std::string& data = "") {
  return little(header.size(), 8) + header + data;
}

// One member of a zip archive, and how its records lie about it.
struct ZipPart {
  std::string name;
  std::string content;
  uint16_t flags = 0;
  uint16_t method = 0;
  bool descriptor = false;  // sizes behind the content, as torch.save writes them
  uint64_t central_size = ~uint64_t{0};
  uint64_t local_size = ~uint64_t{0};
  std::string local_name = "";
  uint64_t offset = ~uint64_t{0};  // of the local header, as the directory tells it
  uint32_t wrong_crc = 0;          // added to the checksum
  uint16_t local_method = 0;
};

struct ZipShape {
  bool zip64 = true;
  std::string between = "";  // bytes between directory and end records
  uint64_t members = ~uint64_t{0};
};

inline std::string zip(const std::vector<ZipPart>& parts, const ZipShape& shape = {}) {
  std::string out;
  std::string directory;
  for (const ZipPart& part : parts) {
    const uint64_t none = ~uint64_t{0};
    const uint64_t offset = part.offset == none ? out.size() : part.offset;
    const auto* content = reinterpret_cast<const Bytef*>(part.content.data());
    const uint64_t crc = crc32_z(0, content, part.content.size()) + part.wrong_crc;
    const uint16_t flags = static_cast<uint16_t>(part.flags | (part.descriptor ? 8 : 0));
    const uint64_t size = part.central_size == none ? part.content.size() : part.central_size;
    const uint64_t local = part.local_size != none ? part.local_size
                           : part.descriptor       ? 0
                                                   : part.content.size();
    const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
    out += "PK\x03\x04" + little(20, 2) + little(flags, 2) +
           little(part.method + part.local_method, 2) + little(0, 4) +
           little(part.descriptor ? 0 : crc, 4) + little(local, 4) + little(local, 4) +
           little(local_name.size(), 2) + little(0, 2) + local_name + part.content;
    if (part.descriptor) {
      out += "PK\x07\x08" + little(crc, 4) + little(size, 8) + little(size, 8);
    }
    directory += "PK\x01\x02" + little(20, 2) + little(20, 2) + little(flags, 2) +
                 little(part.method, 2) + little(0, 4) + little(crc, 4) + little(size, 4) +
                 little(size, 4) + little(part.name.size(), 2) + little(0, 12) + little(offset, 4) +
                 part.name;
  }
  const uint64_t members = shape.members == ~uint64_t{0} ? parts.size() : shape.members;
  const uint64_t start = out.size();
  out += directory + shape.between;
  if (shape.zip64) {
    const uint64_t end = out.size();
    out += "PK\x06\x06" + little(44, 8) + little(0x2d031e, 4) + little(0, 8) + little(members, 8) +
           little(members, 8) + little(directory.size(), 8) + little(start, 8);
    out += "PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4);
  }
  return out + std::string("PK\x05\x06") + little(0, 4) +
         little(std::min<uint64_t>(members, 0xFFFF), 2) +
         little(std::min<uint64_t>(members, 0xFFFF), 2) + little(directory.size(), 4) +
         little(start, 4) + little(0, 2);
}

// Pieces of a pickle of protocol 2.
namespace pickle {

inline std::string text(std::string_view value) {
  return "X" + little(value.size(), 4) + std::string(value);
}
inline std::string integer(int64_t value) {
  return "\x8a\x08" + little(static_cast<uint64_t>(value), 8);
}
inline std::string tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (const int64_t value : values) {
    out += integer(value);
  }
  return out + "t";
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string storage(const std::string& type, const std::string& key, int64_t elements) {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") +
         integer(elements) + "tQ";
}
inline std::string ordered_dict() {
  return global("collections", "OrderedDict") + ")R";
}
// `metadata`: a further argument, as torch has it where a view is negated or conjugated.
inline std::string tensor(const std::string& storage, int64_t offset,
                          const std::vector<int64_t>& shape, const std::vector<int64_t>& stride,
                          const std::string& metadata = "") {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage + integer(offset) +
         tuple(shape) + tuple(stride) + "\x89" + ordered_dict() + metadata + "tR";
}
inline std::string parameter(const std::string& tensor) {
  return global("torch._utils", "_rebuild_parameter") + "(" + tensor + "\x88" + ordered_dict() +
         "tR";
}
// Keys and values alternate, each a piece.
inline std::string dict(const std::vector<std::string>& items) {
  std::string out = "}(";
  for (const std::string& item : items) {
    out += item;
  }
  return out + "u";
}
inline std::string whole(const std::string& body) {
  return "\x80\x02" + body + ".";
}

}  // namespace pickle

// What torch.save writes: pickle, storages, byte order.
inline std::string torch_file(const std::string& body, const std::vector<std::string>& storages,
                              const std::string& byte_order = "little") {
  std::vector<ZipPart> parts{
      {.name = "archive/data.pkl", .content = pickle::whole(body), .descriptor = true}};
  parts.push_back({.name = "archive/byteorder", .content = byte_order, .descriptor = true});
  for (size_t i = 0; i < storages.size(); ++i) {
    parts.push_back(
        {.name = "archive/data/" + std::to_string(i), .content = storages[i], .descriptor = true});
  }
  parts.push_back({.name = "archive/version", .content = "3\n", .descriptor = true});
  return zip(parts);
}

}  // namespace quench::test
