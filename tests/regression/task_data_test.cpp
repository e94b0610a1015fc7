// Tasks over small data sets in every form in which data sets are published (tests/data/tasks),
// against the requests that lm-eval makes of the same records.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/regression/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

namespace fs = std::filesystem;

fs::path stored() {
  return source_dir() / "tests/data/tasks";
}

// A model of bytes, and a data folder that a test may break.
class Here {
 public:
  Here() {
    write_template_checkpoint(folder_ / "model");
    fs::copy_file(stored() / "tokenizer.json", folder_ / "model/tokenizer.json");
  }
  const TemporaryDir& folder() const { return folder_; }
  fs::path data() const { return folder_ / "data"; }

  // A copy of one form of the data sets.
  void copy(const std::string& form) const {
    fs::copy(stored() / form, data(), fs::copy_options::recursive);
  }

  std::vector<std::string> arguments(const std::string& spec) const {
    return {"eval",          (folder_ / "model").string(),
            "--plugin-path", template_plugins().string(),
            "--metric",      "tasks:" + spec};
  }

  // The lines of the log for these tasks, as text.
  std::string log_of(const std::string& tasks, const std::string& shots,
                     const std::map<std::string, std::string>& environment,
                     const std::string& data) const {
    const fs::path log = folder_ / "log";
    fs::remove(log);
    quench_json(arguments("tasks=" + tasks + (data.empty() ? "" : ",data=" + data) +
                          ",shots=" + shots + ",log=" + log.string()),
                environment);
    return read_file(log);
  }

  // What is said of broken data, without the place of the temporary folder.
  std::string complaint(const std::string& task) const {
    const Finished ended = run_quench(arguments("tasks=" + task + ",data=" + data().string()));
    CHECK(ended.code != 0);
    std::string said = ended.err;
    const std::string place = data().string() + "/";
    for (size_t at = said.find(place); at != std::string::npos; at = said.find(place)) {
      said.erase(at, place.size());
    }
    return said;
  }

 private:
  TemporaryDir folder_;
};

const std::string kTasks = "hellaswag+mathqa+arc_easy";

// A cache of the hub: blobs, links to them, and references, as its client lays it out.
class HubCache {
 public:
  explicit HubCache(fs::path root) : root_(std::move(root)) {}

  void link(const std::string& repository, char revision, const fs::path& file,
            const std::string& name) {
    const fs::path repository_folder = root_ / repository;
    const std::string commit(40, revision);
    const std::string hash = "blob" + std::to_string(++blobs_);
    fs::create_directories(repository_folder / "blobs");
    fs::copy_file(file, repository_folder / "blobs" / hash);
    const fs::path link = repository_folder / "snapshots" / commit / name;
    fs::create_directories(link.parent_path());
    fs::create_symlink((repository_folder / "blobs" / hash).lexically_relative(link.parent_path()),
                       link);
  }
  void refer(const std::string& repository, const std::string& name, char revision) {
    const fs::path reference = root_ / repository / "refs" / name;
    fs::create_directories(reference.parent_path());
    std::ofstream(reference) << std::string(40, revision);
  }
  std::map<std::string, std::string> environment() const {
    return {{"HF_HUB_CACHE", root_.string()}};
  }

 private:
  fs::path root_;
  int blobs_ = 0;
};

// HellaSwag with an older revision that has other records, MathQA with a script on its main branch
// and the hub's own conversion beside it, ARC with a folder for its configuration.
HubCache filled_cache(const fs::path& root) {
  HubCache cache(root);
  const fs::path parquet = stored() / "parquet";
  const std::string hellaswag = "datasets--Rowan--hellaswag";
  for (const auto& entry : fs::directory_iterator(parquet / "hellaswag/data")) {
    cache.link(hellaswag, 'b', entry.path(), "data/" + entry.path().filename().string());
  }
  for (const char* split : {"train", "validation"}) {
    cache.link(hellaswag, 'a', parquet / "hellaswag/data/train-00000-of-00001.parquet",
               "data/" + std::string(split) + "-00000-of-00001.parquet");
  }
  cache.refer(hellaswag, "main", 'b');
  const std::string mathqa = "datasets--regisss--math_qa";
  cache.link(mathqa, 'c', stored() / "rows.py", "math_qa.py");
  cache.refer(mathqa, "main", 'c');
  for (const char* number : {"0", "1", "2"}) {
    cache.link(mathqa, 'd',
               parquet / ("math_qa/data/test-0000" + std::string(number) + "-of-00003.parquet"),
               "default/test/000" + std::string(number) + ".parquet");
  }
  cache.link(mathqa, 'd', parquet / "math_qa/data/train-00000-of-00001.parquet",
             "default/train/0000.parquet");
  cache.refer(mathqa, "refs/convert/parquet", 'd');
  const std::string arc = "datasets--allenai--ai2_arc";
  for (const auto& entry : fs::directory_iterator(parquet / "ai2_arc/ARC-Easy/data")) {
    cache.link(arc, 'e', entry.path(), "ARC-Easy/" + entry.path().filename().string());
  }
  cache.refer(arc, "main", 'e');
  return cache;
}

}  // namespace

TEST_CASE("task data: HellaSwag, MathQA and ARC are asked as lm-eval asks them",
          "[regression][tasks]") {
  const Here here;
  const nlohmann::json golden = nlohmann::json::parse(read_file(stored() / "prompts.json"));
  for (const char* shots : {"0", "5"}) {
    std::istringstream lines(here.log_of(kTasks, shots, {}, (stored() / "saved").string()));
    size_t questions = 0;
    for (std::string line; std::getline(lines, line); ++questions) {
      const nlohmann::json found = nlohmann::json::parse(line);
      const nlohmann::json& wanted =
          golden.at("tasks").at(found.at("task")).at(shots).at(found.at("doc_id").get<size_t>());
      CAPTURE(line);
      CHECK(found.at("target") == wanted.at("target"));
      REQUIRE(found.at("requests").size() == wanted.at("continuations").size());
      for (size_t r = 0; r < found.at("requests").size(); ++r) {
        CHECK(found["requests"][r].at("context") == wanted.at("context"));
        CHECK(found["requests"][r].at("continuation") == wanted["continuations"][r]);
      }
    }
    CHECK(questions == 15);
  }
}

TEST_CASE("task data: the same records in any form give the same documents and scores",
          "[regression][tasks]") {
  const Here here;
  const HubCache cache = filled_cache(here.folder() / "hub");
  for (const char* shots : {"0", "5"}) {
    const std::string wanted = here.log_of(kTasks, shots, {}, (stored() / "saved").string());
    for (const char* form : {"parquet", "typed", "jsonl"}) {
      CAPTURE(shots, form);
      CHECK(here.log_of(kTasks, shots, {}, (stored() / form).string()) == wanted);
    }
    CHECK(here.log_of(kTasks, shots, cache.environment(), "") == wanted);
  }
}

TEST_CASE("task data: files that are broken or missing are named", "[regression][tasks]") {
  const Here here;
  here.copy("parquet");
  const fs::path shards = here.data() / "hellaswag/data";
  const std::string second = "validation-00001-of-00003.parquet";

  fs::rename(shards / second, here.folder() / second);
  CHECK_THAT(here.complaint("hellaswag"),
             Catch::Contains("hellaswag/data: validation: got 2 of 3 pieces, piece 1 (from 0) is "
                             "missing"));
  fs::create_symlink("nowhere", shards / second);
  CHECK_THAT(here.complaint("hellaswag"),
             Catch::Contains("hellaswag/data/" + second + ": cannot be read: No such file"));
  fs::remove(shards / second);
  fs::rename(here.folder() / second, shards / second);
  fs::copy_file(shards / second, shards / "validation-00000-of-00001.parquet");
  CHECK_THAT(here.complaint("hellaswag"), Catch::Contains("validation: got pieces of 1 and of 3"));
  fs::remove(shards / "validation-00000-of-00001.parquet");

  fs::resize_file(shards / second, fs::file_size(shards / second) - 100);
  CHECK_THAT(here.complaint("hellaswag"),
             Catch::Contains("hellaswag/data/" + second + ": Parquet magic bytes not found"));
  fs::remove_all(here.data() / "math_qa/data");
  CHECK_THAT(here.complaint("mathqa"),
             Catch::Contains("task mathqa: no split test, validation below math_qa/default"));
}

TEST_CASE("task data: records that do not fit are named with their file", "[regression][tasks]") {
  const Here here;
  here.copy("jsonl");
  const fs::path file = here.data() / "hellaswag/validation.jsonl";
  const std::string whole = read_file(file);
  const auto after = [&](const std::function<void(nlohmann::json&)>& change) {
    std::istringstream lines(whole);
    std::ofstream out(file);
    size_t number = 0;
    for (std::string line; std::getline(lines, line); ++number) {
      nlohmann::json record = nlohmann::json::parse(line);
      if (number == 2) {
        change(record);
      }
      out << record.dump() << "\n";
    }
    out.close();
    return here.complaint("hellaswag");
  };
  const std::string place = "task hellaswag: hellaswag/validation.jsonl, record 2: ";
  CHECK_THAT(after([](nlohmann::json& r) { r.erase("ctx_b"); }),
             Catch::Contains(place) &&
                 Catch::Contains("the record has no field `ctx_b`; it has activity_label, ctx, "));
  CHECK_THAT(after([](nlohmann::json& r) { r["endings"] = "one"; }),
             Catch::Contains(place + "choices: got a string, wanted a list of texts"));
  CHECK_THAT(after([](nlohmann::json& r) { r["ctx_a"] = 7; }),
             Catch::Contains(place) && Catch::Contains("+: got an integer, wanted text"));
  CHECK_THAT(after([](nlohmann::json& r) { r["label"] = ""; }),
             Catch::Contains(place) && Catch::Contains("int: \"\" is not a whole number"));
  CHECK_THAT(after([](nlohmann::json& r) { r["label"] = "4"; }),
             Catch::Contains(place + "answer: got 4, there are 4 choices"));
  std::ofstream(file) << whole << "{\"ind\": 3,\n";
  CHECK_THAT(here.complaint("hellaswag"),
             Catch::Contains("hellaswag/validation.jsonl:7: not JSON"));
  fs::resize_file(here.data() / "math_qa/train.jsonl.gz", 200);
  const Finished shots =
      run_quench(here.arguments("tasks=mathqa,shots=5,data=" + here.data().string()));
  CHECK(shots.code != 0);
  CHECK_THAT(shots.err, Catch::Contains("math_qa/train.jsonl.gz: gzip: truncated at byte 200"));
}

TEST_CASE("task data: a task without a question that can be scored fails its group, and no other",
          "[regression][tasks]") {
  const Here here;
  const auto make = [&](const std::string& name, const std::string& group,
                        const std::string& choice) {
    here.folder().write("mine/" + name + ".yaml",
                        "task: " + name + (group.empty() ? "" : "\ngroup: " + group) +
                            "\ndata: {paths: [" + name +
                            "]}\nsplits: [test]\nprompt: \"{{q}}\"\nchoices: \"{{c}}\"\n"
                            "answer: \"{{0}}\"\nscores: [acc]\n");
    const nlohmann::json record = {{"q", "Is it?"}, {"c", {"yes", choice}}};
    here.folder().write("data/" + name + "/test.jsonl",
                        record.dump() + "\n" + record.dump() + "\n");
  };
  const std::string longer(40, 'n');
  make("sound", "", "no");
  make("long", "", longer);
  make("first", "both", "no");
  make("second", "both", longer);
  const auto spec = [&](const std::string& tasks) {
    return here.arguments("tasks=" + tasks + ",max_length=32,files=" +
                          (here.folder() / "mine").string() + ",data=" + here.data().string());
  };
  const nlohmann::json alone = quench_json(spec("sound")).at("records");
  CHECK(alone.at(0).at("unit") == "accuracy");
  CHECK_FALSE(alone.at(0).at("details").contains("failed"));
  const nlohmann::json found = quench_json(spec("sound+long+both")).at("records");
  REQUIRE(found.size() == alone.size());
  CHECK(found.at(0).at("unit") == "accuracy of 1 of 3 tasks");
  CHECK(found.at(0).at("value") == alone.at(0).at("value"));
  CHECK(found.at(0).at("items") == alone.at(0).at("items"));
  CHECK(found.at(1).at("metric") == "tasks/sound/acc");
  CHECK(found.at(1).at("value") == alone.at(1).at("value"));
  const nlohmann::json& details = found.at(0).at("details");
  CHECK(details.at("tasks").at("sound") == alone.at(0).at("details").at("tasks").at("sound"));
  CHECK(details.at("tasks").contains("first"));
  CHECK_FALSE(details.at("tasks").contains("long"));
  const std::string fault =
      "question 0: 6 ids of context and 41 to score, but the model sees 32 (nor can the other 1 be "
      "scored)";
  CHECK(details.at("failed") ==
        nlohmann::json{{"long", "task long, " + fault}, {"second", "task second, " + fault}});
  const Finished shots = run_quench(spec("sound,shots=1"));
  CHECK(shots.code != 0);
  CHECK_THAT(shots.err, Catch::Contains("task sound: its file names no split for shots: give "
                                        "`shots_from`, or `shots: {splits: [...]}` in the file"));
  const Finished none = run_quench(spec("long+both"));
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Catch::Contains("metric tasks: task long, " + fault));
}

TEST_CASE("task data: questions that cannot be scored are left out, counted and named",
          "[regression][tasks]") {
  const Here here;
  const auto make = [&](const std::string& name, const std::string& group, bool odd) {
    here.folder().write("mine/" + name + ".yaml",
                        "task: " + name + (group.empty() ? "" : "\ngroup: " + group) +
                            "\ndata: {paths: [" + name +
                            "]}\nsplits: [test]\nprompt: \"{{q}}\"\nchoices: \"{{c}}\"\n"
                            "answer: \"{{0}}\"\nscores: [acc]\n");
    std::string lines;
    const auto add = [&](const std::string& prompt, const std::string& choice) {
      lines += nlohmann::json{{"q", prompt}, {"c", {choice, "so"}}}.dump() + "\n";
    };
    add("Is it?", "no");
    if (odd) {
      add("", "no");                        // no id before the choice
      add("Is it?", std::string(40, 'n'));  // longer than the context
    }
    add("Or?", "yes");
    here.folder().write("data/" + name + "/test.jsonl", lines);
  };
  make("sound", "", false);
  make("odd", "", true);
  make("first", "both", false);
  make("second", "both", true);
  const fs::path log = here.folder() / "log";
  const auto spec = [&](const std::string& tasks) {
    return here.arguments("tasks=" + tasks + ",max_length=32,log=" + log.string() + ",files=" +
                          (here.folder() / "mine").string() + ",data=" + here.data().string());
  };
  const nlohmann::json sound = quench_json(spec("sound")).at("records");
  const nlohmann::json odd = quench_json(spec("odd")).at("records");
  // What is left of it are the questions of the other.
  CHECK(odd.at(0).at("value") == sound.at(0).at("value"));
  CHECK(odd.at(0).at("items") == sound.at(0).at("items"));
  CHECK(odd.at(0).at("unit") == "accuracy of 2 of 4 questions");
  CHECK(odd.at(1).at("unit") == "accuracy of 2 of 4 questions");
  CHECK(odd.at(0).at("details").at("tasks").at("odd").at("left_out") == 2);
  CHECK(odd.at(0).at("details").at("tasks").at("odd").at("n") == 2);
  CHECK(sound.at(0).at("details").at("tasks").at("sound").at("left_out") == 0);
  CHECK_FALSE(sound.at(0).at("details").contains("left_out"));
  const nlohmann::json& said = odd.at(0).at("details").at("left_out").at("odd");
  CHECK(said.at("questions") == nlohmann::json{1, 2});
  CHECK_THAT(said.at("why").at("1").get<std::string>(), Catch::StartsWith("the prompt is empty"));
  CHECK(said.at("why").at("2") == "6 ids of context and 41 to score, but the model sees 32");

  fs::remove(log);
  const Finished all = run_quench(spec("sound+odd+both"));
  CHECK(all.code == 0);
  CHECK_THAT(all.err,
             Catch::Contains(
                 "task odd: leaves out 2 of 4 questions, first question 1: the prompt is empty"));
  std::istringstream lines(read_file(log));
  std::vector<std::string> asked;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json one = nlohmann::json::parse(line);
    asked.push_back(one.at("task").get<std::string>() + " " + one.at("doc_id").dump());
  }
  CHECK(asked == std::vector<std::string>{"sound 0", "sound 1", "odd 0", "odd 3", "first 0",
                                          "first 1", "second 0", "second 3"});
  const nlohmann::json three = quench_json(spec("sound+odd+both")).at("records");
  CHECK(three.at(0).at("unit") == "accuracy of 8 of 12 questions");
  CHECK(three.at(0).at("value") == sound.at(0).at("value"));
  CHECK(three.at(3).at("metric") == "tasks/both/acc");
  CHECK(three.at(3).at("unit") == "accuracy of 4 of 6 questions");
}

}  // namespace quench::test
