#include "formats/torch_archive/pickle.hpp"

#include <catch2/catch.hpp>

#include "formats/torch_archive/torch_state.hpp"
#include "tests/core/checkpoint/builders.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/support/bounded.hpp"

using quench::formats::PickleKind;
using quench::formats::read_pickle;
using quench::test::format_message_of;
using quench::test::little;

namespace p = quench::test::pickle;

TEST_CASE("read_pickle: reads plain data", "[formats][torch]") {
  const std::string bytes = p::whole(std::string("](K\x07M\x01\x02J\xff\xff\xff\xff\x8a\x01\x80") +
                                     std::string("\x8a\0", 2) + p::text("ü") + "U\x01x" + "G" +
                                     std::string(8, '\0') + "N\x88" + "e");
  const auto graph = read_pickle(bytes, "f");
  const auto& list = graph.values[graph.root];
  REQUIRE(list.kind == PickleKind::kList);
  REQUIRE(list.items.size() == 10);
  const auto at = [&](size_t i) { return graph.values[list.items[i]]; };
  CHECK(at(0).integer == 7);
  CHECK(at(1).integer == 513);
  CHECK(at(2).integer == -1);
  CHECK(at(3).integer == -128);
  CHECK(at(4).integer == 0);
  CHECK(at(5).text == "ü");
  CHECK(at(6).text == "x");
  CHECK(at(7).kind == PickleKind::kFloat);
  CHECK(at(8).kind == PickleKind::kOther);
  CHECK(at(9).kind == PickleKind::kBoolean);
}

TEST_CASE("read_pickle: a list that contains itself is harmless", "[formats][torch]") {
  const auto graph = read_pickle(p::whole("]q\x01h\x01"
                                          "a"),
                                 "f");
  CHECK(graph.values[graph.root].items == std::vector<quench::formats::PickleId>{graph.root});
}

TEST_CASE("read_pickle: refuses by name and executes nothing", "[formats][torch][bad]") {
  struct Case {
    std::string bytes;
    std::string message;
  };
  const std::string f32 = p::storage("FloatStorage", "0", 6);
  const auto [bytes, message] = GENERATE_COPY(values<Case>({
      // C1: names
      {p::whole(p::global("os", "system") + p::text("true") + "\x85R"),
       "f: byte 2: names 'os.system', refused: a checkpoint may name only tensors, storages, "
       "dtypes and OrderedDict, and nothing in it is executed"},
      {p::whole(p::global("builtins", "eval") + p::text("1") + "\x85R"),
       "f: byte 2: names 'builtins.eval', refused: a checkpoint may name only tensors, storages, "
       "dtypes and OrderedDict, and nothing in it is executed"},
      {p::whole(p::global("torch.utils.collect_env", "run") + p::text("ls") + "\x85R"),
       "f: byte 2: names 'torch.utils.collect_env.run', refused: a checkpoint may name only "
       "tensors, storages, dtypes and OrderedDict, and nothing in it is executed"},
      {p::whole(p::global("_codecs", "encode") + ")R"),
       "f: byte 2: names '_codecs.encode', refused: a checkpoint may name only tensors, storages, "
       "dtypes and OrderedDict, and nothing in it is executed"},
      {p::whole(p::global("torch", "load") + ")R"),
       "f: byte 2: names 'torch.load', refused: a checkpoint may name only tensors, storages, "
       "dtypes and OrderedDict, and nothing in it is executed"},
      {p::whole(p::global("torch", "ComplexFloatStorage")),
       "f: byte 2: unsupported storage type 'torch.ComplexFloatStorage': cast such tensors in "
       "Python "
       "where you trust the file, value.to(torch.bfloat16), and save again"},
      {p::whole(p::global("torch._utils", "_rebuild_tensor_v3")),
       "f: byte 2: 'torch._utils._rebuild_tensor_v3' makes a tensor of a kind that is not read "
       "(float8, quantized, sparse, ...): cast such tensors in Python where you trust the file, "
       "value.to(torch.bfloat16), and save again"},
      // C2: protocols
      {"", "f: byte 0: truncated"},
      {"(dp0\n.", "f: byte 0: does not begin with a protocol"},
      {std::string("\x80\x04\x95", 3),
       "f: byte 0: pickle protocol 4, wanted 2, which torch.save writes"},
      {std::string("\x80\x00.", 3),
       "f: byte 0: pickle protocol 0, wanted 2, which torch.save writes"},
      {p::whole("}\x94"),
       "f: byte 3: instruction MEMOIZE is refused, torch.save has no use for it"},
      {p::whole("I1\n"), "f: byte 2: instruction INT is refused, torch.save has no use for it"},
      {p::whole("\xfa"), "f: byte 2: instruction 0xfa is refused, torch.save has no use for it"},
      {p::whole(std::string("\x93")),
       "f: byte 2: instruction STACK_GLOBAL is refused, torch.save has no use for it"},
      // C5: stack, memo and containers
      {p::whole("]" + p::text("a") + "K\x01s"), "f: byte 11: SETITEM on a list, wanted a dict"},
      {p::whole("](" + p::text("a") + "K\x01u"), "f: byte 12: SETITEMS on a list, wanted a dict"},
      {p::whole("}K\x01"
                "a"),
       "f: byte 5: APPEND on a dict, wanted a list"},
      {p::whole("}(K\x01u"), "f: byte 6: SETITEMS with a key that has no value"},
      {p::whole("a"), "f: byte 2: stack underflow"},
      {p::whole("(\x85"), "f: byte 3: stack underflow"},
      {p::whole("K\x01t"), "f: byte 4: no mark on the stack"},
      {p::whole("h\x05"), "f: byte 2: memo entry 5 does not exist"},
      {p::whole("K\x01K\x02"), "f: byte 6: ends with 2 values on the stack, wanted 1"},
      {p::whole(""), "f: byte 2: ends with 0 values on the stack, wanted 1"},
      {p::whole("}("), "f: byte 4: ends with 1 values on the stack, wanted 1"},
      {p::whole("](K\x01"
                "b"),
       "f: byte 6: stack underflow"},
      {p::whole("]K\x01"
                "b"),
       "f: byte 5: BUILD on a list, wanted a dict"},
      {p::whole(std::string(2'000'000, '(')), "f: byte 1048578: more than 1048576 marks"},
      {p::whole(std::string(2'000'000, 'N')),
       "f: byte 1048578: more than 1048576 values on the stack"},
      {"\x80\x02X" + little(0xFFFFFFFF, 4) + "a", "f: byte 2: truncated"},
      {"\x80\x02K", "f: byte 2: truncated"},
      {"\x80\x02"
       "cos",
       "f: byte 2: truncated"},
      {p::whole("N") + "x", "f: byte 3: 1 bytes after the end of the pickle"},
      {p::whole("K\x01)R"),
       "f: byte 5: REDUCE of something that is not a name with a tuple of arguments"},
      {p::whole(p::global("torch", "FloatStorage") + ")R"),
       "f: byte 23: REDUCE of a name that cannot be called"},
      {p::whole(p::global("torch", "float32") + ")R"),
       "f: byte 18: REDUCE of a name that cannot be called"},
      {p::whole(p::ordered_dict() + "b"), "f: byte 29: stack underflow"},
      // C6: storages and views
      {p::whole("NQ"), "f: byte 3: a persistent id that is not a tuple of 5"},
      {p::whole("(" + p::text("x") + "NNNNtQ"),
       "f: byte 14: a persistent id that is not ('storage', type, key, location, elements)"},
      {p::whole(p::storage("FloatStorage", "0", -1)), "f: byte 60: storage '0' has -1 elements"},
      {p::whole(p::tensor("N", 0, {2, 3}, {3, 1})),
       "f: byte 120: tensor of None, wanted a storage"},
      {p::whole(p::tensor(f32, -1, {2, 3}, {3, 1})),
       "f: byte 178: tensor offset is not an integer, or negative"},
      {p::whole(p::tensor(f32, 1, {2, 3}, {3, 1})),
       "f: byte 178: tensor of shape [2, 3], stride [3, 1] at offset 1 reaches outside its storage "
       "of 6 elements"},
      {p::whole(p::tensor(f32, 7, {0}, {1})),
       "f: byte 158: tensor of shape [0], stride [1] at offset 7 reaches outside its storage of 6 "
       "elements"},
      {p::whole(p::tensor(f32, 0, {2, 3}, {4, 1})),
       "f: byte 178: tensor of shape [2, 3], stride [4, 1] at offset 0 reaches outside its storage "
       "of 6 elements"},
      {p::whole(p::tensor(f32, 0, {2, 3}, {-3, 1})),
       "f: byte 178: tensor stride holds -3, wanted integers that are not negative"},
      {p::whole(p::tensor(f32, 0, {-2, 3}, {3, 1})),
       "f: byte 178: tensor shape holds -2, wanted integers that are not negative"},
      {p::whole(p::tensor(f32, 0, {2, 3}, {1})),
       "f: byte 168: tensor shape [2, 3] and stride [1] differ in length"},
      {p::whole(p::tensor(f32, 0, {INT64_MAX, 2}, {0, 0})),
       "f: byte 178: tensor shape [9223372036854775807, 2] overflows"},
      {p::whole(p::tensor(f32, 0, {2, 2}, {INT64_MAX, INT64_MAX})),
       "f: byte 178: tensor of shape [2, 2], stride [9223372036854775807, 9223372036854775807] at "
       "offset 0 reaches outside its storage of 6 elements"},
      {p::whole(p::tensor(f32, 0, {1 << 20, 1 << 20}, {0, 0})),
       "f: byte 178: tensor shape [1048576, 1048576] expands a storage of 6 elements, at most "
       "268435456 are read"},
      {p::whole(p::tensor(f32, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1})),
       "f: byte 318: tensor of 9 dimensions, at most 8 are read"},
      {p::whole(p::global("torch._utils", "_rebuild_tensor_v2") + ")R"),
       "f: byte 36: _rebuild_tensor_v2 with 0 arguments, wanted 6 or 7"},
      {p::whole(p::parameter("N")),
       "f: byte 66: _rebuild_parameter of something that is not a tensor"},
  }));
  CAPTURE(bytes.substr(0, 80));
  CHECK(format_message_of([&, &pickle = bytes] { read_pickle(pickle, "f"); }) == message);
}

TEST_CASE("find_state: a small pickle that describes 2^30 paths is refused quickly",
          "[formats][torch][bad]") {
  // d0 = {}, d(n+1) = {a: dn, b: dn}: a walk over all paths would not end. The root is
  // {l: [d0, ..., d30], x: d30}.
  std::string dicts = "}q" + std::string(1, '\0');
  for (char n = 1; n <= 30; ++n) {
    const std::string before = "h" + std::string(1, static_cast<char>(n - 1));
    dicts += p::dict({p::text("a"), before, p::text("b"), before}) + "q" + std::string(1, n);
  }
  const std::string bytes =
      p::whole(p::dict({p::text("l"), "](" + dicts + "e", p::text("x"), "h\x1e"}));
  const auto graph = read_pickle(bytes, "f");
  CHECK(format_message_of([&] { find_state(graph, "f"); }) == "f: more than 262144 entries");
}

TEST_CASE("find_state: a dict inside itself is refused", "[formats][torch][bad]") {
  const std::string bytes = p::whole("}q\x01(" + p::text("a") + "h\x01u");
  const auto graph = read_pickle(bytes, "f");
  CHECK(format_message_of([&] { find_state(graph, "f"); }) ==
        "f: dicts nested deeper than 32 levels");
}

TEST_CASE("find_state: long names that many entries share are refused before they are copied",
          "[formats][torch][bad]") {
  // 200,000 times one of two texts of 4 KB with one tensor, all by reference.
  const std::string tensor = p::tensor(p::storage("FloatStorage", "0", 1), 0, {1}, {1});
  std::string entries;
  for (int i = 0; i < 200'000; ++i) {
    entries += i % 2 == 0 ? "h\x01h\x03" : "h\x02h\x03";
  }
  const std::string bytes =
      p::whole("}(" + p::text("other") + "(" + p::text(std::string(4000, 'a')) + "q\x01" +
               p::text(std::string(4000, 'b')) + "q\x02" + tensor + "q\x03" + "t" +
               p::text("state_dict") + "}(" + entries + "uu");
  CHECK(bytes.size() < (1 << 20));
  const std::string refusal =
      quench::test::message_within(200, [&] { find_state(read_pickle(bytes, "f"), "f"); });
  CHECK(refusal == "f: tensor names of more than 16777216 bytes together");
}
