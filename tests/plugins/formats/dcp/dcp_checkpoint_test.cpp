// What torch itself wrote (tests/data/dcp.py), to the bit, and folders that are damaged.
#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>

#include "core/checkpoint/safetensors.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/plugins/formats/dcp/dcp_files.hpp"
#include "tests/plugins/formats/dcp/dcp_source.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

using quench::test::DcpSource;
using quench::test::format_message_of;
using quench::test::TemporaryDir;

namespace dcp = quench::test::dcp;
namespace fs = std::filesystem;
namespace p = quench::test::pickle;

namespace {

fs::path dcp_data() {
  return quench::test::source_dir() / "tests/data/dcp";
}

std::string tensor_bytes(const quench::TensorSource& source, uint64_t tensor, uint64_t first,
                         uint64_t elements) {
  const uint64_t size = source.info(tensor).dtype.bits / 8U;
  std::string out(elements * size, '\xEE');
  if (elements > 0) {
    source.read(tensor, first, elements, out.data());
  }
  return out;
}

uint64_t element_count_of(const quench::TensorSource& source, uint64_t tensor) {
  uint64_t out = 1;
  for (const int64_t size : source.info(tensor).shape) {
    out *= static_cast<uint64_t>(size);
  }
  return out;
}

// Why the folder is not read, "" if it is.
std::string reading_fault(const fs::path& folder) {
  return format_message_of(
      [&] {
        const DcpSource source(folder);
        for (uint64_t i = 0; i < source.count(); ++i) {
          tensor_bytes(source, i, 0, element_count_of(source, i));
        }
      },
      folder);
}

// A folder with two parts of rows, [2, 2] and [1, 2], of one tensor; `written` is what `.metadata`
// says of them.
struct TwoParts {
  TemporaryDir folder;
  std::string first = dcp::entry({1, 2, 3, 4}, {2, 2});
  std::string second = dcp::entry({5, 6}, {1, 2});

  int64_t first_bytes() const { return static_cast<int64_t>(first.size()); }
  int64_t second_bytes() const { return static_cast<int64_t>(second.size()); }
  std::vector<std::string> storage() const {
    return {dcp::index("w", {0, 0}), dcp::info("__0_0.distcp", 0, first_bytes()),
            dcp::index("w", {2, 0}), dcp::info("__1_0.distcp", 3, second_bytes())};
  }
  std::string written(const std::vector<std::string>& chunks,
                      const std::vector<std::string>& storage,
                      const dcp::Numbers& shape = {3, 2}) const {
    folder.write("__0_0.distcp", first);
    folder.write("__1_0.distcp", "abc" + second);
    folder.write(".metadata", dcp::metadata({p::text("w"), dcp::tensor(shape, chunks)}, storage));
    return reading_fault(folder.path());
  }
  std::string written(const std::vector<std::string>& storage) const {
    return written({dcp::chunk({0, 0}, {2, 2}), dcp::chunk({2, 0}, {1, 2})}, storage);
  }
};

}  // namespace

TEST_CASE("dcp: what torch saved in one and in four processes is what was saved, to the bit",
          "[formats][dcp]") {
  const auto [name, count] = GENERATE(table<std::string, uint64_t>({{"one", 7}, {"four", 7}}));
  CAPTURE(name);
  const DcpSource got(dcp_data() / name);
  const quench::SafetensorsSource wanted(dcp_data() / (name + ".safetensors"));
  REQUIRE(got.count() == count);  // the model's alone: no optimizer, no step
  REQUIRE(wanted.count() == count);
  for (uint64_t i = 0; i < wanted.count(); ++i) {
    const quench::TensorInfo& info = wanted.info(i);
    CAPTURE(info.name);
    const uint64_t at = got.index_of(info.name);
    CHECK(got.info(at).shape == info.shape);
    CHECK(quench::kit::same(got.info(at).dtype, info.dtype));
    const uint64_t elements = element_count_of(wanted, i);
    const std::string all = tensor_bytes(wanted, i, 0, elements);
    CHECK(tensor_bytes(got, at, 0, elements) == all);
    const uint64_t size = info.dtype.bits / 8U;
    for (uint64_t first = 0; first < elements; ++first) {  // any piece is that of the whole
      for (uint64_t many = 1; first + many <= elements; ++many) {
        REQUIRE(tensor_bytes(got, at, first, many) == all.substr(first * size, many * size));
      }
    }
  }
}

TEST_CASE("dcp: the program opens such a folder by itself, and says why it does not",
          "[formats][dcp]") {
  const auto opened =
      quench::open_checkpoint_folder(quench::test::built_catalog(), dcp_data() / "four");
  CHECK(opened.source->index_of("both") < 7);
  REQUIRE(opened.files.size() == 5);  // the metadata and a file of each process
  const TemporaryDir folder;
  folder.write("__0_0.distcp", "x");
  CHECK_THAT(format_message_of([&] {
               quench::open_checkpoint_folder(quench::test::built_catalog(), folder.path());
             }),
             Catch::Contains("have no .metadata beside them, which torch writes last"));
}

TEST_CASE("dcp: a part of columns that is larger than a window reads right", "[formats][dcp]") {
  constexpr int64_t kRows = 3000;
  constexpr int64_t kColumns = 1000;
  constexpr int64_t kLeft = 700;
  std::vector<float> left;
  std::vector<float> right;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    (i % kColumns < kLeft ? left : right).push_back(static_cast<float>(i));
  }
  const std::string a = dcp::entry(left, {kRows, kLeft});
  const std::string b = dcp::entry(right, {kRows, kColumns - kLeft});
  const TemporaryDir folder;
  folder.write("f.distcp", a + b);
  const auto a_bytes = static_cast<int64_t>(a.size());
  folder.write(
      ".metadata",
      dcp::metadata(
          {p::text("w"), dcp::tensor({kRows, kColumns},
                                     {dcp::chunk({0, 0}, {kRows, kLeft}),
                                      dcp::chunk({0, kLeft}, {kRows, kColumns - kLeft})})},
          {dcp::index("w", {0, 0}), dcp::info("f.distcp", 0, a_bytes), dcp::index("w", {0, kLeft}),
           dcp::info("f.distcp", a_bytes, static_cast<int64_t>(b.size()))}));
  const DcpSource source(folder.path());
  std::vector<float> wanted(kRows * kColumns);
  std::iota(wanted.begin(), wanted.end(), 0.0F);
  CHECK(read_float32(source, 0) == wanted);
}

TEST_CASE("dcp: which tensors are weights, and under which names", "[formats][dcp]") {
  struct Case {
    std::vector<std::vector<std::string>> paths;  // of keys
    std::vector<std::string> names;               // of the weights, or the message
    bool planner = true;
  };
  const auto given = GENERATE(values<Case>({
      // a trainer's key, and a model that has a `model` of its own
      {{{"model", "model.norm"}, {"model", "head"}, {"optimizer", "norm"}, {"step"}},
       {"model.norm", "head"}},
      // the model's own state dict: every name of it begins with "model."
      {{{"model.norm"}, {"model.embed"}, {"optimizer", "norm"}}, {"model.norm", "model.embed"}},
      {{{"model.norm"}, {"optim.norm"}}, {"model.norm"}},
      {{{"state", "model", "norm"}, {"state", "optimizers", "norm"}}, {"norm"}},
      {{{"state_dict", "module._orig_mod.a"}, {"state_dict", "module.b"}}, {"a", "b"}},
      {{{"model", "layers", "0", "w"}}, {"layers.0.w"}},
      {{{"model.norm"}}, {"model.norm"}, false},
      {{{"optimizer", "a"}, {"loader", "b"}},
       {".metadata: no tensor at the root or under 'state_dict', 'model' or 'model_state_dict'; "
        "there are tensors under 'loader', 'optimizer'"}},
      {{}, {".metadata: holds no tensor"}},
  }));
  const TemporaryDir folder;
  const std::string entry = dcp::entry({1}, {1});
  folder.write("f.distcp", entry);
  std::vector<std::string> tensors;
  std::vector<std::string> storage;
  std::vector<std::string> planner;
  for (const std::vector<std::string>& path : given.paths) {
    std::string fqn;
    std::string keys = "(";
    for (const std::string& key : path) {
      fqn += (fqn.empty() ? "" : ".") + key;
      keys += p::text(key);
    }
    tensors.insert(tensors.end(), {p::text(fqn), dcp::tensor({1}, {dcp::chunk({0}, {1})})});
    storage.insert(storage.end(), {dcp::index(fqn, {0}),
                                   dcp::info("f.distcp", 0, static_cast<int64_t>(entry.size()))});
    planner.insert(planner.end(), {p::text(fqn), keys + "t"});
  }
  folder.write(".metadata",
               dcp::metadata(tensors, storage, given.planner ? p::dict(planner) : "N"));
  std::vector<std::string> names;
  const std::string why = format_message_of(
      [&] {
        const DcpSource source(folder.path());
        for (uint64_t i = 0; i < source.count(); ++i) {
          names.push_back(source.info(i).name);
        }
      },
      folder.path());
  CHECK((why.empty() ? names : std::vector<std::string>{why}) == given.names);
}

TEST_CASE("dcp: parts that are not the tensor are refused", "[formats][dcp][bad]") {
  const TwoParts two;
  CHECK(two.written(two.storage()).empty());
  const auto chunks = [&](const std::vector<std::string>& all, const dcp::Numbers& shape = {3, 2}) {
    return two.written(all, two.storage(), shape);
  };
  const std::string start = ".metadata: tensor 'w': ";
  CHECK(chunks({dcp::chunk({0, 0}, {2, 2}), dcp::chunk({2, 0}, {1, 2})}, {4, 2}) ==
        start + "its 2 parts have 6 elements, wanted the 8 of its shape [4, 2]");
  CHECK(chunks({dcp::chunk({0, 0}, {2, 2}), dcp::chunk({2, 0}, {2, 2})}) ==
        start + "its part [2, 2] at [2, 0] reaches outside its shape [3, 2]");
  CHECK(chunks({dcp::chunk({0, 0}, {3, 2}), dcp::chunk({2, 0}, {1, 2})}) ==
        start + "its parts [3, 2] at [0, 0] and [1, 2] at [2, 0] overlap");
  CHECK(chunks({dcp::chunk({0, 0}, {2, 2}), dcp::chunk({0, 0}, {2, 2})}) ==
        start + "its parts [2, 2] at [0, 0] and [2, 2] at [0, 0] overlap");
  CHECK(chunks({dcp::chunk({0, 0}, {2, 2})}) ==
        start + "storage_data has an entry at [2, 0], where no part of it begins");
  CHECK(chunks({dcp::chunk({0}, {2})}) ==
        start + "its part [2] at [0] has not the dimensions of its shape [3, 2]");
  CHECK(chunks({dcp::chunk({0, 0}, {-1, 2})}) ==
        start + "the sizes of a part holds -1, wanted integers that are not negative");
  CHECK(chunks({dcp::chunk({0, 0}, {2, 2})}, {int64_t{1} << 40, int64_t{1} << 40}) ==
        start + "shape [1099511627776, 1099511627776] overflows");
  CHECK(chunks({dcp::chunk({INT64_MAX, 0}, {1, 2})}) ==
        start + "storage_data has an entry at [0, 0], where no part of it begins");
  CHECK(two.written({two.storage()[0], two.storage()[1]}) ==
        start + "its part [1, 2] at [2, 0] has no entry in storage_data");
  CHECK(two.written({two.storage()[0], two.storage()[1], two.storage()[0], two.storage()[1]}) ==
        start + "its part [2, 2] at [0, 0] has two entries in storage_data");
}

TEST_CASE("dcp: files that are not what the metadata say are refused", "[formats][dcp][bad]") {
  const TwoParts two;
  const auto second = [&](const std::string& info) {
    return two.written({two.storage()[0], two.storage()[1], two.storage()[2], info});
  };
  const std::string whose = "tensor 'w': its part [1, 2] at [2, 0]";
  CHECK(second(dcp::info("gone.distcp", 0, 1)) ==
        whose + ": lies in 'gone.distcp', which is not in the folder");
  CHECK(second(dcp::info("../up.distcp", 0, 1)) ==
        whose + ": lies in '../up.distcp', which is not in the folder");
  const int64_t bytes = two.second_bytes();
  CHECK(second(dcp::info("__1_0.distcp", 3, bytes + 1)) ==
        fmt::format("__1_0.distcp: {}: {} bytes, wanted {} from byte 3 on: the file is truncated, "
                    "or of another save",
                    whose, bytes + 3, bytes + 1));
  CHECK_THAT(second(dcp::info("__1_0.distcp", INT64_MAX, INT64_MAX)),
             Catch::Contains("the file is truncated"));
  CHECK(second(dcp::info("__1_0.distcp", -1, 1)) ==
        ".metadata: " + whose + " is 1 bytes from byte -1 on, wanted no negative numbers");
  CHECK_THAT(second(dcp::info("__1_0.distcp", 2, bytes + 1)),
             Catch::StartsWith("__1_0.distcp: from byte 2: not a torch checkpoint"));
  CHECK_THAT(second(dcp::info("__1_0.distcp", 3, bytes - 1)),
             Catch::StartsWith("__1_0.distcp: from byte 3: zip archive: no end record"));
  CHECK(second(dcp::info("__0_0.distcp", 0, two.first_bytes())) ==
        "__0_0.distcp: from byte 0: " + whose +
            " is F32 [2, 2], wanted F32 [1, 2] as .metadata says");
  CHECK(
      second(dcp::info("__1_0.distcp", 3, bytes,
                       {p::text("transform_descriptors"), "](" + p::text("stream.zstd") + "e"})) ==
      ".metadata: " + whose +
          " was transformed by 'stream.zstd' as it was written, which is not read");
}

// Where the last weight of a file ends: behind it an optimizer's state may lie.
size_t end_of_weights(const fs::path& folder, const std::string& file) {
  const std::string pickle = quench::test::read_file(folder / ".metadata");
  uint64_t end = 0;
  for (const auto& tensor : quench::formats::read_metadata(pickle, "f")) {
    for (const auto& part : tensor.parts) {
      end = part.file == file ? std::max(end, part.offset + part.bytes) : end;
    }
  }
  return end;
}

TEST_CASE("dcp: cut anywhere it is refused", "[formats][dcp][bad]") {
  const TemporaryDir folder;
  for (const auto& file : fs::directory_iterator(dcp_data() / "four")) {
    fs::copy(file.path(), folder.path() / file.path().filename());
  }
  REQUIRE(reading_fault(folder.path()).empty());
  const std::string rank = "__3_0.distcp";
  const size_t end = end_of_weights(folder.path(), rank);
  REQUIRE(end > 1000);
  const auto check = [&](const std::string& name, size_t until, size_t step) {
    const std::string whole = quench::test::read_file(folder.path() / name);
    for (size_t size = 0; size < until; size += step) {
      folder.write(name, whole.substr(0, size));
      const std::string why = reading_fault(folder.path());
      INFO(name << " cut to " << size << " bytes: " << why);
      CHECK_THAT(why, Catch::StartsWith(name));
    }
    folder.write(name, whole);
  };
  check(".metadata", fs::file_size(folder.path() / ".metadata"), 13);
  check(rank, end, 401);
}
