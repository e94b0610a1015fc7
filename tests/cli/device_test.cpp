// GPUs as the program sees them, with a library that stands for the driver, and without one.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/skip.hpp"

namespace fs = std::filesystem;
using Catch::Contains;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// The program finds this driver, whatever the machine has; "" is one that cannot be loaded.
Outcome run_with_driver(const Workplace& here, const fs::path& driver,
                        const Workplace::Arguments& arguments) {
  const fs::path library = here.folder() / "drivers/libcuda.so.1";
  fs::create_directories(library.parent_path());
  fs::remove(library);
  if (driver.empty()) {
    std::ofstream(library) << "nothing";
  } else {
    fs::create_symlink(driver, library);
  }
  quench::Command command = here.command(arguments);
  command.environment->push_back("LD_LIBRARY_PATH=" + library.parent_path().string());
  quench::ChildProcess process = quench::ChildProcess::start(command);
  return here.wait(process);
}

const Workplace::Arguments kEval = {
    "eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--device", "cuda:0"};

}  // namespace

TEST_CASE("device: without a GPU, cuda is refused in one line before any work", "[cli]") {
  const Workplace here{Page::kNone};
  const std::string line =
      "device cuda:0: no NVIDIA driver is installed: libcuda.so.1 is not there\n";
  const Outcome eval = run_with_driver(here, "", kEval);
  CHECK(eval.code == 2);
  CHECK(eval.err == line);
  here.folder().write("m.yaml",
                      "name: m\ndevice: cuda\ncheckpoints: {model: tiny}\n"
                      "metrics:\n  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const Outcome run = run_with_driver(here, "", {"run", "m.yaml"});
  CHECK(run.code == 2);
  CHECK(run.err == line);
  CHECK(!fs::exists(here.folder() / "runs"));
  // A login node plans and submits what other machines compute.
  const Outcome plan = run_with_driver(here, "", {"plan", "m.yaml"});
  CHECK(plan.code == 0);
  CHECK(plan.err ==
        "warning: " + line.substr(0, line.size() - 1) + "; `run` needs it where it runs\n");
}

TEST_CASE("device: a number beyond the machine's GPUs is refused with what there is", "[cli]") {
  const Workplace here{Page::kNone};
  Workplace::Arguments arguments = kEval;
  arguments.back() = "cuda:3";
  const Outcome got = run_with_driver(here, QUENCH_FAKE_DRIVER, arguments);
  CHECK(got.code == 2);
  CHECK(got.err == "device cuda:3: this machine has 3 devices, cuda:0 to cuda:2\n");
}

TEST_CASE("device: what libtorch lacks for a GPU is said in one line before any work", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome doctor = run_with_driver(here, QUENCH_FAKE_DRIVER, {"doctor", "--json"});
  const nlohmann::json part = quench::test::data_of(doctor.out).at("gpus").at("libtorch");
  quench::test::skip_unless(!part.is_null() && !part.at("missing").empty(),
                            "libtorch has all that it needs, or no part for GPUs");
  const auto missing = part.at("missing").get<std::vector<std::string>>();
  std::string listed;
  for (const std::string& library : missing) {
    listed += (listed.empty() ? "" : ", ") + library;
  }
  const Outcome got = run_with_driver(here, QUENCH_FAKE_DRIVER, kEval);
  CHECK(got.code == 2);
  CHECK(got.err == "device cuda:0: " + part.at("path").get<std::string>() + " cannot be loaded: " +
                       listed + (missing.size() == 1 ? " is" : " are") + " not installed\n");
}

TEST_CASE("doctor: lists GPUs with capability, memory and the driver's CUDA", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got = run_with_driver(here, QUENCH_FAKE_DRIVER, {"doctor"});
  CHECK_THAT(got.out,
             Contains("gpu         cuda:0: NVIDIA H200, compute capability 9.0, 131.3 GiB\n") &&
                 Contains("gpu         cuda:2: NVIDIA A100-SXM4-80GB, compute capability 8.0") &&
                 Contains("gpu driver  serves CUDA 13.2\n") && Contains("\ngpu kernels ") &&
                 Contains("\ngpu libtorch "));
  const Outcome none = run_with_driver(here, "", {"doctor", "--json"});
  const nlohmann::json gpus = quench::test::data_of(none.out).at("gpus");
  CHECK(gpus.at("devices").empty());
  CHECK(gpus.at("absence") == "no NVIDIA driver is installed: libcuda.so.1 is not there");
  CHECK(gpus.at("driver_cuda").is_null());
}
