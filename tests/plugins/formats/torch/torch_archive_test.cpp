#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/plugins/formats/torch/archive_source.hpp"
#include "tests/support/temporary.hpp"

using quench::test::ArchiveSource;
using quench::test::bytes_of;
using quench::test::format_message_of;
using quench::test::TemporaryDir;
using quench::test::torch_file;
using quench::test::zip;

namespace p = quench::test::pickle;

namespace {

std::vector<float> counted(size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

}  // namespace

TEST_CASE("TorchArchive: views, strides, ties and parameters", "[formats][torch]") {
  const TemporaryDir folder;
  const std::string storage = p::storage("FloatStorage", "0", 24);
  const std::string body = p::dict({
      p::text("whole"),
      p::tensor(storage, 0, {4, 6}, {6, 1}),
      p::text("tied"),
      p::parameter(p::tensor(storage, 0, {4, 6}, {6, 1})),
      p::text("rows"),
      p::tensor(storage, 6, {2, 6}, {6, 1}),
      p::text("transposed"),
      p::tensor(storage, 0, {6, 4}, {1, 6}),
      p::text("columns"),
      p::tensor(storage, 2, {4, 3}, {6, 1}),
      p::text("expanded"),
      p::tensor(storage, 5, {3, 2}, {0, 1}),
      p::text("scalar"),
      p::tensor(storage, 23, {}, {}),
      p::text("empty"),
      p::tensor(storage, 24, {0, 5}, {5, 1}),
      p::text("one"),
      p::tensor(storage, 3, {1, 2, 1}, {99, 1, 77}),
  });
  const ArchiveSource source(folder.write("a.bin", torch_file(body, {bytes_of(counted(24))})));
  REQUIRE(source.count() == 9);
  CHECK(source.info(1).shared_with == 0);
  CHECK(source.info(2).shared_with == 2);
  CHECK(source.info(3).shape == std::vector<int64_t>{6, 4});
  CHECK(read_float32(source, 0) == counted(24));
  CHECK(read_float32(source, 1) == counted(24));
  CHECK(read_float32(source, 2)[0] == 6);
  CHECK(read_float32(source, 3) == std::vector<float>{0, 6, 12, 18, 1, 7,  13, 19, 2, 8,  14, 20,
                                                      3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23});
  CHECK(read_float32(source, 4) == std::vector<float>{2, 3, 4, 8, 9, 10, 14, 15, 16, 20, 21, 22});
  CHECK(read_float32(source, 5) == std::vector<float>{5, 6, 5, 6, 5, 6});
  CHECK(read_float32(source, 6) == std::vector<float>{23});
  CHECK(read_float32(source, 7).empty());
  CHECK(read_float32(source, 8) == std::vector<float>{3, 4});
  // Any piece equals the same piece of the whole.
  for (uint64_t tensor = 0; tensor < source.count(); ++tensor) {
    const std::vector<float> all = read_float32(source, tensor);
    for (size_t first = 0; first < all.size(); ++first) {
      for (size_t count = 1; first + count <= all.size(); ++count) {
        std::vector<float> piece(count);
        source.read(tensor, first, count, piece.data());
        REQUIRE(std::equal(piece.begin(), piece.end(), all.begin() + static_cast<long>(first)));
      }
    }
  }
}

TEST_CASE("TorchArchive: a view whose negation torch left undone is negated", "[formats][torch]") {
  const auto [type, ones, bytes] = GENERATE(table<std::string, std::vector<float>, std::string>({
      {"FloatStorage", {1, 2}, bytes_of(std::vector<float>{1, 2})},
      {"DoubleStorage", {1, 2}, bytes_of(std::vector<double>{1, 2})},
      {"HalfStorage", {1, 2}, bytes_of(std::vector<uint16_t>{0x3C00, 0x4000})},
      {"BFloat16Storage", {1, 2}, bytes_of(std::vector<uint16_t>{0x3F80, 0x4000})},
  }));
  CAPTURE(type);
  const TemporaryDir folder;
  const std::string storage = p::storage(type, "0", 2);
  const auto view = [&](const std::string& metadata) {
    return p::tensor(storage, 0, {2}, {1}, metadata);
  };
  const std::string body = p::dict({
      p::text("plain"),
      view(""),
      p::text("none"),
      view("N"),
      p::text("not"),
      view(p::dict({p::text("neg"), "\x89"})),
      p::text("conjugated"),  // of a real number: itself
      view(p::dict({p::text("conj"), "\x88"})),
      p::text("negated"),
      view(p::dict({p::text("neg"), "\x88"})),
      p::text("column"),
      p::tensor(storage, 1, {1, 2}, {1, 0}, p::dict({p::text("neg"), "\x88"})),
  });
  const ArchiveSource source(folder.write("a.bin", torch_file(body, {bytes})));
  REQUIRE(source.count() == 6);
  for (uint64_t same = 0; same < 4; ++same) {
    CHECK(source.info(same).shared_with == 0);
    CHECK(read_float32(source, same) == ones);
  }
  CHECK(source.info(4).shared_with == 4);
  CHECK(read_float32(source, 4) == std::vector<float>{-1, -2});
  CHECK(read_float32(source, 5) == std::vector<float>{-2, -2});
}

TEST_CASE("TorchArchive: metadata that are not read are refused by name", "[formats][torch][bad]") {
  const TemporaryDir folder;
  const auto message = [&](const std::string& type, const std::string& metadata) {
    const std::string body =
        p::dict({p::text("w"), p::tensor(p::storage(type, "0", 1), 0, {1}, {1}, metadata)});
    const auto path = folder.write("a.bin", torch_file(body, {std::string(4, '\0')}));
    return format_message_of([&] { const ArchiveSource source(path); }, folder.path());
  };
  const std::string start = "a.bin: tensor 'w': its metadata ";
  CHECK(message("FloatStorage", p::dict({p::text("zero"), "\x88"})) ==
        start + "have 'zero', read are neg and conj");
  CHECK(message("FloatStorage", p::dict({p::text("neg"), p::integer(1)})) ==
        start + "have 'neg', read are neg and conj");
  CHECK(message("FloatStorage", p::dict({p::integer(1), "\x88"})) ==
        start + "have 'an integer', read are neg and conj");
  CHECK(message("IntStorage", p::dict({p::text("neg"), "\x88"})) ==
        start + "say neg of I32 elements, read is neg of floats");
  CHECK(message("FloatStorage", "]") ==
        "a.bin: data.pkl: byte 167: tensor metadata is a list, wanted a dict");
}

TEST_CASE("TorchArchive: strided views larger than the window read right", "[formats][torch]") {
  const TemporaryDir folder;
  constexpr int64_t kRows = 1500;
  constexpr int64_t kColumns = 1000;
  const std::string storage = p::storage("FloatStorage", "0", kRows * kColumns);
  const std::string body =
      p::dict({p::text("columns"), p::tensor(storage, 7, {kRows, 3}, {kColumns, 1}),
               p::text("transposed"), p::tensor(storage, 0, {kColumns, kRows}, {1, kColumns})});
  const ArchiveSource source(
      folder.write("a.bin", torch_file(body, {bytes_of(counted(kRows * kColumns))})));
  const std::vector<float> columns = read_float32(source, 0);
  const std::vector<float> transposed = read_float32(source, 1);
  for (int64_t row = 0; row < kRows; ++row) {
    REQUIRE(columns[static_cast<size_t>(row * 3 + 2)] == static_cast<float>(row * kColumns + 9));
    REQUIRE(transposed[static_cast<size_t>(999 * kRows + row)] ==
            static_cast<float>(row * kColumns + 999));
  }
}

TEST_CASE("TorchArchive: every element type", "[formats][torch]") {
  const auto [type, dtype, size] = GENERATE(table<std::string, std::string, size_t>({
      {"DoubleStorage", "F64", 8},
      {"FloatStorage", "F32", 4},
      {"HalfStorage", "F16", 2},
      {"BFloat16Storage", "BF16", 2},
      {"LongStorage", "I64", 8},
      {"IntStorage", "I32", 4},
      {"ShortStorage", "I16", 2},
      {"CharStorage", "I8", 1},
      {"ByteStorage", "U8", 1},
      {"BoolStorage", "BOOL", 1},
  }));
  const TemporaryDir folder;
  const std::string data = std::string("abcdefghijklmnop").substr(0, 2 * size);
  const std::string body =
      p::dict({p::text("w"), p::tensor(p::storage(type, "0", 2), 0, {2}, {1})});
  const ArchiveSource source(folder.write("a.bin", torch_file(body, {data})));
  CHECK(quench::dtype_name(source.info(0).dtype) == dtype);
  std::string second(size, '\0');
  source.read(0, 1, 1, second.data());
  CHECK(second == data.substr(size));
}

TEST_CASE("TorchArchive: takes the state dict and leaves the optimizer alone", "[formats][torch]") {
  const TemporaryDir folder;
  const std::string weight = p::tensor(p::storage("FloatStorage", "0", 2), 0, {2}, {1});
  // The optimizer's storage is not even in the file.
  const std::string moment = p::tensor(p::storage("FloatStorage", "7", 2), 0, {2}, {1});
  const std::string body = p::dict({
      p::text("step"),
      p::integer(5),
      p::text("optimizer"),
      p::dict({p::text("state"), p::dict({p::integer(0), p::dict({p::text("m"), moment})}),
               p::text("param_groups"),
               "](" + p::dict({p::text("lr"), "G" + std::string(8, 1)}) + "e"}),
      p::text("state_dict"),
      p::ordered_dict() + "(" + p::text("layer") + p::dict({p::text("w"), weight}) +
          p::text("flag") + "\x88u" + "}b",
  });
  const ArchiveSource source(
      folder.write("a.pth", torch_file(body, {bytes_of(std::vector<float>{1, 2})})));
  REQUIRE(source.count() == 1);
  CHECK(source.info(0).name == "layer.w");
  CHECK(read_float32(source, 0) == std::vector<float>{1, 2});
}

TEST_CASE("TorchArchive: reads what is asked for and no byte of an optimizer", "[formats][torch]") {
  const TemporaryDir folder;
  const auto elements = [](uint64_t count) {
    return std::vector<int64_t>{static_cast<int64_t>(count)};
  };
  constexpr uint64_t kElements = 1 << 18;
  const auto make = [&](const std::string& key) {
    return p::tensor(p::storage("FloatStorage", key, kElements), 0, elements(kElements), {1});
  };
  const std::string body = p::dict({
      p::text("model"),
      p::dict({p::text("a"), make("0"), p::text("tied"), make("0")}),
      p::text("optimizer"),
      p::dict({p::text("state"), p::dict({p::integer(0), p::dict({p::text("m"), make("1"),
                                                                  p::text("v"), make("2")})})}),
  });
  const std::string storage(kElements * 4, 'x');
  const auto path = folder.write("a.pth", torch_file(body, {storage, storage, storage}));
  // What this process has read so far, in bytes.
  const auto bytes_read = [] {
    std::ifstream io("/proc/self/io");
    std::string label;
    uint64_t bytes = 0;
    io >> label >> bytes;
    return bytes;
  };
  const uint64_t before = bytes_read();
  const ArchiveSource source(path);
  REQUIRE(source.count() == 2);
  CHECK(source.info(1).shared_with == 0);
  std::string out(kElements * 4, '\0');
  source.read(0, 0, kElements, out.data());
  const uint64_t read = bytes_read() - before;
  CHECK(out == storage);
  CHECK(read >= storage.size());
  CHECK(static_cast<double>(read) <= 1.05 * static_cast<double>(storage.size()));
}

TEST_CASE("TorchArchive: names lose what wrappers of torch put into them", "[formats][torch]") {
  const TemporaryDir folder;
  const std::string weight = p::tensor(p::storage("FloatStorage", "0", 2), 0, {2}, {1});
  const auto names = [&](const std::vector<std::string>& given) {
    std::vector<std::string> items;
    for (const std::string& name : given) {
      items.push_back(p::text(name));
      items.push_back(weight);
    }
    const ArchiveSource source(folder.write(
        "a.pth",
        torch_file(p::dict({p::text("state_dict"), p::dict(items)}), {std::string(8, 'x')})));
    std::vector<std::string> out;
    for (uint64_t i = 0; i < source.count(); ++i) {
      out.push_back(source.info(i).name);
    }
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names({"module.a.w", "module.b"}) == Names{"a.w", "b"});
  CHECK(names({"_orig_mod.a", "_orig_mod.b"}) == Names{"a", "b"});
  CHECK(names({"module._orig_mod.a", "module._orig_mod.b"}) == Names{"a", "b"});
  CHECK(names({"_orig_mod.module.module.a"}) == Names{"a"});
  CHECK(names({"layers.0._orig_mod.w", "head"}) == Names{"layers.0.w", "head"});
  CHECK(names({"module.a", "b"}) == Names{"module.a", "b"});  // not a wrapper's
  CHECK(names({"my_orig_mod.a"}) == Names{"my_orig_mod.a"});
  CHECK_THAT(quench::test::format_message_of([&] {
               names({"a", "_orig_mod.a"});
             }),
             Catch::EndsWith("two tensors are called 'a' without \"module.\" and \"_orig_mod.\""));
}

TEST_CASE("TorchArchive: a key of weights counts only where the root has none itself",
          "[formats][torch]") {
  const TemporaryDir folder;
  const std::string weight = p::tensor(p::storage("FloatStorage", "0", 2), 0, {2}, {1});
  const auto names = [&](const std::string& body) {
    const ArchiveSource source(folder.write("a.pth", torch_file(body, {std::string(8, 'x')})));
    std::string out;
    for (uint64_t i = 0; i < source.count(); ++i) {
      out += source.info(i).name + " ";
    }
    return out;
  };
  const std::string state = p::dict({p::text("w"), weight});
  CHECK(names(p::dict({p::text("model_state_dict"), state, p::text("optimizer"), state})) == "w ");
  CHECK(names(p::dict({p::text("model"), state, p::text("optimizer"), state})) == "w ");
  CHECK(names(p::dict({p::text("model"), state, p::text("head"), weight})) == "model.w head ");
  CHECK(names(p::dict({p::text("model"), state, p::text("state_dict"),
                       p::dict({p::text("v"), weight})})) == "v ");
}

TEST_CASE("TorchArchive: members that nothing refers to are listed", "[formats][torch]") {
  const TemporaryDir folder;
  const std::string body =
      p::dict({p::text("w"), p::tensor(p::storage("ByteStorage", "0", 1), 0, {1}, {1})});
  const ArchiveSource source(
      folder.write("a.bin", zip({{.name = "x/data.pkl", .content = p::whole(body)},
                                 {.name = "x/data/0", .content = "a"},
                                 {.name = "x/evil/data.pkl", .content = "cos\nsystem\n"}})));
  CHECK(source.ignored_members() == std::vector<std::string>{"x/evil/data.pkl"});
}

TEST_CASE("TorchArchive: bad files are refused with the reason", "[formats][torch][bad]") {
  struct Case {
    std::string bytes;
    std::string message;
  };
  const auto weight = [](const std::string& key, int64_t elements) {
    return p::tensor(p::storage("FloatStorage", key, elements), 0, {2}, {1});
  };
  const std::string good = p::dict({p::text("w"), weight("0", 2)});
  const std::string two = "12345678";
  std::string tar(600, '\0');
  tar.replace(257, 5, "ustar");
  const auto [bytes, message] = GENERATE_COPY(values<Case>({
      {"", "f.bin: not a torch checkpoint: no zip archive (0 bytes)"},
      {"hello", "f.bin: not a torch checkpoint: no zip archive (5 bytes)"},
      {tar,
       "f.bin: the tar format of torch before 0.1.10: not read; convert it in Python where you "
       "trust the file: torch.save(torch.load('f.bin', weights_only=True), 'converted.bin')"},
      {p::whole(good),
       "f.bin: a bare pickle, or the format of torch before 1.6: not read; convert it in Python "
       "where you trust the file: torch.save(torch.load('f.bin', weights_only=True), "
       "'converted.bin')"},
      {zip({{.name = "a/b", .content = "x"}}).insert(0, ""),
       "f.bin: not a torch checkpoint: the zip archive has no data.pkl"},
      {zip({{.name = "a/data.pkl", .content = p::whole(good)},
            {.name = "b/data.pkl", .content = p::whole(good)}}),
       "f.bin: two pickles, 'a/data.pkl' and 'b/data.pkl'"},
      {zip({{.name = "a/data.pkl", .content = p::whole(good), .wrong_crc = 1}}),
       "f.bin: zip archive: member 'a/data.pkl': checksum c0f08020, wanted c0f08021"},
      {torch_file(good, {two}, "big"), "f.bin: byte order 'big', wanted 'little'"},
      {torch_file(good, {}), "f.bin: tensor 'w': its storage '0' is not in the archive"},
      {torch_file(good, {"1234567"}),
       "f.bin: tensor 'w': its storage '0' has 7 bytes, which is not 2 F32 elements"},
      {torch_file(good, {"123456789"}),
       "f.bin: tensor 'w': its storage '0' has 9 bytes, which is not 2 F32 elements"},
      {torch_file(p::dict({p::text("w"), weight("../version", 2)}), {two}),
       "f.bin: tensor 'w': its storage '../version' is not in the archive"},
      {torch_file(p::dict({p::text("w"), weight("0", 2), p::text("w"), weight("0", 2)}), {two}),
       "f.bin: tensor 'w': name given twice"},
      {torch_file(p::dict({p::text("w"), p::integer(1)}), {}),
       "f.bin: data.pkl: no tensor at the root or under 'state_dict', 'model' or "
       "'model_state_dict'"},
      {torch_file("]", {}), "f.bin: data.pkl: holds a list, wanted a dict of tensors"},
      {torch_file(weight("0", 2), {two}),
       "f.bin: data.pkl: holds a tensor, wanted a dict of tensors"},
      {torch_file(p::dict({"N", weight("0", 2)}), {two}),
       "f.bin: data.pkl: the key of a tensor is None, wanted a string"},
      {torch_file(p::dict({p::text("\xff"), weight("0", 2)}), {two}),
       "f.bin: data.pkl: tensor name '\\xff' is not UTF-8"},
      {torch_file(p::dict({p::text(std::string("a\0b", 3)), weight("0", 2)}), {two}),
       "f.bin: tensor 'a\\x00b': name holds a NUL"},
      {torch_file(p::dict({p::text("w"), weight("0", INT64_MAX)}), {two}),
       "f.bin: tensor 'w': its storage '0' has 8 bytes, which is not 9223372036854775807 F32 "
       "elements"},
      {torch_file(p::dict({p::text(std::string(5000, 'x')), weight("0", 2)}), {two}),
       "f.bin: data.pkl: tensor name of 5000 bytes, at most 4096 are read"},
      {torch_file(p::dict({p::text("w"), p::global("posix", "system") + p::text("id") + "\x85R"}),
                  {}),
       "f.bin: data.pkl: byte 10: names 'posix.system', refused: a checkpoint may name only "
       "tensors, storages, dtypes and OrderedDict, and nothing in it is executed"},
  }));
  const TemporaryDir folder;
  const auto path = folder.write("f.bin", bytes);
  CHECK(format_message_of([&] { ArchiveSource{path}; }, folder.path()) == message);
}
