// Metadata that were made to harm: nothing is executed, and a small file costs little.
#include "formats/dcp/metadata.hpp"

#include <catch2/catch.hpp>

#include "formats/torch_archive/pickle.hpp"
#include "tests/plugins/formats/dcp/dcp_files.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/support/bounded.hpp"

using quench::formats::read_metadata;
using quench::test::format_message_of;
using quench::test::little;

namespace dcp = quench::test::dcp;
namespace p = quench::test::pickle;

namespace {

std::string refusal(const std::string& pickle) {
  return format_message_of([&] { read_metadata(pickle, "f"); });
}

std::string times_over(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

std::string of_one_tensor(const std::string& tensor) {
  return dcp::metadata({p::text("w"), tensor}, {});
}

}  // namespace

TEST_CASE("dcp metadata: a class that is not of a checkpoint is refused and nothing is executed",
          "[formats][dcp][bad]") {
  const std::string tail =
      "', refused: a checkpoint may name only dtypes and the classes of its metadata, and nothing "
      "in it is executed";
  CHECK(refusal(p::whole(p::global("os", "system") + p::text("true") + "\x85R")) ==
        "f: byte 2: names 'os.system" + tail);
  CHECK(refusal(std::string("\x80\x04\x8c\x05posix\x8c\x06system\x93.", 18)) ==
        "f: byte 17: names 'posix.system" + tail);
  CHECK(refusal(p::whole(p::global("builtins", "eval") + p::text("1") + "\x85R")) ==
        "f: byte 2: names 'builtins.eval" + tail);
  CHECK(refusal(p::whole(p::global("torch.distributed.checkpoint.metadata", "os"))) ==
        "f: byte 2: names 'torch.distributed.checkpoint.metadata.os" + tail);
  // `getattr` is a name and no call: nothing comes of it, whatever it is asked for.
  CHECK(refusal(p::whole(p::global("builtins", "getattr") + "(" +
                         p::global("torch.distributed.checkpoint.metadata", "Metadata") +
                         p::text("__init__") + "tR")) ==
        "f: holds an object, wanted a Metadata of torch.distributed.checkpoint");
}

TEST_CASE("dcp metadata: pickles of other protocols, and instructions that have no use",
          "[formats][dcp][bad]") {
  CHECK(refusal("") == "f: byte 0: truncated");
  CHECK(refusal("\x80\x06.") == "f: byte 0: pickle protocol 6, wanted 2 to 5");
  CHECK(refusal(std::string("\x80\x00N.", 4)) == "f: byte 0: pickle protocol 0, wanted 2 to 5");
  CHECK(refusal("\x80\x04N.") ==
        "f: holds None, wanted a Metadata of torch.distributed.checkpoint");
  CHECK(refusal(std::string("\x80\x04\x95\xff\0\0\0\0\0\0\0N.", 13)) ==
        "f: byte 2: frame of 255 bytes, 2 are left");
  CHECK(refusal(std::string("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffN.", 13)) ==
        "f: byte 2: truncated");
  CHECK(refusal("\x80\x04N0.") ==
        "f: byte 3: instruction POP is refused, metadata of a checkpoint have no use for it");
  CHECK(refusal("\x80\x04NN\x93.") ==
        "f: byte 4: STACK_GLOBAL of something that is not two strings");
  CHECK(refusal("\x80\x04N)\x81.") ==
        "f: byte 4: NEWOBJ of something that is not a class with a tuple of arguments");
  const std::string chunk = dcp::chunk({0}, {1});
  CHECK_THAT(refusal(p::whole(chunk + "}b")), Catch::Contains("BUILD on an object that has its"));
  // What torch.save writes knows none of it.
  CHECK_THAT(format_message_of([&] { quench::formats::read_pickle(p::whole(chunk), "f"); }),
             Catch::Contains("refused: a checkpoint may name only tensors"));
}

TEST_CASE("dcp metadata: values in the wrong places are refused by name", "[formats][dcp][bad]") {
  CHECK(refusal(p::whole(dcp::object("metadata", "Metadata", {}))) ==
        "f: Metadata: its state_dict_metadata is missing, wanted a dict");
  CHECK(refusal(p::whole(p::global("torch.distributed.checkpoint.metadata", "Metadata") +
                         ")\x81")) == "f: Metadata has no attributes");
  CHECK(refusal(of_one_tensor("N")) ==
        "f: the entry 'w' is None, wanted what torch says of a tensor or of bytes");
  CHECK(refusal(dcp::metadata({p::integer(1), "N"}, {})) ==
        "f: the name of a tensor is an integer, wanted a string");
  CHECK(refusal(dcp::metadata({p::text("\xFF"), "N"}, {})) ==
        "f: tensor name '\\xff' is not UTF-8");
  CHECK(refusal(of_one_tensor(dcp::object("metadata", "TensorStorageMetadata", {}))) ==
        "f: tensor 'w': its properties do not begin with an element type");
  CHECK(refusal(of_one_tensor(dcp::tensor({1}, {"N"}))) ==
        "f: tensor 'w': a part is None, wanted a ChunkStorageMetadata");
  CHECK(refusal(of_one_tensor(dcp::tensor(dcp::Numbers(40, 1), {}))) ==
        fmt::format("f: tensor 'w': its size has 40 dimensions, at most {} are read",
                    QUENCH_MAX_DIMENSIONS));
  CHECK(refusal(dcp::metadata(
            {p::text("w"), dcp::tensor({1}, {}), p::text("w"), dcp::tensor({1}, {})}, {})) ==
        "f: two entries are called 'w'");
  CHECK(refusal(
            dcp::metadata({p::text("w"), dcp::tensor({1}, {dcp::chunk({0}, {1})})}, {"N", "N"})) ==
        "f: a key of storage_data is None, wanted a MetadataIndex");
  CHECK(refusal(dcp::metadata({p::text("w"), dcp::tensor({1}, {dcp::chunk({0}, {1})})},
                              {dcp::index("w", {0}), "N"})) ==
        "f: tensor 'w': its part [1] at [0]: its entry in storage_data is None, wanted a "
        "_StorageInfo");
  CHECK(
      refusal(dcp::metadata({p::text("a.b"), dcp::tensor({1}, {})}, {},
                            p::dict({p::text("a.b"), "(" + p::text("a") + p::text("c") + "t"}))) ==
      "f: planner_data: the path of 'a.b' leads to 'a.c'");
  CHECK_THAT(refusal(of_one_tensor(dcp::tensor({1}, {}, "float8_e4m3fn"))),
             Catch::Contains("names 'torch.float8_e4m3fn', refused"));
}

TEST_CASE("dcp metadata: a small file that stands for a large one costs little",
          "[formats][dcp][bad]") {
  constexpr size_t kMebibytes = 900;  // 2^21 values and their references
  const auto bounded = [](const std::string& pickle) {
    return quench::test::message_within(
        kMebibytes, [&] { quench::test::as_host([&] { read_metadata(pickle, "f"); }); });
  };
  // Nested, with itself inside, and as deep as the bytes allow.
  CHECK(bounded(p::whole("]q\1h\1a")) ==
        "f: holds a list, wanted a Metadata of torch.distributed.checkpoint");
  CHECK_THAT(bounded(p::whole(times_over("]", 100'000) + times_over("a", 99'999))),
             Catch::StartsWith("f: holds a list"));
  CHECK_THAT(bounded(p::whole(times_over("]", 3'000'000))), Catch::Contains("more than"));
  const std::string itself = p::global("torch.distributed.checkpoint.metadata", "Metadata") +
                             ")\x81q\1}(" + p::text("state_dict_metadata") + "h\1ub";
  CHECK(bounded(p::whole(itself)) ==
        "f: Metadata: its state_dict_metadata is an object, wanted a dict");
  // One list of parts that many tensors share.
  std::string chunks = "](";
  for (int64_t i = 0; i < 10'000; ++i) {
    chunks += i == 0 ? dcp::chunk({0}, {0}) + "q\3" : std::string("h\3");
  }
  std::vector<std::string> tensors;
  for (int i = 0; i < 10'000; ++i) {
    tensors.push_back(p::text("w" + std::to_string(i)));
    tensors.push_back(i == 0
                          ? dcp::object("metadata", "TensorStorageMetadata",
                                        {p::text("properties"), dcp::properties(), p::text("size"),
                                         dcp::size({0}), p::text("chunks"), chunks + "e"}) +
                                "q\4"
                          : std::string("h\4"));
  }
  CHECK(bounded(dcp::metadata(tensors, {})) ==
        "f: tensor 'w26': 10000 parts, at most 16384 of one tensor and 262144 of all are read");
  // One dict of attributes that many objects share.
  std::vector<std::string> attributes;
  for (int i = 0; i < 1000; ++i) {
    attributes.insert(attributes.end(), {p::text("a" + std::to_string(i)), "N"});
  }
  CHECK(bounded(of_one_tensor(dcp::object("metadata", "TensorStorageMetadata", attributes))) ==
        "f: tensor 'w' has 1000 attributes, at most 64 are read");
  // As many parts as one tensor may have, all in the same rows.
  std::vector<std::string> columns;
  for (int64_t i = 0; i < 16'384; ++i) {
    columns.push_back(dcp::chunk({0, i}, {1, 1}));
  }
  CHECK_THAT(bounded(of_one_tensor(dcp::tensor({2, 16'384}, columns))),
             Catch::Contains("its 16384 parts have 16384 elements, wanted the 32768"));
}
