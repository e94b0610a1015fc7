#include "core/plugin/catalog/worker_file.hpp"

#include <algorithm>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/first_line.hpp"
#include "core/plugin/catalog/python_file.hpp"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kForm = R"({"program": PATH, "arguments": [WORD, ...]})";

json parse(const fs::path& file) {
  constexpr uint64_t kLongest = uint64_t{64} << 10;
  json said = parse_json(read_file(file, kLongest), "it");
  const auto is_text = [](const json& value) { return value.is_string(); };
  const json none = json::array();
  const json& arguments = said.is_object() ? said.value("arguments", none) : none;
  const size_t known = said.is_object() ? said.contains("program") + said.contains("arguments") : 0;
  if (known == 0 || known != said.size() || !is_text(said.value("program", json())) ||
      !arguments.is_array() || !std::all_of(arguments.begin(), arguments.end(), is_text)) {
    fail(QUENCH_DATA_LOSS, "it says {}, wanted {}", printable(said.dump(), 200), kForm);
  }
  return said;
}

}  // namespace

bool is_worker_file(const fs::path& file) {
  return file.extension() == ".worker";
}

WorkerFile read_worker_file(const fs::path& file) {
  const json said = parse(file);
  WorkerFile out;
  out.program = file.parent_path() / said.at("program").get<std::string>();
  out.arguments = said.value("arguments", std::vector<std::string>());
  if (!is_program(out.program)) {
    fail(QUENCH_FAILED_PRECONDITION, "its program: got {}, wanted a file that may be started",
         printable(out.program.string(), 400));
  }
  out.started = {out.program};
  if (const auto words = first_line_words(out.program); !words.empty()) {
    if (!is_program(words[0]) || fs::path(words[0]).filename() == "env") {
      fail(QUENCH_FAILED_PRECONDITION,
           "the first line of its program: got #!{}, wanted the absolute path of an interpreter",
           printable(words[0], 400));
    }
    out.started.emplace_back(words[0]);
  }
  out.files = out.started;
  for (const std::string& argument : out.arguments) {
    std::error_code error;
    if (fs::is_regular_file(file.parent_path() / argument, error)) {
      out.files.push_back(file.parent_path() / argument);
    }
  }
  return out;
}

json code_of_worker(const fs::path& file, const std::string& sha256) {
  json files = json::object();
  for (const fs::path& each : read_worker_file(file).files) {
    const fs::path inside = each.lexically_relative(file.parent_path());
    const bool is_outside = inside.empty() || *inside.begin() == "..";
    files[(is_outside ? each : inside).string()] = sha256_of(File(each));
  }
  return {{"worker file", sha256}, {"files", std::move(files)}};
}

std::map<std::string, std::string> files_of_worker(const json& code, const fs::path& file) {
  std::map<std::string, std::string> out;
  for (const auto& [name, sha256] : code.at("files").items()) {
    out[(file.parent_path() / name).string()] = sha256.get<std::string>();
  }
  return out;
}

}  // namespace quench
