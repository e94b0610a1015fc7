#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <parquet/arrow/writer.h>

#include <catch2/catch.hpp>

#include "tests/support/corpus_reader.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"

using namespace quench::test;
using nlohmann::json;
using Texts = std::vector<std::string>;

namespace {

ReadCorpus read(const json& parameters) {
  return read_corpus(plugin_item(CORPORA_DIR "/arrow.so", "corpus"), parameters);
}

std::shared_ptr<arrow::Array> finish(arrow::ArrayBuilder& builder) {
  return builder.Finish().ValueOrDie();
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> array(const std::vector<std::optional<Value>>& values) {
  Builder builder;
  for (const auto& value : values) {
    REQUIRE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return finish(builder);
}

using Strings = std::vector<std::optional<std::string>>;

std::shared_ptr<arrow::Table> texts(const Strings& values) {
  return arrow::Table::Make(arrow::schema({arrow::field("text", arrow::utf8())}),
                            {array<arrow::StringBuilder, std::string>(values)});
}

enum class Format { kStream, kFile, kParquet };

// The bytes of `table` in that format, two rows a batch or row group.
std::string bytes_of(const arrow::Table& table, Format format) {
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  if (format == Format::kParquet) {
    REQUIRE(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, 2).ok());
  } else {
    const auto writer = format == Format::kFile
                            ? arrow::ipc::MakeFileWriter(out, table.schema()).ValueOrDie()
                            : arrow::ipc::MakeStreamWriter(out, table.schema()).ValueOrDie();
    REQUIRE(writer->WriteTable(table, 2).ok());
    REQUIRE(writer->Close().ok());
  }
  return out->Finish().ValueOrDie()->ToString();
}

// Every type that a record can hold, in three rows, the last of nulls.
std::shared_ptr<arrow::Table> all_types() {
  const auto texts_of = [](const Strings& values) {
    return array<arrow::StringBuilder, std::string>(values);
  };
  auto pool = arrow::default_memory_pool();
  arrow::ListBuilder list(pool, std::make_shared<arrow::StringBuilder>());
  auto& items = static_cast<arrow::StringBuilder&>(*list.value_builder());
  REQUIRE((list.Append().ok() && items.Append("A").ok() && items.Append("B").ok()));
  REQUIRE((list.Append().ok() && list.AppendNull().ok()));
  const auto choices =
      arrow::StructArray::Make({texts_of({"x", std::nullopt, "z"}),
                                array<arrow::Int8Builder, int8_t>({-1, 2, std::nullopt})},
                               std::vector<std::string>{"label", "n"})
          .ValueOrDie();
  const auto encoded =
      arrow::DictionaryArray::FromArrays(array<arrow::Int32Builder, int32_t>({1, 0, std::nullopt}),
                                         texts_of({"no", "yes"}))
          .ValueOrDie();
  const std::vector<std::pair<const char*, std::shared_ptr<arrow::Array>>> columns = {
      {"text", texts_of({"a\"\\\n\u20ac", "", std::nullopt})},
      {"large", array<arrow::LargeStringBuilder, std::string>({"l", "m", std::nullopt})},
      {"view",
       array<arrow::StringViewBuilder, std::string>({"v", "a view of some length", std::nullopt})},
      {"flag", array<arrow::BooleanBuilder, bool>({true, false, std::nullopt})},
      {"int", array<arrow::Int64Builder, int64_t>({INT64_MIN, INT64_MAX, std::nullopt})},
      {"uint", array<arrow::UInt64Builder, uint64_t>({0, UINT64_MAX, std::nullopt})},
      {"float", array<arrow::FloatBuilder, float>({0.1F, -2.0F, std::nullopt})},
      {"double", array<arrow::DoubleBuilder, double>({0.1, 1e300, std::nullopt})},
      {"list", finish(list)},
      {"choices", choices},
      {"encoded", encoded}};
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : columns) {
    fields.push_back(arrow::field(name, values->type()));
    arrays.push_back(values);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

}  // namespace

TEST_CASE("arrow: streams, files and Parquet are recognized by their bytes", "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto table = texts({"one", "", "thr\u00e9e", "four", "five"});
  for (const Format format : {Format::kStream, Format::kFile, Format::kParquet}) {
    const auto path = dir.write("data", bytes_of(*table, format));
    const ReadCorpus corpus = read({{"path", path}});
    CHECK(corpus.message == "");
    CHECK(corpus.texts() == Texts{"one", "", "thr\u00e9e", "four", "five"});
    CHECK(corpus.documents.back().index == 4);
  }
}

TEST_CASE("arrow: a column of another name or of strings in another layout serves as well",
          "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto rows = all_types()->Slice(0, 2);
  for (const Format format : {Format::kStream, Format::kParquet}) {
    const auto path = dir.write("data", bytes_of(*rows, format));
    CHECK(read({{"path", path}, {"field", "large"}}).texts() == Texts{"l", "m"});
    CHECK(read({{"path", path}, {"field", "view"}}).texts() == Texts{"v", "a view of some length"});
    CHECK(read({{"path", path}, {"field", "encoded"}}).texts() == Texts{"yes", "no"});
  }
}

TEST_CASE("arrow: a range of rows goes through batches and files", "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto table = texts({"0", "1", "2", "3", "4"});
  for (const Format format : {Format::kStream, Format::kFile, Format::kParquet}) {
    const auto path = dir.write("data", bytes_of(*table, format));
    CHECK(read({{"path", path}, {"from", 1}, {"to", 4}}).texts() == Texts{"1", "2", "3"});
    CHECK(read({{"path", path}, {"from", 3}}).texts() == Texts{"3", "4"});
    CHECK(read({{"path", path}, {"to", 5}}).texts() == Texts{"0", "1", "2", "3", "4"});
    const std::string behind = path.string() + ": the range ends beyond the data set (from = ";
    CHECK(read({{"path", path}, {"from", 5}}).message == behind + "5, no to, data set: 5 rows)");
    CHECK(read({{"path", path}, {"to", 6}}).message == behind + "0, to = 6, data set: 5 rows)");
    CHECK(read({{"path", path}, {"from", 2}, {"to", 2}}).message ==
          path.string() + ": from = 2, to = 2: wanted from < to");
  }
}

TEST_CASE("arrow: records hold every column as JSON", "[corpora][arrow]") {
  const TemporaryDir dir;
  for (const Format format : {Format::kStream, Format::kFile, Format::kParquet}) {
    const auto path = dir.write("data", bytes_of(*all_types(), format));
    const ReadCorpus corpus = read({{"path", path}, {"records", true}});
    REQUIRE(corpus.message == "");
    REQUIRE(corpus.documents.size() == 3);
    CHECK(corpus.documents[0].text ==
          "{\"text\":\"a\\\"\\\\\\u000a\u20ac\",\"large\":\"l\",\"view\":\"v\",\"flag\":true,"
          "\"int\":-9223372036854775808,\"uint\":0,\"float\":0.1,\"double\":0.1,"
          "\"list\":[\"A\",\"B\"],\"choices\":{\"label\":\"x\",\"n\":-1},\"encoded\":\"yes\"}");
    const json second = json::parse(corpus.documents[1].text);
    CHECK(second["uint"] == UINT64_MAX);
    CHECK(second["double"] == 1e300);
    CHECK(second["list"] == json::array());
    CHECK(second["choices"] == json{{"label", nullptr}, {"n", 2}});
    const json third = json::parse(corpus.documents[2].text);
    CHECK(third["text"].is_null());
    CHECK(third["list"].is_null());
    CHECK(third["encoded"].is_null());
  }
}

TEST_CASE("arrow: a saved data set is its state.json's files in order", "[corpora][arrow]") {
  const TemporaryDir dir;
  const std::string first = bytes_of(*texts({"one", "two", "three"}), Format::kStream);
  const std::string second = bytes_of(*texts({"four"}), Format::kStream);
  dir.write("data-00000-of-00002.arrow", first);
  dir.write("data-00001-of-00002.arrow", second);
  dir.write("state.json",
            R"({"_data_files": [{"filename": "data-00001-of-00002.arrow"},
                {"filename": "data-00000-of-00002.arrow"}], "_split": "train"})");
  const ReadCorpus corpus = read({{"path", dir.path()}});
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{"four", "one", "two", "three"});
  CHECK(corpus.documents.back().index == 3);
  const auto joined = dir.write("joined", second + first);
  CHECK(corpus.fingerprint == read({{"path", joined}}).fingerprint);
}

TEST_CASE("arrow: a broken file is an error and never fewer documents", "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto table = texts({"one", "two", "three", "four", "five"});
  for (const Format format : {Format::kStream, Format::kFile, Format::kParquet}) {
    const std::string whole = bytes_of(*table, format);
    for (size_t length = 0; length < whole.size(); ++length) {
      const auto path = dir.write("data", whole.substr(0, length));
      const ReadCorpus corpus = read({{"path", path}});
      INFO("format " << static_cast<int>(format) << ", " << length << " of " << whole.size());
      CHECK(corpus.status != QUENCH_END);
      CHECK(corpus.status != QUENCH_INTERNAL);
      CHECK_THAT(corpus.message, Catch::StartsWith(path.string() + ": "));
    }
  }
}

TEST_CASE("arrow: flipped bits give documents or an error, never a crash", "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto table = texts({"one", "two", "three", std::nullopt, "five"});
  for (const Format format : {Format::kStream, Format::kFile, Format::kParquet}) {
    const std::string whole = bytes_of(*table, format);
    size_t refused = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      const ReadCorpus corpus = read({{"path", dir.write("data", bad)}});
      refused += corpus.status != QUENCH_END ? 1 : 0;
      CHECK(corpus.documents.size() <= 5);
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("arrow: what is wrong is named with file, row and column", "[corpora][arrow]") {
  const TemporaryDir dir;
  const auto data = [&dir](const arrow::Table& table) {
    return dir.write("data", bytes_of(table, Format::kStream)).string();
  };
  const std::string path = (dir / "data").string();
  const auto numbers = arrow::Table::Make(arrow::schema({arrow::field("n", arrow::int64())}),
                                          {array<arrow::Int64Builder, int64_t>({1})});
  data(*numbers);
  CHECK(read({{"path", path}}).message == path + ": got 0 columns `text`, wanted one; columns: n");
  CHECK(read({{"path", path}, {"field", "n"}}).message ==
        path + ": column `n`: got type int64, wanted string");
  data(*texts({"a", "b", "c", std::nullopt}));
  CHECK(read({{"path", path}}).message == path + ": row 3: column `text` is null, wanted a string");
  data(*texts({}));
  CHECK(read({{"path", path}}).message == path + ": no document: the data set has no rows");
  data(*arrow::Table::Make(arrow::schema({arrow::field("d", arrow::date32())}),
                           {array<arrow::Date32Builder, int32_t>({1})}));
  CHECK(read({{"path", path}, {"records", true}}).message ==
        path + ": row 0: column `d`: type date32[day] cannot be written as JSON");
  data(*arrow::Table::Make(arrow::schema({arrow::field("d", arrow::float64())}),
                           {array<arrow::DoubleBuilder, double>({NAN})}));
  CHECK(read({{"path", path}, {"records", true}}).message ==
        path + ": row 0: column `d`: nan cannot be written as JSON");
  dir.write("data", "no data set at all");
  CHECK(read({{"path", path}}).message ==
        path + ": neither an Arrow stream, an Arrow file nor Parquet");
  const std::string whole = bytes_of(*texts({"a"}), Format::kStream);
  dir.write("data", whole + "x");
  CHECK(read({{"path", path}}).message ==
        path + ": Arrow stream: garbage after its end, at byte " + std::to_string(whole.size()));
  dir.write("data", whole.substr(0, whole.size() - 8));
  CHECK(read({{"path", path}}).message == path + ": Arrow stream: truncated at byte " +
                                              std::to_string(whole.size() - 8) + ", no end mark");
}

TEST_CASE("arrow: a folder of Parquet files is read in the order of their names",
          "[corpora][arrow]") {
  const TemporaryDir dir;
  dir.write("b.parquet", bytes_of(*texts({"3", "4"}), Format::kParquet));
  dir.write("a.parquet", bytes_of(*texts({"0", "1", "2"}), Format::kParquet));
  dir.write("readme.txt", "no data");
  CHECK(read({{"path", dir.path().string()}}).texts() == Texts{"0", "1", "2", "3", "4"});
  CHECK(read({{"path", dir.path().string()}, {"from", 2}, {"to", 4}}).texts() == Texts{"2", "3"});
  dir.write("c.arrow", bytes_of(*texts({"5"}), Format::kFile));
  dir.write("b.arrow", bytes_of(*texts({"5"}), Format::kFile));
  CHECK(read({{"path", dir.path().string()}}).message ==
        dir.path().string() +
            ": got Parquet files and b.arrow, wanted files of one form; name one file, or a folder "
            "of one form");
}

TEST_CASE("arrow: a folder of which a shard is missing is refused", "[corpora][arrow]") {
  const TemporaryDir dir;
  const std::string path = dir.path().string();
  const std::string shard = bytes_of(*texts({"0"}), Format::kParquet);
  dir.write("train-00000-of-00003.parquet", shard);
  dir.write("train-00002-of-00003.parquet", shard);
  CHECK(read({{"path", path}}).message ==
        path + ": train: got 2 of 3 pieces, piece 1 (from 0) is missing");
  dir.write("train-00001-of-00003.parquet", shard);
  CHECK(read({{"path", path}}).texts() == Texts{"0", "0", "0"});
}

TEST_CASE("arrow: a folder that is no saved data set is refused", "[corpora][arrow]") {
  const TemporaryDir dir;
  const std::string path = dir.path().string();
  CHECK(read({{"path", path}}).message ==
        path +
            ": the folder has neither Parquet files nor a state.json, which save_to_disk "
            "wrote");
  dir.write("dataset_dict.json", "{\"splits\": [\"train\"]}");
  CHECK(read({{"path", path}}).message ==
        path + ": the folder holds several splits, wanted one of its subfolders");
  dir.write("state.json", "{\"_data_files\": []}");
  CHECK(read({{"path", path}}).message == path + "/state.json: _data_files names no file");
  dir.write("state.json", R"({"_data_files": [{"filename": "../x.arrow"}]})");
  CHECK(read({{"path", path}}).message == path +
                                              "/state.json: /_data_files/0/filename: got "
                                              "`../x.arrow`, wanted the name of a file beside "
                                              "it");
  dir.write("state.json", R"({"_data_files": [{"filename": "x.arrow"}]})");
  CHECK(read({{"path", path}}).message ==
        path + "/x.arrow: cannot be read: No such file or directory");
  dir.write("state.json", "{");
  CHECK_THAT(read({{"path", path}}).message, Catch::StartsWith(path + "/state.json: not JSON: "));
}

TEST_CASE("arrow: published validation splits are read in full", "[corpora][arrow]") {
  struct Case {
    const char* folder;
    size_t rows;
    const char* field;
  };
  const std::vector<Case> cases = {{"tasks/piqa/plain_text/validation", 1838, "goal"},
                                   {"tasks/ai2_arc/ARC-Easy/validation", 570, "question"},
                                   {"tasks/openbookqa/main/validation", 500, "question_stem"},
                                   {"tasks/sciq/none/validation", 1000, "support"},
                                   {"tasks/tau/commonsense_qa/none/validation", 1221, "question"}};
  for (const Case& wanted : cases) {
    const auto path = public_data(wanted.folder);
    const ReadCorpus text = read({{"path", path}, {"field", wanted.field}});
    CHECK(text.message == "");
    CHECK(text.documents.size() == wanted.rows);
    const ReadCorpus records = read({{"path", path}, {"records", true}});
    CHECK(records.message == "");
    REQUIRE(records.documents.size() == wanted.rows);
    CHECK(json::parse(records.documents[0].text)[wanted.field] == text.documents[0].text);
  }
}
