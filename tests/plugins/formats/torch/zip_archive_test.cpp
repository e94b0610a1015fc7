#include "formats/torch_archive/zip_archive.hpp"

#include <catch2/catch.hpp>

#include "tests/core/checkpoint/builders.hpp"
#include "tests/plugins/formats/torch/archive_source.hpp"
#include "tests/support/temporary.hpp"

using quench::formats::ZipArchive;
using quench::test::format_message_of;
using quench::test::TemporaryDir;
using quench::test::TestFile;
using quench::test::zip;
using quench::test::ZipPart;
using quench::test::ZipShape;

TEST_CASE("ZipArchive: finds stored members with and without zip64 and descriptors",
          "[formats][torch]") {
  const bool zip64 = GENERATE(false, true);
  const bool descriptor = GENERATE(false, true);
  const TemporaryDir folder;
  const TestFile file(
      folder.write("z", zip({{.name = "a/b", .content = "hello", .descriptor = descriptor},
                             {.name = "c", .content = "", .descriptor = descriptor}},
                            {.zip64 = zip64})));
  const ZipArchive archive(file.get());
  CHECK(archive.members().size() == 2);
  CHECK(archive.read(*archive.find("a/b"), 5) == "hello");
  CHECK(archive.read(*archive.find("c"), 5).empty());
  CHECK(archive.find("a") == nullptr);
  CHECK(format_message_of([&] { archive.read(*archive.find("a/b"), 4); }, folder.path()) ==
        "z: zip archive: member 'a/b': 5 bytes, at most 4 are read");
}

TEST_CASE("ZipArchive: a wrong checksum is data loss", "[formats][torch][bad]") {
  const TemporaryDir folder;
  const TestFile file(folder.write("z", zip({{.name = "a", .content = "x", .wrong_crc = 1}})));
  const ZipArchive archive(file.get());
  CHECK(format_message_of([&] { archive.read(*archive.find("a"), 5); }, folder.path()) ==
        "z: zip archive: member 'a': checksum 8cdc1683, wanted 8cdc1684");
}

TEST_CASE("ZipArchive: bad archives are refused with the reason", "[formats][torch][bad]") {
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::string good = zip({{.name = "a", .content = "xy"}});
  const std::string saturated = std::string("PK\x05\x06") + std::string(4, '\0') +
                                std::string(12, '\xff') + std::string(2, '\0');
  const auto [bytes, message] = GENERATE_COPY(values<Case>({
      {"PK", "z: zip archive: 2 bytes, shorter than an end record"},
      {good.substr(0, good.size() - 1),
       "z: zip archive: no end record in the last 22 bytes: the file is truncated or has bytes "
       "appended"},
      {good + "x",
       "z: zip archive: no end record in the last 22 bytes: the file is truncated or has bytes "
       "appended"},
      {zip({{.name = "a", .content = "xy", .method = 8}}),
       "z: zip archive: member 'a': compressed (method 8), torch.save only stores"},
      {zip({{.name = "a", .content = "xy", .flags = 1}}), "z: zip archive: member 'a': encrypted"},
      {zip({{.name = "a", .content = "xy", .local_name = "b"}}),
       "z: zip archive: member 'a': local header disagrees with the central directory in its name"},
      {zip({{.name = "a", .content = "xy", .local_size = 1}}),
       "z: zip archive: member 'a': local header disagrees with the central directory in its size"},
      {zip({{.name = "a", .content = "xy", .local_size = 0}}),
       "z: zip archive: member 'a': local header disagrees with the central directory in its size"},
      {zip({{.name = "a", .content = "xy", .local_method = 8}}),
       "z: zip archive: member 'a': local header disagrees with the central directory in its "
       "method"},
      {zip({{.name = "a", .content = "xy", .descriptor = true, .local_size = 7}}),
       "z: zip archive: member 'a': local header disagrees with the central directory in its size"},
      {zip({{.name = "a", .content = "xy", .central_size = 900, .local_size = 900}}),
       "z: zip archive: member 'a': 900 bytes at offset 31 reach beyond offset 33, where the "
       "directory begins"},
      {zip({{.name = "a", .content = "xy", .central_size = 0xFFFFFFFF}}),
       "z: zip archive: member 'a': zip64 extra field is missing or too short"},
      {zip({{.name = "a", .content = "xy"}, {.name = "a", .content = "xy"}}),
       "z: zip archive: member 'a': name given twice"},
      {zip({{.name = "a", .content = "xy"}, {.name = "a", .content = "zz", .offset = 0}}),
       "z: zip archive: member 'a': name given twice"},
      {zip({{.name = "a", .content = zip({{.name = "b", .content = "xy"}})},
            {.name = "b", .content = "xy", .offset = 31}}),
       "z: zip archive: member 'b': overlaps member 'a'"},
      {zip({{.name = "a", .content = "xy", .offset = 1}}),
       "z: zip archive: member 'a': no local header at offset 1"},
      {zip({{.name = "a", .content = "xy", .offset = 4000000000}}),
       "z: zip archive: member 'a': local header at offset 4000000000, outside the file"},
      {zip({{.name = "/a", .content = "xy"}}), "z: zip archive: member '/a': unsafe name"},
      {zip({{.name = "a/../../b", .content = "xy"}}),
       "z: zip archive: member 'a/../../b': unsafe name"},
      {zip({{.name = "a\\b", .content = "xy"}}), "z: zip archive: member 'a\\b': unsafe name"},
      {zip({{.name = std::string("a\0b", 3), .content = "xy"}}),
       "z: zip archive: member 'a\\x00b': unsafe name"},
      {zip({{.name = "c:a", .content = "xy"}}), "z: zip archive: member 'c:a': unsafe name"},
      {zip({{.name = "a", .content = "xy"}}, {.between = "?"}),
       "z: zip archive: central directory of 47 bytes at offset 33 does not end at 81"},
      {zip({{.name = "a", .content = "xy"}}, {.members = 2}),
       "z: zip archive: central directory has a damaged entry"},
      {zip({{.name = "a", .content = "xy"}}, {.members = 0}),
       "z: zip archive: 47 bytes after the last entry of the central directory"},
      {zip({{.name = "a", .content = "xy"}}, {.members = 1'000'000}),
       "z: zip archive: 1000000 members, at most 100000 are read"},
      {saturated, "z: zip archive: the zip64 end record is missing"},
  }));
  const TemporaryDir folder;
  const TestFile file(folder.write("z", bytes));
  CHECK(format_message_of([&] { ZipArchive{file.get()}; }, folder.path()) == message);
}

TEST_CASE("ZipArchive: two end records that disagree are refused", "[formats][torch][bad]") {
  const TemporaryDir folder;
  std::string bytes = zip({{.name = "a", .content = "xy"}});
  bytes[bytes.size() - 12] = 2;  // members in the old end record
  bytes[bytes.size() - 14] = 2;
  const TestFile file(folder.write("z", bytes));
  CHECK(format_message_of([&] { ZipArchive{file.get()}; }, folder.path()) ==
        "z: zip archive: the two end records disagree: a second central directory");
}
