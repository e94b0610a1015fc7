// results, status, verify, forget, clean and diff over records that a test wrote.
#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/base/json/canonical_json.hpp"
#include "core/store/derived.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/record_file.hpp"
#include "core/store/record_schema.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/sealed_line.hpp"
#include "core/store/store.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::Record;
using quench::test::read_file;
using quench::test::sample_record;
using quench::test::TemporaryDir;

namespace {

// A run `r` with a float value, two quantized ones and their errors, and a store of its own.
class Place {
 public:
  Place() { write("r", 0); }

  // The values of run `name`, those of quantized models higher by `more`.
  void write(const std::string& name, double more) const {
    quench::RecordFile file(folder_ / name, "0");
    const Record floating = sample_record(200, "", 2);
    file.append(floating);
    for (const char* label : {"q4", "q|3_x, \"b\""}) {
      const Record quantized = sample_record(200, label, 2.5 + more, std::to_string(more));
      file.append(quantized);
    }
    file.append(quench::test::failed_record(400, "no memory"));
    file.close();
  }

  quench::test::Ended run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (quench::test::binary_dir() / "bin/quench").string());
    return quench::test::run_program(arguments, {{"QUENCH_HOME", (folder_ / "home").string()}},
                                     folder_.path());
  }
  std::string out(const std::vector<std::string>& arguments) const {
    const auto ended = run(arguments);
    INFO(ended.err);
    CHECK(ended.code == 0);
    return ended.out;
  }
  const TemporaryDir& folder() const { return folder_; }

 private:
  TemporaryDir folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    out.push_back(line);
  }
  return out;
}

// A line for each row of a query's result, in Python, which has SQLite.
std::string queried(const fs::path& database, const std::string& query) {
  const auto ended = quench::test::run_program(
      {"/usr/bin/python3", "-c",
       "import sqlite3, sys\n"
       "for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row)",
       database.string(), query},
      {}, database.parent_path());
  INFO(ended.err);
  CHECK(ended.code == 0);
  return ended.out;
}

fs::path only_file(const fs::path& folder, const std::string& prefix) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) {
      return entry.path();
    }
  }
  return {};
}

}  // namespace

TEST_CASE("results: JSON is the records that count", "[cli]") {
  const Place place;
  const json printed = quench::test::data_of(place.out({"results", "r", "--json"}));
  CHECK(printed.at("records").size() == 6);
  std::multiset<std::string> printed_texts;
  for (const json& record : printed.at("records")) {
    printed_texts.insert(record.dump());
  }
  std::multiset<std::string> read_texts;
  for (const Record& record :
       quench::with_derived(quench::read_run(place.folder() / "r").records)) {
    read_texts.insert(to_json(record).dump());
  }
  CHECK(printed_texts == read_texts);
  const json some = quench::test::data_of(
      place.out({"results", "r", "--json", "--where", "metric=quantization_error and value>0"}));
  CHECK(some.at("records").size() == 2);
}

TEST_CASE("results: a table for people shows values, errors and failures", "[cli]") {
  const Place place;
  const auto lines = lines_of(place.out({"results", "r"}));
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[1], Catch::Contains("main step200") && Catch::Contains("float") &&
                           Catch::Contains("2.00000 ± 0.25000"));
  CHECK_THAT(lines[2], Catch::Contains("q4") && Catch::Contains("25.000 ± 0.000 %"));
  CHECK_THAT(lines[4],
             Catch::StartsWith("failed: main step400, float, validation_loss: no memory"));
}

TEST_CASE("results: a sealed line whose fields have other types is damaged, and the others count",
          "[cli]") {
  const Place place;
  {
    std::ofstream file(place.folder() / "r/records-1-0001-0123abcd.jsonl");  // no writer takes them
    const auto append = [&](const Record& odd) {
      file << quench::seal("record", quench::canonical_json(to_json(odd))) << "\n";
    };
    for (const char* field : {"checkpoint", "quantizer", "averaging"}) {
      for (const json& value : {json{1}, json("x"), json{{"label", {1}}}, json{{"model", 7}}}) {
        Record odd = sample_record(600, "q4", 2.5, field + value.dump());
        (field == std::string("checkpoint")  ? odd.checkpoint
         : field == std::string("quantizer") ? odd.quantizer
                                             : odd.averaging) = value;
        append(odd);
      }
    }
    for (const char* field : {"value", "stderr", "seconds"}) {  // texts, one without a C string
      for (const char* value : {"x", "3.5", "\t"}) {
        json numbers = to_json(sample_record(600, "q4", 2.5, field + std::string(value)));
        numbers[field] = value;
        file << quench::seal("record", quench::canonical_json(numbers)) << "\n";
      }
    }
    Record odd = sample_record(600, "q4", 2.5, "draw");
    odd.draw = json{1};
    append(odd);
    odd.draw = 0;
    odd.checkpoint = nullptr;
    append(odd);
  }
  for (const char* form : {"--json", "--csv", "--table=text"}) {
    const auto got = place.run({"results", "r", form});
    CAPTURE(form, got.err);
    CHECK(got.code == 0);
    CHECK_THAT(got.err, Catch::Contains("r: 21 lines do not count; `quench verify r` lists them") &&
                            !Catch::Contains("internal error"));
  }
}

TEST_CASE("results: a quantized value whose float value is of other weights is named", "[cli]") {
  const Place place;
  CHECK_THAT(place.run({"results", "r"}).err, !Catch::Contains("no error is derived"));
  quench::RecordFile file(place.folder() / "r", "1");
  Record alone = sample_record(600, "q4", 2.5);
  file.append(alone);
  file.close();
  const std::string said =
      "r: 1 quantized value without a float value of the same weights, metric, corpus, tokenizer, "
      "dtype and device, so no error is derived: main step600, q4, validation_loss";
  CHECK_THAT(place.run({"results", "r"}).err, Catch::Contains(said));
  const json answer = json::parse(place.out({"results", "r", "--json"}));
  CHECK(answer.at("warnings") == json{said});
}

TEST_CASE("results: tables have a parameter that details alone name", "[cli]") {
  const Place place;
  quench::RecordFile file(place.folder() / "s", "0");
  for (const int block : {64, 128}) {
    Record record = sample_record(200, "", 2, std::to_string(block));
    record.parts = {{"metric", {{"id", "validation_loss"}}}};
    record.details = {{"params", {{"block", block}}}};
    file.append(record);
  }
  file.close();
  CHECK_THAT(place.out({"results", "s"}), Catch::StartsWith("block  checkpoint ") &&
                                              Catch::Contains("\n64     main step200") &&
                                              Catch::Contains("\n128    main step200"));
  CHECK_THAT(place.out({"results", "s", "--table", "md"}),
             Catch::StartsWith("| block | checkpoint |") && Catch::Contains("\n| 64 | main"));
}

TEST_CASE("results: CSV and JSON tell the texts of one metric apart, of errors too", "[cli]") {
  const Place place;
  quench::RecordFile file(place.folder() / "s", "0");
  const auto add = [&](int block, const std::string& corpus, const std::string& quantizer) {
    const json content = {{"fingerprint", corpus + "0123456789"}};
    Record record = sample_record(200, quantizer, quantizer.empty() ? 2 : 3,
                                  fmt::format("{}{}{}", block, corpus, quantizer));
    record.parts = {{"weights", "w"},
                    {"metric",
                     {{"id", "validation_loss"},
                      {"params", {{"block", block}}},
                      {"corpora", {{"corpus", content}}}}}};
    record.details = {{"params", {{"block", block}, {"corpus", "v"}}},
                      {"corpora", {{"corpus", {{"name", "v, \"w\""}}}}}};
    file.append(record);
  };
  add(64, "ab", "");
  add(64, "ab", "q4");
  CHECK_THAT(place.out({"results", "s", "--csv"}), !Catch::Contains("text."));
  CHECK_FALSE(json::parse(place.out({"results", "s", "--json"}))
                  .at("data")
                  .at("records")
                  .at(0)
                  .contains("text"));
  add(128, "cd", "");
  file.close();
  const auto lines = lines_of(place.out({"results", "s", "--csv"}));
  REQUIRE(lines.size() == 5);
  CHECK_THAT(lines[0], Catch::Contains(",jitter,text.block,text.corpus,metric,"));
  size_t of_errors = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const bool is_error = lines[i].find(",quantization_error,") != std::string::npos;
    const bool is_128 = lines[i].find(",128,\"v, \"\"w\"\" cd012345\",") != std::string::npos;
    const bool is_64 = lines[i].find(",64,\"v, \"\"w\"\" ab012345\",") != std::string::npos;
    CHECK(is_128 != is_64);
    of_errors += is_error && is_64 ? 1 : 0;
  }
  CHECK(of_errors == 1);
  const json answer = json::parse(place.out({"results", "s", "--json"}));
  std::map<std::string, int> texts;
  for (const json& record : answer.at("data").at("records")) {
    ++texts[record.at("metric").get<std::string>() + " " + record.at("text").dump()];
  }
  CHECK(texts == std::map<std::string, int>{
                     {R"(quantization_error {"block":"64","corpus":"v, \"w\" ab012345"})", 1},
                     {R"(validation_loss {"block":"128","corpus":"v, \"w\" cd012345"})", 1},
                     {R"(validation_loss {"block":"64","corpus":"v, \"w\" ab012345"})", 2}});
}

TEST_CASE("results: CSV quotes what needs it", "[cli]") {
  const Place place;
  const auto lines =
      lines_of(place.out({"results", "r", "--csv", "--where", "quantizer.label~x or error!=null"}));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Catch::StartsWith("job,model,revision,"));
  CHECK_THAT(lines[1] + lines[2], Catch::Contains(",\"q|3_x, \"\"b\"\"\",") &&
                                      Catch::Contains(",\"{\"\"bits\"\":4}\","));
  CHECK_THAT(lines[3] + lines[1], Catch::Contains(",no memory,"));
}

TEST_CASE("results: points of a sweep are told apart in every form", "[cli]") {
  const Place place;
  quench::RecordFile file(place.folder() / "s", "0");
  for (const double peak : {0.25, 0.5}) {
    Record record = sample_record(200, "", 2 + peak, std::to_string(peak));
    record.environment["sweep"] = {{"train.lr", {{"peak", peak}}}};
    record.job = peak == 0.5 ? 1 : 0;
    file.append(record);
  }
  file.close();
  CHECK_THAT(place.out({"results", "s"}), Catch::StartsWith("peak  checkpoint ") &&
                                              Catch::Contains("\n0.25  main step200") &&
                                              Catch::Contains("\n0.5   main step200"));
  CHECK_THAT(place.out({"results", "s", "--csv"}),
             Catch::StartsWith("job,sweep.train.lr.peak,model,") &&
                 Catch::Contains("\n0,0.25,m,") && Catch::Contains("\n1,0.5,m,"));
  CHECK(
      lines_of(place.out({"results", "s", "--csv", "--where", "sweep.train.lr.peak>0.3"})).size() ==
      2);
  const auto misspelled = place.run({"results", "s", "--where", "sweep.train.lr.peek>0.3"});
  CHECK(misspelled.code == 2);
  CHECK(misspelled.out.empty());
  CHECK(
      misspelled.err ==
      "selection at character 1: no record here has the field 'sweep.train.lr.peek'; did you mean "
      "sweep.train.lr.peak?\n");
  place.out({"results", "s", "--sqlite", "s.db"});
  CHECK(queried(place.folder() / "s.db",
                "select typeof(\"sweep.train.lr.peak\"), value from records where "
                "\"sweep.train.lr.peak\" > 0.3") == "real 2.5\n");
}

TEST_CASE("results: Markdown and LaTeX escape their own signs", "[cli]") {
  const Place place;
  const std::string md = place.out({"results", "r", "--table", "md"});
  CHECK_THAT(md, Catch::StartsWith("| checkpoint | quantizer |") &&
                     Catch::Contains("\n| --- | --- |") && Catch::Contains("| q\\|3\\_x, \"b\" |"));
  const std::string tex = place.out({"results", "r", "--table", "latex"});
  CHECK_THAT(tex, Catch::StartsWith("\\begin{tabular}{llllll}\n\\toprule\n") &&
                      Catch::Contains("q|3\\_x") && Catch::Contains("25.000 $\\pm$ 0.000 \\%") &&
                      Catch::Contains("validation\\_loss") && Catch::Contains("\n% failed:"));
}

TEST_CASE("results: SQLite has typed columns", "[cli]") {
  const Place place;
  place.out({"results", "r", "--sqlite", "r.db"});
  place.out({"results", "r", "--sqlite", "r.db"});  // anew
  const fs::path database = place.folder() / "r.db";
  CHECK(queried(database,
                "select typeof(step), typeof(value), typeof(metric), value, "
                "json_array_length(items) from records where quantizer_label = 'q4' and metric = "
                "'validation_loss'") == "integer real text 2.5 2\n");
  CHECK(queried(database, "select count(*), count(value), count(error) from records") == "6 5 1\n");
  CHECK(std::distance(fs::directory_iterator(place.folder().path()), {}) == 2);
}

TEST_CASE("results: files for leaderboards go into a new folder, one a model", "[cli]") {
  const Place place;
  CHECK(place.out({"results", "r", "--eee", "out"}) == "out: 3 models\n");
  const json log = json::parse(read_file(only_file(place.folder() / "out", "")));
  CHECK(log.at("schema_version") == "0.3.0");
  CHECK_THAT(place.out({"results", "r", "--lm-eval", "lm"}), Catch::StartsWith("lm: "));
  const auto again = place.run({"results", "r", "--eee", "out"});
  CHECK(again.code == 1);
  CHECK(again.err == "out: is not empty, wanted a new folder: nothing is overwritten\n");
}

TEST_CASE("results: SQLite takes the place of a file and of nothing else", "[cli]") {
  const Place place;
  const fs::path pipe = place.folder() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto ended = place.run({"results", "r", "--sqlite", "pipe"});
  CHECK(ended.code == 1);
  CHECK(ended.err == "pipe: is a pipe; only a regular file can be replaced\n");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("results: provenance shows the parts of a key", "[cli]") {
  const Place place;
  const std::string key = sample_record(200, "q4", 2.5, std::to_string(0.0)).key;
  const std::string text = place.out({"results", "r", "--provenance", key.substr(0, 10)});
  CHECK_THAT(text, Catch::Contains("key") && Catch::Contains(key) && Catch::Contains("content") &&
                       Catch::Contains("records-0-0001-"));
  CHECK(place.run({"results", "r", "--provenance", "00000000"}).code == 2);
}

TEST_CASE("results: wrong command lines are told with code 2", "[cli]") {
  const Place place;
  const auto told = [&](const std::vector<std::string>& arguments) {
    const auto ended = place.run(arguments);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK_THAT(told({"results", "none"}), Catch::Contains("none: no such run"));
  std::filesystem::create_directory(place.folder() / "bare");
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"results", "bare"},
           {"status", "bare"},
           {"verify", "bare"},
           {"diff", "bare", "r"},
           {"forget", "step=1", "--run", "bare", "--reason", "x"}}) {
    CAPTURE(line);
    CHECK(told(line) ==
          "bare: no run here: the folder has no records; wanted the folder that `quench run` "
          "wrote\n");
  }
  CHECK_THAT(told({"results", "r", "--where", "stepp=3"}), Catch::Contains("did you mean step?"));
  const auto both = place.run({"results", "r", "--csv", "--json"});
  CHECK(both.code == 2);
  CHECK_THAT(both.err, Catch::Contains("excludes"));
  CHECK(quench::test::answer_of(both.out).at("error").at("exit_code") == 2);
  CHECK_THAT(told({"status", "none"}), Catch::Contains("none: no such run"));
  CHECK_THAT(told({"clean", "--max", "2X"}),
             Catch::Contains("--max: got '2X', wanted a whole number and one of K, M, G, T"));
  CHECK_THAT(told({"forget", "step=999", "--run", "r", "--reason", "x"}),
             Catch::Contains("selects no record that can be forgotten"));
}

TEST_CASE("results: a selection without records is told, and the table is empty", "[cli]") {
  const Place place;
  const auto none = place.run({"results", "r", "--where", "step=999"});
  CHECK(none.code == 0);
  CHECK(none.err == "--where 'step=999': no record matches, of 6\n");
  CHECK(std::count(none.out.begin(), none.out.end(), '\n') == 1);
  CHECK(place.run({"results", "r", "--where", "step=200"}).err.empty());
  CHECK(place.run({"results", "r", "--where", "step=200 and quantizer=Q4"}).err ==
        "--where 'step=200 and quantizer=Q4': no record matches, of 6; did you mean q4?\n");
}

TEST_CASE("commands: a run has a name below runs/", "[cli]") {
  const Place place;
  place.write("runs/of_mine", 0);
  CHECK(place.out({"results", "of_mine", "--csv"}) == place.out({"results", "r", "--csv"}));
  CHECK(place.run({"status", "of_mine"}).code == 0);
  CHECK(place.run({"verify", "of_mine"}).code == 0);
  CHECK_THAT(place.out({"diff", "of_mine", "r"}), Catch::Contains("0 differ"));
  CHECK(place.run({"results", "other"}).err ==
        "other: no such run, and no runs/other either; runs/ has of_mine\n");
}

TEST_CASE("results: names with control characters end no line and move no terminal", "[cli]") {
  const Place place;
  const std::string name = "a\n\\immediate\\write18{id}\x1b[31m\xc2\x9b\u202e";
  Record odd = sample_record(600, name);
  Record failed = quench::test::failed_record(800, "no memory");
  failed.quantizer = odd.quantizer;
  failed.checkpoint["branch"] = name;
  quench::RecordFile file(place.folder() / "odd", "0");
  file.append(odd);
  file.append(failed);
  file.close();
  place.write("other", 0);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"results", "odd"},
                                             {"results", "odd", "--table", "md"},
                                             {"results", "odd", "--table", "latex"},
                                             {"results", "odd", "--provenance", "metric~loss"},
                                             {"diff", "odd", "other"}}) {
    INFO(arguments.back());
    const std::string out = place.out(arguments);
    CHECK(out.find('\x1b') == std::string::npos);
    CHECK(out.find("\xc2\x9b") == std::string::npos);
    CHECK(out.find("\u202e") == std::string::npos);
    for (const std::string& line : lines_of(out)) {
      CHECK(line.find("\\immediate") != 0);
    }
  }
}

TEST_CASE("results: a CSV says of text that a spreadsheet would compute that it is text", "[cli]") {
  const Place place;
  quench::RecordFile file(place.folder() / "odd", "0");
  file.append(sample_record(600, "=1+1", -2.5));
  file.append(sample_record(600, "@SUM(A1,B1)", -2.5));
  file.close();
  const std::string csv = place.out({"results", "odd", "--csv"});
  CHECK_THAT(csv, Catch::Contains(",'=1+1,") && Catch::Contains(",\"'@SUM(A1,B1)\",") &&
                      Catch::Contains(",-2.5,"));
}

TEST_CASE("results: bits that are no finite number are shown as such", "[cli]") {
  const Place place;
  Record odd = sample_record(600, "q4");
  odd.quantizer["bits_per_weight"] = std::numeric_limits<double>::quiet_NaN();
  quench::RecordFile file(place.folder() / "odd", "0");
  file.append(odd);
  file.close();
  CHECK_THAT(place.out({"results", "odd"}), Catch::Contains("q4         NaN   validation_loss"));
  CHECK(place.run({"results", "odd", "--csv"}).code == 0);
}

TEST_CASE("verify: lists what does not verify and ends with 1", "[cli]") {
  const Place place;
  CHECK(place.out({"verify", "r"}) == "4 checked, 0 do not verify\n");
  const fs::path file = only_file(place.folder() / "r", "records-");
  std::string content = read_file(file);
  content[content.find("2.5")] = '3';
  std::ofstream(file) << content;
  const auto ended = place.run({"verify", "r", "--json"});
  CHECK(ended.code == 1);
  const json told = quench::test::data_of(ended.out);
  REQUIRE(told.at("faults").size() == 1);
  CHECK(told["faults"][0] == "r/" + file.filename().string() + ":2: the checksum does not match");
  CHECK(read_file(file) == content);
}

TEST_CASE("verify: lists the end that a killed writer left, and results say nothing of it",
          "[cli]") {
  const Place place;
  const fs::path file = only_file(place.folder() / "r", "records-");
  std::ofstream(file, std::ios::app) << "{\"record\":{\"half";
  const auto ended = place.run({"verify", "r"});
  CHECK(ended.code == 1);
  CHECK(ended.out == "r/" + file.filename().string() +
                         ":5: cut short, or still being written\n5 checked, 1 do not verify\n");
  const auto results = place.run({"results", "r"});
  CHECK(results.code == 0);
  CHECK(results.err.empty());
}

TEST_CASE("verify: a store and a folder of nothing are not said to be right", "[cli]") {
  const Place place;
  const auto store = place.run({"verify"});
  CHECK(store.code == 1);
  CHECK(store.out == "0 checked, 0 do not verify\n");
  place.folder().write("r/training/m.jsonl", "{\"gradient_norm\":0.0,\"step\":1}\n");
  fs::resize_file(only_file(place.folder() / "r", "records-"), 0);
  const auto run = place.run({"verify", "r"});
  CHECK(run.code == 1);
  CHECK(run.out ==
        "not checked: r/training/m.jsonl: an earlier version wrote its rows, without checksums\n"
        "0 checked, 0 do not verify, 1 cannot be checked\n");
}

TEST_CASE("verify: reads the shared store whole when asked", "[cli]") {
  const Place place;
  quench::Store store(place.folder() / "home");
  store.publish({sample_record(1)});
  store.publish({sample_record(2)});
  store.forget(sample_record(2).key, "why");
  CHECK(place.out({"verify"}) == "3 checked, 0 do not verify\n");
  const fs::path file =
      store.folder() / sample_record(1).key.substr(0, 2) / (sample_record(1).key + ".0.json");
  std::string content = read_file(file);
  content[content.find("2.5")] = '3';
  std::ofstream(file) << content;
  CHECK(place.run({"verify"}).code == 0);
  const auto ended = place.run({"verify", "--read-data"});
  CHECK(ended.code == 1);
  CHECK_THAT(ended.out, Catch::Contains(".0.json: the checksum does not match"));
}

TEST_CASE("forget: hides a value in the run and in the store", "[cli]") {
  const Place place;
  const Record record = sample_record(200, "q4", 2.5, std::to_string(0.0));
  quench::Store store(place.folder() / "home");
  store.publish({record});
  CHECK(place.out({"forget", "quantizer.label=q4 and metric=validation_loss", "--run", "r",
                   "--reason", "the disk was bad"}) ==
        "1 values forgotten, 1 of them shared between runs\n");
  CHECK_FALSE(store.find(record.key));
  CHECK(quench::read_run(place.folder() / "r").records.size() == 3);
  CHECK_THAT(place.out({"results", "r", "--json"}), !Catch::Contains("\"label\":\"q4\""));
  CHECK(place.out({"verify", "r"}) == "3 checked, 0 do not verify\n");
}

TEST_CASE("clean: removes by age and size, and never a tombstone", "[cli]") {
  const Place place;
  quench::Store store(place.folder() / "home");
  for (int64_t step = 1; step <= 4; ++step) {
    store.publish({sample_record(step)});
  }
  store.forget(sample_record(4).key, "why");
  const auto old = [&](const fs::path& path, int days) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  const auto file = [&](int64_t step) {
    const std::string key = sample_record(step).key;
    return store.folder() / key.substr(0, 2) / (key + ".0.json");
  };
  old(file(1), 40);
  old(file(2), 20);
  // Of processes on another machine, which only their silence can tell to be gone.
  const fs::path leftover = file(3).parent_path() / ".x.json.00000000-1-1-00000001.tmp";
  std::ofstream(leftover) << "half";
  const fs::path young = file(3).parent_path() / ".y.json.00000000-1-1-00000002.tmp";
  std::ofstream(young) << "half";
  old(leftover, 2);
  CHECK_THAT(place.out({"clean", "--dry-run"}), Catch::StartsWith("would remove 2 files"));
  CHECK_THAT(place.out({"clean"}), Catch::StartsWith("removed 2 files"));
  CHECK_FALSE(fs::exists(leftover));
  CHECK(fs::exists(young));
  CHECK_FALSE(fs::exists(file(4)));  // hidden
  CHECK_FALSE(store.find(sample_record(4).key));
  CHECK_THAT(place.out({"clean", "--older", "30d"}), Catch::StartsWith("removed 1 files"));
  CHECK_FALSE(store.find(sample_record(1).key));
  REQUIRE(store.find(sample_record(2).key));
  CHECK_THAT(place.out({"clean", "--max", "1K"}), Catch::StartsWith("removed"));
  CHECK_FALSE(store.find(sample_record(2).key));
  store.publish({sample_record(4)});
  CHECK(fs::exists(file(4).replace_filename(sample_record(4).key + ".1.json")));
}

TEST_CASE("clean: touches nothing that quench does not know by name", "[cli]") {
  const Place place;
  const std::string key(64, 'a');
  const std::vector<std::string> others = {"records/notes.txt",
                                           "records/aa/notes.json",
                                           "records/aa/" + key + ".json",
                                           "records/aa/" + key + ".x.json",
                                           "records/bb/" + key + ".0.json",
                                           "records/aa/sub/x.0.json",
                                           "fingerprints/mine.json",
                                           "tokens/mine.tokens",
                                           "tokens/mine/000000.ids",
                                           "tokens/.x.partial/y",
                                           "training/x.txt"};
  const std::vector<std::string> ours = {
      "records/aa/" + key + ".0.json", "fingerprints/aa/" + key + ".json",
      "tokens/" + key + ".tokens", "tokens/" + key + ".packed/index.json"};
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const fs::path path = place.folder().write("home/" + name, "x");
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2400));
    }
  };
  add(others);
  add(ours);
  fs::last_write_time(place.folder() / ("home/tokens/" + key + ".packed"),
                      fs::file_time_type::clock::now() - std::chrono::hours(2400));
  CHECK_THAT(place.out({"clean", "--older", "1d"}), Catch::StartsWith("removed 4 files"));
  for (const std::string& name : others) {
    INFO(name);
    CHECK(fs::exists(place.folder() / ("home/" + name)));
  }
  for (const std::string& name : ours) {
    INFO(name);
    CHECK_FALSE(fs::exists(place.folder() / ("home/" + name)));
  }
  CHECK(std::distance(fs::directory_iterator(place.folder() / "home/tokens"), {}) == 3);
}

TEST_CASE("clean: an empty QUENCH_HOME is none, a relative one and a folder of others are refused",
          "[cli]") {
  const Place place;
  const std::string key(64, 'a');
  const fs::path mine = place.folder().write("records/aa/" + key + ".0.json", "x");
  place.folder().write("paper.tex", "x");
  fs::last_write_time(mine, fs::file_time_type::clock::now() - std::chrono::hours(2400));
  const auto clean = [&](const std::string& home) {
    return quench::test::run_program(
        {(quench::test::binary_dir() / "bin/quench").string(), "clean", "--older", "1d"},
        {{"QUENCH_HOME", home}}, place.folder().path());
  };
  CHECK(clean("").code == 0);
  CHECK(fs::exists(mine));
  CHECK(fs::exists(place.folder() / ".cache/quench/quench-home"));  // of HOME
  const auto relative = clean(".");
  CHECK(relative.code == 2);
  CHECK_THAT(relative.err, Catch::Contains("QUENCH_HOME: got '.', wanted an absolute folder"));
  const auto others = clean(place.folder().path().string());
  CHECK(others.code == 2);
  CHECK_THAT(others.err, Catch::Contains("has no quench-home, so nothing is removed"));
  CHECK(fs::exists(mine));
}

TEST_CASE("diff: manifests and values with their paired difference", "[cli]") {
  const Place place;
  place.write("s", 0.25);
  place.folder().write("r/manifest.json", R"({"name": "r", "seed": 0})");
  place.folder().write("s/manifest.json", R"({"name": "r", "seed": 1})");
  const json told = quench::test::data_of(place.out({"diff", "r", "s", "--json"}));
  CHECK(told.at("manifest") == json::parse(R"([{"path": "seed", "was": 0, "is": 1}])"));
  CHECK(told.at("equal") == 2);
  REQUIRE(told.at("changed").size() == 4);
  size_t paired = 0;
  for (const json& change : told.at("changed")) {
    if (change.at("paired").get<bool>()) {
      ++paired;
      CHECK(change.at("delta") == 0.25);
      CHECK(change.at("stderr") == 0.0);
    }
  }
  CHECK(paired == 2);
  const std::string text = place.out({"diff", "r", "s"});
  CHECK_THAT(text, Catch::StartsWith("manifest  seed: 1, was 0\n") &&
                       Catch::Contains("main step200, q4, validation_loss (validation_loss on x): "
                                       "2.75, was 2.5; difference 0.25 ± 0 (paired)") &&
                       Catch::EndsWith("2 values equal, 4 differ, 0 only in the first run, 0 only "
                                       "in the second\n"));
}

TEST_CASE("status: tells what runs and what is done", "[cli]") {
  const Place place;
  {
    quench::Heartbeat heart(place.folder() / "r", "0", "0001-00000000", 8, 1);
    heart.cell("step400, q4", 3, 1);
    const json told = quench::test::data_of(place.out({"status", "r", "--json"}));
    REQUIRE(told.at("jobs").size() == 1);
    CHECK(told["jobs"][0].at("state") == "running");
    CHECK(told["jobs"][0].at("to_do") == 4);
    CHECK(told["jobs"][0].at("eta_seconds").is_number());
    CHECK(
        told.at("records") ==
        json({{"done", 3}, {"failed", 1}, {"of_other_text", 0}, {"damaged", 0}, {"conflicts", 0}}));
    CHECK_THAT(place.out({"status", "r"}),
               Catch::Contains("job 0    running, 3/8 done, 1 failed, 4 to do; pid") &&
                   Catch::Contains("step400, q4\n"));
  }
  CHECK_THAT(place.out({"status", "r", "--watch"}), Catch::Contains("job 0    stopped, 3/8 done"));
}
