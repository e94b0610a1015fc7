// The parent's side of probing: what the children are asked, and what their answers mean.
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/catalog.hpp"
#include "core/plugin/elf_file.hpp"
#include "core/plugin/foreign_code.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/probe_children.hpp"

namespace quench {

namespace {

using nlohmann::json;

void read_description(const json& in, const std::filesystem::path& library, ProbeResult& result) {
  const json& module = in.at("module");
  std::vector<LinkedLibrary> links;
  if (const auto around = in.find("surroundings"); around != in.end()) {
    result.surroundings = *around;
    for (const auto& [path, name] : around->at("watched").items()) {
      result.watched.push_back({name.get<std::string>(), path, ""});
    }
  } else {
    for (const json& link : in.at("links")) {
      links.push_back({link.at("soname").get<std::string>(), link.at("path").get<std::string>(),
                       link.at("build_id").get<std::string>()});
    }
    result.findings = in.value("findings", std::vector<std::string>());
  }
  for (const json& item : in.at("items")) {
    PluginDescription description = description_from_json(item);
    description.library = library;
    description.links = links;
    description.instance = instance_from_json(item.at("instance"));
    module.at("id").get_to(description.module_id);
    module.at("version").get_to(description.module_version);
    module.at("build").get_to(description.build);
    result.items.push_back(std::move(description));
  }
}

// Whether another try, without a change of the library, may find otherwise: the machine had no
// memory, descriptor or disk for it, or what it needs is not there yet.
bool may_pass(const std::string& rejected) {
  static constexpr const char* kWords[] = {"annot allocate memory",
                                           "failed to map segment",
                                           "cannot open shared object file",
                                           "Too many open files",
                                           "Input/output error",
                                           "No space left on device",
                                           "Stale file handle",
                                           "Resource temporarily unavailable",
                                           "bad_alloc",
                                           "MemoryError"};
  rlimit memory{};
  const bool is_limited = getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur != RLIM_INFINITY;
  // Where memory has a limit, its end looks like any fault: a crash in a constructor, say.
  return is_limited || std::any_of(std::begin(kWords), std::end(kWords), [&](const char* word) {
           return rejected.find(word) != std::string::npos;
         });
}

}  // namespace

ProbeResult result_of(const json& in, const std::filesystem::path& library) {
  ProbeResult result;
  try {
    if (const auto rejected = in.find("rejected"); rejected != in.end()) {
      rejected->get_to(result.rejected);
      result.passing = in.value("passing", false) || may_pass(result.rejected);
      return result;
    }
    if (!in.contains("module")) {
      result.rejected = find_fault({});
      return result;
    }
    read_description(in, library, result);
    result.rejected = find_fault(result.items);
  } catch (const std::exception& failure) {
    result.rejected = fmt::format("its description cannot be read: {}", printable(failure.what()));
  }
  if (!result.rejected.empty()) {
    result.items.clear();
  }
  return result;
}

ProbeOptions probe_options(const CatalogOptions& options, bool create) {
  return {options.self, options.probe_seconds, create, options.python,
          options.sandbox == Sandbox::kStrict};
}

std::vector<ProbeResult> probe_libraries(const std::vector<std::filesystem::path>& libraries,
                                         const ProbeOptions& options) {
  std::vector<ProbeQuestion> questions;
  std::vector<size_t> asked;  // the library of each question
  std::vector<ProbeResult> results(libraries.size());
  for (size_t i = 0; i < libraries.size(); ++i) {
    ProbeQuestion question{libraries[i]};
    try {
      if (is_python_file(libraries[i])) {
        question.interpreter = interpreter_of(libraries[i], options.python);
        if (options.confined) {
          require_confinable(question.interpreter, libraries[i], options.python);
        }
      } else if (options.create) {
        question.words.emplace_back("--create");
      }
      questions.push_back(std::move(question));
      asked.push_back(i);
    } catch (const Error& failure) {
      results[i].rejected = failure.what();
    }
  }
  ask(questions, options, [&](size_t index, const json& answer, bool timed_out) {
    ProbeResult& result = results[asked[index]];
    result = result_of(answer, questions[index].library);
    result.timed_out = timed_out;
    for (PluginDescription& item : result.items) {
      item.interpreter = questions[index].interpreter;
    }
  });
  return results;
}

}  // namespace quench
