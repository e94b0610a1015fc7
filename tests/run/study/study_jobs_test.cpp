// The manifest that a file of the study amounts to, and the cells of each of its jobs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/study_job.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/run/manifest_folder.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"

namespace fs = std::filesystem;
using quench::Experiment;
using quench::Manifest;
using quench::StudyCheckpoint;
using quench::StudyJob;
using quench::test::run_program;

namespace {

const fs::path kStudyFiles = quench::test::source_dir() / "tests/data/study";

void need_methods() {
  quench::test::skip_unless(
      fs::exists(quench::test::binary_dir() / "lib/quench/quantizers/gptq.so"),
      "quantizers/gptq is not built");
}

// As the program reads it, by the package's own command.
quench::StudyManifest read_study(const fs::path& file) {
  const std::string python = "/usr/bin/python3";
  const auto start = quench::test::source_dir() / "python/quench/start.py";
  quench::test::skip_unless(
      run_program({python, start.string(), "requirements", "yaml"}, {}, "/tmp").code == 0,
      python + " is not there, or has no module yaml");
  const quench::test::Ended read =
      run_program({python, start.string(), "study", "--jobs", file.string()}, {}, "/tmp");
  INFO(read.err);
  REQUIRE(read.code == 0);
  return quench::study_manifest(nlohmann::json::parse(read.out));
}

struct Loaded {
  Manifest manifest;
  Experiment experiment;
};

Loaded load(const fs::path& file, const quench::test::TemporaryDir& folder) {
  quench::HubEnvironment hub;
  hub.hf_hub_cache = (folder / "hub").string();
  Loaded out{quench::load_manifest(file, {}, read_study), {}};
  CHECK(quench::test::complaints_of_schema(out.manifest.text) == "");
  out.experiment =
      quench::resolve_manifest(out.manifest, quench::test::built_catalog(), hub).front();
  return out;
}

std::set<std::string> names_of(const Experiment& experiment) {
  std::set<std::string> out;
  for (const quench::Cell& cell : quench::cells_of({experiment})) {
    out.insert(quench::cell_name(experiment, cell));
  }
  return out;
}

std::vector<StudyCheckpoint> measured(const Experiment& experiment) {
  std::vector<StudyCheckpoint> out;
  for (const quench::WeightsCell& weights : experiment.weights) {
    const std::vector<size_t> rows =
        weights.averaging ? weights.members : std::vector<size_t>{weights.checkpoint};
    for (const size_t row : rows) {
      out.push_back({experiment.checkpoints[row].model, experiment.checkpoints[row].revision});
    }
  }
  return out;
}

// Every job is its own cells of the whole file, and all jobs together are all of them.
void check_jobs(const Loaded& loaded) {
  const std::set<std::string> whole = names_of(loaded.experiment);
  std::set<std::string> all;
  for (size_t i = 0; i < loaded.manifest.study_jobs.size(); ++i) {
    CAPTURE(i);
    const StudyJob job = loaded.manifest.study_jobs[i];
    Experiment experiment = loaded.experiment;
    quench::keep_study_job(experiment, job);
    std::vector<StudyCheckpoint> found = measured(experiment);
    const auto by_name = [](const StudyCheckpoint& a, const StudyCheckpoint& b) {
      return a.revision < b.revision;
    };
    std::vector<StudyCheckpoint> wanted = job.checkpoints;
    std::sort(found.begin(), found.end(), by_name);
    std::sort(wanted.begin(), wanted.end(), by_name);
    CHECK(found == wanted);
    CHECK(experiment.quantizers.size() == (job.quantizer.is_object() ? 1 : 0));
    const std::set<std::string> names = names_of(experiment);
    CHECK(std::includes(whole.begin(), whole.end(), names.begin(), names.end()));
    CHECK(names.size() == (job.quantizer.is_object() ? 2 : job.checkpoints.size()));
    all.insert(names.begin(), names.end());
  }
  CHECK(all == whole);
}

}  // namespace

TEST_CASE("study: job 11 of a sweep is one revision, in float and with its bits", "[study]") {
  need_methods();
  const quench::test::TemporaryDir folder;
  const Loaded loaded = load(kStudyFiles / "sweep.yaml", folder);
  check_jobs(loaded);
  // 2 bits x 4 revisions x 2: job 11 = (1 * 4 + 1) * 2 + 1.
  Experiment experiment = loaded.experiment;
  quench::keep_study_job(experiment, loaded.manifest.study_jobs[11]);
  CHECK(names_of(experiment) ==
        std::set<std::string>{
            "stage1/stage1-step20-tokens2B, float, validation_loss block=16",
            "stage1/stage1-step20-tokens2B, gptq preset=study bits=3 group_size=16, "
            "validation_loss block=16"});
  const quench::QuantizerCell& cell = experiment.quantizers.front();
  CHECK(cell.parameters.at("bits") == 3);
  CHECK(cell.parameters.at("damp") == 0.01);
  REQUIRE(cell.calibration);
  CHECK(cell.calibration->documents == 1024);
  CHECK(cell.calibration->length == 0);  // whole documents
}

TEST_CASE("study: a job of averages is the mean of the last L of its list", "[study]") {
  need_methods();
  const quench::test::TemporaryDir folder;
  const Loaded loaded = load(kStudyFiles / "averages.yaml", folder);
  check_jobs(loaded);
  // 2 bits x 2 lists x 2 lengths: job 1 is bits 3, list 1, L = 2.
  const StudyJob job = loaded.manifest.study_jobs[1];
  CHECK(job.checkpoints ==
        std::vector<StudyCheckpoint>{{"hf://org/tiny", "stage2-part2-step9-tokens2B"},
                                     {"hf://org/tiny", "main"}});
  CHECK(loaded.manifest.study_jobs[3].checkpoints.front().revision ==
        "stage2-part1-step9-tokens2B");
}

TEST_CASE("study: a job of a landscape is one quantized and one float checkpoint", "[study]") {
  const quench::test::TemporaryDir folder;
  std::string text = quench::read_file(kStudyFiles / "landscape.yaml", 1 << 20);
  for (size_t at = text.find("/not/here"); at != std::string::npos; at = text.find("/not/here")) {
    text.replace(at, 9, folder.path().string());
  }
  for (const char* name :
       {"quantized/baseline_01/job_idx_0/ckpt_step_20_4bits_GPTQ_HF",
        "quantized/cooldown_03/job_idx_1/ckpt_step_30_4bits_GPTQ_HF",
        "checkpoints/baseline_01/job_idx_0", "checkpoints/cooldown_03/job_idx_1"}) {
    fs::create_directories(folder / name);
  }
  for (const char* name :
       {"baseline_01/job_idx_0/ckpt_step_10.pth", "baseline_01/job_idx_0/ckpt_step_20.pth",
        "cooldown_03/job_idx_1/ckpt_step_30.pth", "cooldown_03/job_idx_1/ckpt_step_40.pth"}) {
    folder.write("checkpoints/" + std::string(name), "");
  }
  const Loaded loaded = load(folder.write("landscape.yaml", text), folder);
  check_jobs(loaded);
  CHECK(loaded.experiment.checkpoints.size() == 5);
  CHECK(loaded.manifest.study_jobs.size() == 6);
}

TEST_CASE("study: a file that differs in a key without effect amounts to the same cells",
          "[study]") {
  need_methods();
  const quench::test::TemporaryDir folder;
  std::string text = quench::read_file(kStudyFiles / "sweep.yaml", 1 << 20);
  text.replace(text.find("[1, 2]"), 6, "7     ");
  const Loaded other = load(folder.write("sweep.yaml", text), folder);
  CHECK(other.manifest.study_jobs.size() == 8);
  CHECK(names_of(other.experiment) ==
        names_of(load(kStudyFiles / "sweep.yaml", folder).experiment));
}

TEST_CASE("study: every job of the study's own files is its cells of the whole file", "[study]") {
  need_methods();
  const quench::test::TemporaryDir folder;
  size_t files = 0;
  for (const char* kind : {"gptq", "lawa"}) {
    for (const auto& entry : fs::directory_iterator(quench::test::study_config(kind))) {
      CAPTURE(entry.path());
      const Loaded loaded = load(entry.path(), folder);
      check_jobs(loaded);
      REQUIRE(loaded.experiment.quantizers.front().calibration);
      CHECK(loaded.experiment.quantizers.front().calibration->pad_batch ==
            std::stoull(
                quench::parse_yaml(quench::read_file(entry.path(), quench::kYamlMaxBytes), "job")
                    .find("calibration_batch_size")
                    ->scalar));
      ++files;
    }
  }
  CHECK(files == 15);
}

TEST_CASE("study: a manifest is no file of the study", "[study]") {
  const auto is = [](const std::string& text) {
    return quench::is_study_file(quench::parse_yaml(text, "s.yaml"));
  };
  CHECK(is("repo_origin: org/tiny\nq_bits: [4, 3]\n"));
  CHECK(is("quantized_paths: a\nfp_paths: b\n"));
  CHECK_FALSE(is("repo_origin: org/tiny\nq_bits: 4\ncheckpoints: {}\n"));
  CHECK_FALSE(is("repo_origin: org/tiny\nfp_paths: b\n"));
  CHECK_FALSE(is("name: a\nmetrics: []\n"));
  CHECK_FALSE(is("[repo_origin, q_bits]"));
}

TEST_CASE("study: comments of the manifest name what has no counterpart", "[study]") {
  const Manifest manifest = quench::load_manifest(kStudyFiles / "sweep.yaml", {}, read_study);
  CHECK_THAT(manifest.text,
             Catch::StartsWith("# What sweep.yaml amounts to: 16 jobs of the study's code") &&
                 Catch::Contains("\n#   num_workers: 2 values: processes that tokenize") &&
                 Catch::Contains("\nname: org-tiny\n") &&
                 Catch::Contains("bits: [4, 3], group_size: 16}"));
  CHECK(quench::load_manifest(kStudyFiles / "averages.yaml", {}, read_study)
            .text.find("raw: false") != std::string::npos);
}
