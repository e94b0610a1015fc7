// What a run measures on each device, held against the processor.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/contract/device.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

// How far a loss may be from the processor's, relative to it.
struct Bound {
  const char* quantizer;  // "": the float model
  double off;
};

// Products are summed in another order, so a float loss moves in its last digits. A code moves only
// where a value lies on the edge between two, which one weight in a few thousand may.
constexpr Bound kBounds[] = {
    {"", 1e-5},
    {"rtn:bits=4,group_size=16", 1e-5},
    {"gptq:bits=4,group_size=16,desc_act=true", 2e-3},
    {"gptq:bits=3,group_size=-1,gptaq=true", 2e-3},
    {"awq:bits=4,group_size=16", 2e-3},
    {"hqq:bits=4,group_size=16", 1e-5},
    {"nf4", 1e-5},
    {"fp4", 1e-5},
    {"noise:bits=4,group_size=16", 1e-5},
    {"int8:activations=false", 1e-5},
    {"int8", 2e-3},
    {"int8:transform=smoothquant", 2e-3},
    {"activations:activations=int4,activation_keep=2", 2e-3},
    {"rtn:bits=4,group_size=16,activations=int8", 2e-3},
    {"awq:bits=4,group_size=16,inputs=sequential,activations=nvfp4", 2e-3},
    {"gptq:bits=4,group_size=16,activations=int4,rotate=all,cache=int4,cache_group_size=4,"
     "cache_rotate=both",
     2e-3},
    {"rtn:format=nvfp4", 1e-5},
    {"rtn:format=fp8_e4m3,group_size=16,mse=2", 1e-5},
    {"rtn:format=ternary,group_size=16,mse=2", 1e-5},
    {"gptq:format=nvfp4,mse=2", 2e-3},
    {"gptq:format=binary,group_size=16,desc_act=true,static_groups=true", 2e-3},
    {"awq:format=nvfp4", 2e-3},
    {"activations:activations=fp8_e4m3,activation_per=tensor,activation_range=max,cache=int4,"
     "cache_keys=channel,cache_group_size=8",
     2e-3},
};

double loss_on(const Workplace& here, const std::string& device, const std::string& quantizer) {
  here.folder().write("sums.txt", [] {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += "12 + 34 = 46, 7 - 5 = 2; ";
    }
    return text;
  }());
  Workplace::Arguments arguments = {
      "eval",        (source_dir() / "tests/data/training/trained").string(),
      "--tokenizer", "bytes",
      "--metric",    "validation_loss:text=sums.txt,block=16",
      "--device",    device,
      "--json"};
  if (!quantizer.empty()) {
    arguments.insert(arguments.end(), {"--quantizer", quantizer, "--calibration",
                                       "text=sums.txt,sequences=8,length=16"});
  }
  const Outcome got = here.run(arguments);
  INFO(got.err);
  REQUIRE(got.code == 0);
  const json data = data_of(got.out);
  double loss = 0;
  for (const json& record : data.at("records")) {
    if (record.at("metric") == "validation_loss" &&
        record.at("quantizer").is_null() == quantizer.empty()) {
      loss = record.at("value").get<double>();
      CHECK(record.at("environment").at("device") == recorded_device(here, device));
    }
  }
  REQUIRE(loss > 0);
  return loss;
}

void check_on(const std::string& device) {
  const Workplace here(Page::kNone);
  need_plugin("models/gpt_neox");
  need_device(here, device);
  for (const auto& [quantizer, off] : kBounds) {
    CAPTURE(device, quantizer);
    const double wanted = loss_on(here, "cpu", quantizer);
    const double got = loss_on(here, device, quantizer);
    CHECK(loss_on(Workplace(Page::kNone), device, quantizer) == got);
    CHECK(std::fabs(got - wanted) <= (device == "cpu" ? 0.0 : off * wanted));
  }
}

}  // namespace

TEST_CASE("contract: on cpu a run measures what it measured", "[contract]") {
  check_on("cpu");
}

TEST_CASE("contract: on cuda:0 a run measures what the processor does, within bounds",
          "[contract][cuda]") {
  check_on("cuda:0");
}

}  // namespace quench::test
