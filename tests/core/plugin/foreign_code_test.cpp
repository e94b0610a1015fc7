// What processes of strangers' code get.
#include "core/plugin/foreign_code.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace {

// A variable of this process for as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("foreign code: variables of a list reach it, and no secret", "[core][plugin]") {
  const Variable secrets[] = {
      {"HF_TOKEN", "a"},      {"HUGGING_FACE_HUB_TOKEN", "b"}, {"AWS_SECRET_ACCESS_KEY", "c"},
      {"WANDB_API_KEY", "d"}, {"SSH_AUTH_SOCK", "e"},          {"MY_UNHEARD_OF", "f"}};
  const Variable passed[] = {{"OMP_WAIT_POLICY", "passive"},
                             {"LC_PAPER", "C"},
                             {"CUDA_VISIBLE_DEVICES", "0"},
                             {"QUENCH_OF_MY_PLUGIN", "1"}};
  const Variable loader("LD_LIBRARY_PATH", "/no/such");
  const auto names = [](const std::vector<std::string>& variables) {
    std::vector<std::string> out;
    for (const std::string& entry : variables) {
      out.push_back(entry.substr(0, entry.find('=')));
    }
    return out;
  };
  const std::vector<std::string> worker = names(quench::foreign_environment());
  const std::vector<std::string> probe = names(quench::probe_environment());
  const auto has = [](const std::vector<std::string>& in, const char* name) {
    return std::find(in.begin(), in.end(), name) != in.end();
  };
  for (const std::vector<std::string>* of : {&worker, &probe}) {
    for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY",
                             "WANDB_API_KEY", "SSH_AUTH_SOCK", "MY_UNHEARD_OF"}) {
      CAPTURE(name);
      CHECK_FALSE(has(*of, name));
    }
    for (const char* name :
         {"PATH", "OMP_WAIT_POLICY", "LC_PAPER", "CUDA_VISIBLE_DEVICES", "QUENCH_OF_MY_PLUGIN"}) {
      CAPTURE(name);
      CHECK(has(*of, name));
    }
  }
  CHECK(has(probe, "LD_LIBRARY_PATH"));
  CHECK_FALSE(has(worker, "LD_LIBRARY_PATH"));
}
