// What no model family may open.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/contract/model_contract.hpp"
#include "tests/contract/open_model.hpp"

namespace quench::test {

namespace model_contract {

void missing_unexpected_and_misshapen_tensors_are_named(const quench_item& item,
                                                        const SmallModel& small) {
  const auto refused = [&item](const SmallModel& changed, const std::string& name) {
    OpenModel model(item, changed);
    CHECK(model.status != QUENCH_OK);
    CHECK(model.status != QUENCH_INTERNAL);
    CHECK_THAT(model.error.message, Catch::Contains(name));
  };
  for (size_t i = 0; i < small.tensors.size(); ++i) {
    SmallModel missing = small;
    missing.tensors.erase(missing.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    refused(missing, small.tensors[i].name);
    SmallModel misshapen = small;
    SmallTensor& longer = misshapen.tensors[i];
    longer.values.resize(longer.values.size() +
                         longer.values.size() / static_cast<size_t>(longer.shape[0]));
    longer.shape[0] += 1;
    refused(misshapen, small.tensors[i].name);
  }
  SmallModel more = small;
  more.tensors.push_back({"a.stranger.weight", {1}, {0.0}});
  refused(more, "a.stranger.weight");
}

void ids_outside_the_vocabulary_are_refused(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  for (const int32_t bad : {-1, static_cast<int32_t>(model.info().vocabulary)}) {
    auto tokens = tensor<int32_t>({1, 2}, {0, bad});
    const quench_tensor view = tokens.view();
    const quench_batch batch = {sizeof batch, 0, &view, nullptr, nullptr};
    Owned h({2, model.info().width});
    const quench_tensor h_view = h.view();
    const quench_embed_args args = {sizeof args, 0, &batch, &h_view, nullptr};
    CHECK(model.table.embed(model.model, &args, &model.error) == QUENCH_INVALID_ARGUMENT);
  }
}

void numbers_of_a_config_are_checked(const quench_item& item, const SmallModel& small) {
  const auto good = nlohmann::json::parse(small.config);
  const auto status_of = [&](const nlohmann::json& config, std::string& message) {
    const SmallModel model{config.dump(), {}};
    const OpenModel open(item, model, QUENCH_OPEN_SHAPES);
    message = open.error.message;
    return open.status;
  };
  std::string message;
  if (status_of(good, message) != QUENCH_OK) {
    CHECK(std::string(item.id).starts_with("template"));
    return;
  }
  for (const auto& [key, value] : good.items()) {
    if (!value.is_number()) {
      continue;
    }
    std::vector<nlohmann::json> bad = {
        -1, "8", true, nlohmann::json::array(), nlohmann::json::object(), -0.5, 0};
    const bool whole = value.is_number_integer() && key != "rotary_emb_base";
    if (whole) {
      bad.insert(bad.end(), {1.5, 1'000'000'000, INT64_MAX, INT64_MIN, 1e300});
    } else if (key != "clip_qkv") {  // one that is too large clips nothing
      bad.insert(bad.end(), {1e300});
    }
    for (const nlohmann::json& wrong : bad) {
      nlohmann::json config = good;
      config[key] = wrong;
      CAPTURE(key, wrong.dump());
      const quench_status status = status_of(config, message);
      CHECK((status == QUENCH_INVALID_ARGUMENT || status == QUENCH_UNSUPPORTED));
      CHECK_THAT(message, Catch::Contains(key));
    }
  }
}

}  // namespace model_contract

TEST_CASE("every model refuses missing, unexpected and misshapen tensors by name",
          "[contract][models]") {
  for_each_model(model_contract::missing_unexpected_and_misshapen_tensors_are_named);
}
TEST_CASE("every model refuses bad numbers of a config by their key", "[contract][models]") {
  for_each_model(model_contract::numbers_of_a_config_are_checked);
}
TEST_CASE("every model refuses ids outside its vocabulary", "[contract][models]") {
  for_each_model(model_contract::ids_outside_the_vocabulary_are_refused);
}

}  // namespace quench::test
