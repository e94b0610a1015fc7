#include "core/plugin/worker/confined.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/sandbox/sandbox.hpp"

namespace quench {

using nlohmann::json;

std::string enter_sandbox_of(const json& box) {
  if (box.is_null()) {
    return "off";
  }
  SandboxRequest request;
  const auto take = [&](const char* name, std::vector<std::filesystem::path>& to) {
    for (const json& path : box.value(name, json::array())) {
      to.emplace_back(path.get<std::string>());
    }
  };
  take("readable", request.readable);
  take("writable", request.writable);
  take("executable", request.executable);
  return enter_sandbox(request);
}

int confined_main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    std::fputs("quench __confined is run by quench itself\n", stderr);
    return 2;
  }
  try {
    enter_sandbox_of(parse_json(arguments[0], "the host"));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 4;
  }
  std::vector<char*> words;
  words.reserve(arguments.size());
  for (size_t i = 1; i < arguments.size(); ++i) {
    words.push_back(const_cast<char*>(arguments[i].c_str()));
  }
  words.push_back(nullptr);
  execv(words[0], words.data());
  std::fprintf(stderr, "%s: cannot be started: %s\n", words[0], std::strerror(errno));
  return 4;
}

}  // namespace quench
