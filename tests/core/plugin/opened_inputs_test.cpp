#include "core/plugin/services/opened_inputs.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/extension/input.h"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;
using quench::Error;
using quench::OpenedInputs;
namespace fs = std::filesystem;

namespace {

// A file of 3 MiB and a module of a test of its own.
struct Scene {
  explicit Scene(std::string of) : module(std::move(of)), text(3u << 20, 'a') {
    folder.write("file", text);
    path = fs::canonical(folder / "file").string();
  }
  OpenedInputs& inputs = OpenedInputs::instance();
  std::string module;
  quench::test::TemporaryDir folder;
  std::string text;
  std::string path;

  std::string read(uint64_t offset, uint64_t bytes) {
    std::string out(bytes, '\0');
    inputs.read(module, path, offset, bytes, out.data());
    return out;
  }
};

quench_status code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& failure) {
    INFO(failure.what());
    return failure.code();
  }
  return QUENCH_OK;
}

}  // namespace

TEST_CASE("opened inputs: a file is read as it was when it was opened", "[core][plugin]") {
  Scene scene("test.reads");
  const OpenedInputs::Opened opened = scene.inputs.open(scene.module, scene.path);
  CHECK(opened.size == scene.text.size());
  CHECK(opened.sha256 == quench::sha256_hex(scene.text));
  CHECK(scene.read(0, scene.text.size()) == scene.text);
  CHECK(scene.read((1u << 20) - 3, 6) == "aaaaaa");
  CHECK(code_of([&] { scene.read(scene.text.size() - 1, 2); }) == QUENCH_INVALID_ARGUMENT);
  const quench::ReadInputs read = scene.inputs.of({scene.module});
  CHECK(read.files == quench::InputHashes{{scene.path, opened.sha256}});

  // Other bytes, in place or in another file of the name, are not handed out.
  std::string changed = scene.text;
  changed[1u << 20] = 'b';
  const auto times = fs::last_write_time(scene.path);
  scene.folder.write("file", changed);
  fs::last_write_time(scene.path, times);
  CHECK(scene.read(0, 1u << 20) == scene.text.substr(0, 1u << 20));
  CHECK(code_of([&] { scene.read(1u << 20, 1); }) == QUENCH_UNAVAILABLE);
  CHECK(code_of([&] { scene.inputs.of({scene.module}); }) == QUENCH_UNAVAILABLE);
}

TEST_CASE("opened inputs: a file that is not what the keys say is not opened", "[core][plugin]") {
  Scene scene("test.keyed");
  scene.inputs.expect(scene.module, scene.path, quench::sha256_hex("what was hashed for the key"));
  CHECK(code_of([&] { scene.inputs.open(scene.module, scene.path); }) == QUENCH_UNAVAILABLE);
  CHECK(code_of([&] { scene.inputs.note(scene.module, scene.path, false); }) == QUENCH_UNAVAILABLE);
  CHECK(code_of([&] { scene.inputs.open("test.other", scene.path); }) == QUENCH_OK);
}

TEST_CASE("opened inputs: what is not there is noted, and that it is there later",
          "[core][plugin]") {
  Scene scene("test.absent");
  const std::string absent = (fs::path(scene.path).parent_path() / "absent").string();
  scene.inputs.note(scene.module, absent, false);
  CHECK(scene.inputs.of({scene.module}).files ==
        quench::InputHashes{{absent, quench::kAbsentInput}});
  scene.folder.write("absent", "now it is");
  CHECK(code_of([&] { scene.inputs.of({scene.module}); }) == QUENCH_UNAVAILABLE);
  scene.inputs.note(scene.module, scene.folder.path().string(), false);  // a folder: no content
}

TEST_CASE("opened inputs: a module reads where its sandbox lets it", "[core][plugin]") {
  Scene scene("test.confined");
  scene.folder.write("own/file", "own");
  fs::create_symlink(scene.path, scene.folder / "own/link");
  const fs::path own = fs::canonical(scene.folder / "own");
  scene.inputs.allow(scene.module, {own}, quench::OpenedInputs::Notes::kAll);
  CHECK(code_of([&] { scene.inputs.open(scene.module, (own / "file").string()); }) == QUENCH_OK);
  for (const std::string& path :
       {scene.path, (own / "link").string(), (own / "../file").string()}) {
    CHECK(code_of([&] { scene.inputs.open(scene.module, path); }) == QUENCH_FAILED_PRECONDITION);
  }
  scene.inputs.note(scene.module, scene.path, false);  // what it could not open does no harm
  scene.inputs.allow(scene.module, {"/"});  // another module of the name: both must be allowed
  CHECK(code_of([&] { scene.inputs.note(scene.module, scene.path, false); }) ==
        QUENCH_FAILED_PRECONDITION);
  CHECK(code_of([&] { scene.inputs.open(scene.module, scene.path); }) ==
        QUENCH_FAILED_PRECONDITION);
}

TEST_CASE("opened inputs: what an instance reads is its own, what a module reads all have",
          "[core][plugin]") {
  Scene scene("test.instances");
  const auto read_as = [&](const char* label, const char* parameters, const std::string& name,
                           bool of_module) {
    scene.folder.write(name, name);
    const quench::PluginCall call(label, "evaluate", {nullptr, -1, parameters});
    scene.inputs.note(scene.module, (scene.folder / name).string(), of_module);
  };
  read_as("metric a", "{}", "first", false);
  read_as("metric a", "{\"n\":2}", "second", false);
  read_as("metric a", nullptr, "all", false);
  read_as("metric b", "{}", "module", true);
  const auto names = [&](const quench::InputReader& reader) {
    std::string out;
    for (const auto& [path, sha256] : scene.inputs.of(reader).files) {
      out += fs::path(path).filename().string() + " ";
    }
    return out;
  };
  CHECK(names({scene.module, "metric a", "{}"}) == "all first module ");
  CHECK(names({scene.module, "metric a", "{\"n\":2}"}) == "all module second ");
  CHECK(names({scene.module, "metric b", "{}"}) == "module ");
  CHECK(scene.inputs.has_opened({scene.module, "metric a", "{}"}, {scene.folder.path()}));
  CHECK_FALSE(scene.inputs.has_opened({scene.module, "metric b", "{}"}, {scene.folder / "first"}));
}

TEST_CASE("opened inputs: the service says what is wrong", "[core][plugin]") {
  const Scene scene("test.service");
  const quench_host* host = quench::HostServices::instance().host_for(scene.module);
  const auto* service =
      static_cast<const quench_input_service*>(host->service(host, QUENCH_SERVICE_INPUT));
  REQUIRE(service != nullptr);
  quench_error error{sizeof error, 0, {}};
  uint64_t size = 0;
  char sha256[65] = {};
  CHECK(service->open(host, "/no/such/file", &size, sha256, &error) == QUENCH_NOT_FOUND);
  CHECK_THAT(error.message, Contains("/no/such/file"));
  CHECK(service->open(host, "/", &size, sha256, &error) == QUENCH_INVALID_ARGUMENT);
  CHECK(service->read(host, scene.path.c_str(), 0, 1, sha256, &error) ==
        QUENCH_FAILED_PRECONDITION);
  CHECK(service->open(host, scene.path.c_str(), &size, sha256, &error) == QUENCH_OK);
  CHECK(std::strlen(sha256) == 64);
  CHECK(service->note(host, QUENCH_INPUT_VARIABLE, "QUENCH_NO_SUCH", &error) == QUENCH_OK);
  CHECK(OpenedInputs::instance().of({scene.module}).variables ==
        quench::InputHashes{{"QUENCH_NO_SUCH", quench::kAbsentInput}});
}
