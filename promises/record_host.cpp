#include "promises/record_host.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace quench::promises {

namespace {

struct Host {
  std::vector<std::string> data_sets;  // files of JSON lines
  std::string text;                    // what the last call returned
  int built_in = 0;
};

Host& self(void* context) {
  return *static_cast<Host*>(context);
}

quench_status locate(void*, const char*, const char**, quench_error*) noexcept {
  return QUENCH_NOT_FOUND;
}

quench_status yaml_file(void* context, const char* path, const char** json, uint64_t* bytes,
                        quench_error*) noexcept {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  self(context).text = all.str();
  *json = self(context).text.data();
  *bytes = self(context).text.size();
  return QUENCH_OK;
}

quench_status yaml_text(void* context, const char*, uint64_t, const char*, const char** json,
                        uint64_t* bytes, quench_error*) noexcept {
  Host& own = self(context);
  own.text = nlohmann::json{
      {"task", "built in " + std::to_string(own.built_in++)},
      {"splits", {"test"}},
      {"data", {{"paths", {"nowhere"}}}},
      {"prompt", "p"},
      {"choices", {"a", "b"}},
      {"answer", "a"},
      {"scores",
       {"acc"}}}.dump();
  *json = own.text.data();
  *bytes = own.text.size();
  return QUENCH_OK;
}

quench_status want(void* context, const char*, const char*, const char* parameters,
                   quench_error*) noexcept {
  self(context).data_sets.push_back(nlohmann::json::parse(parameters).at("path"));
  return QUENCH_OK;
}

quench_status want_file(void*, const char*, quench_error*) noexcept {
  return QUENCH_OK;
}

}  // namespace

std::string hand_records(const quench_metric_table& table, quench_metric* metric) {
  Host own;
  const quench_record_host host = {sizeof host, &own, locate,   yaml_file,
                                   yaml_text,   want, want_file};
  quench_error error{sizeof error, 0, {}};
  if (table.wants(metric, &host, &error) != QUENCH_OK) {
    return error.message;
  }
  for (uint32_t set = 0; set < own.data_sets.size(); ++set) {
    std::ifstream file(own.data_sets[set]);
    for (std::string line; std::getline(file, line);) {
      const quench_status status = table.take(metric, set, line.data(), line.size(), &error);
      if (status == QUENCH_END) {
        break;
      }
      if (status != QUENCH_OK) {
        return error.message;
      }
    }
  }
  return "";
}

}  // namespace quench::promises
