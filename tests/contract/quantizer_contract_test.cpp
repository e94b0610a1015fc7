#include "tests/contract/quantizer_contract.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include "tests/contract/hard_inputs.hpp"
#include "tests/contract/quantized_linear.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

bool has_parameter(const quench_item& item, const std::string& name) {
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    if (item.parameters[i].name == name) {
      return true;
    }
  }
  return false;
}

void check_same(const QuantizedLinear& a, const QuantizedLinear& b) {
  CHECK(a.message == b.message);
  CHECK(differences(a.dequantized, b.dequantized) == "");
  CHECK(a.tensors == b.tensors);
  CHECK(a.numbers == b.numbers);
  CHECK(a.op_output == b.op_output);
}

}  // namespace

namespace quantizer_contract {

void same_input_same_result(const quench_item& item) {
  const QuantizerInput input = random_linear(24, 256, 64);
  const QuantizedLinear first = quantize(item, {}, input);
  REQUIRE(first.message == "");
  check_same(first, quantize(item, {}, input));
}

void threads_do_not_matter(const quench_item& item) {
  const QuantizerInput input = random_linear(67, 256, 64);
  const QuantizedLinear one = quantize(item, {}, input);
  REQUIRE(one.message == "");
  for (const uint32_t threads : {2u, 5u}) {
    set_task_threads(threads);
    const QuantizedLinear many = quantize(item, {}, input);
    set_task_threads(1);
    check_same(one, many);
  }
}

void zero_stays_zero(const quench_item& item) {
  QuantizerInput input = random_linear(5, 256, 64);
  std::fill(input.weight.begin(), input.weight.begin() + 2 * 256, 0.0F);
  const QuantizedLinear result = quantize(item, {}, input);
  REQUIRE(result.message == "");
  if (result.linear_op) {
    for (size_t i = 0; i < result.op_output.size(); i += 5) {
      REQUIRE(result.op_output[i] == 0.0F);
      REQUIRE(result.op_output[i + 1] == 0.0F);
    }
    return;
  }
  for (size_t i = 0; i < 2 * 256; ++i) {
    REQUIRE(result.dequantized[i] == 0.0F);
  }
}

void codes_explain_the_weight(const quench_item& item) {
  const QuantizerInput input = random_linear(6, 256, 64);
  const QuantizedLinear result = quantize(item, {}, input);
  REQUIRE(result.message == "");
  if (result.linear_op || result.tensors.count("codes") == 0) {
    return;
  }
  const auto in = static_cast<size_t>(input.in);
  REQUIRE(result.shapes.at("codes") == std::vector<int64_t>{input.out, input.in});
  REQUIRE(result.shapes.at("scales") == result.shapes.at("zeros"));
  const auto groups = static_cast<size_t>(result.shapes.at("scales")[1]);
  const std::vector<double> g_idx = result.tensors.count("g_idx") != 0
                                        ? result.tensors.at("g_idx")
                                        : std::vector<double>(in, 0.0);
  REQUIRE((result.tensors.count("g_idx") != 0 || groups == 1));
  for (size_t i = 0; i < result.dequantized.size(); ++i) {
    REQUIRE(g_idx[i % in] < static_cast<double>(groups));
    const size_t g = (i / in) * groups + static_cast<size_t>(g_idx[i % in]);
    const double channel = result.tensors.count("channel_scale") != 0
                               ? result.tensors.at("channel_scale")[i % in]
                               : 1.0;
    const double explained = result.tensors.at("scales")[g] *
                             (result.tensors.at("codes")[i] - result.tensors.at("zeros")[g]) /
                             channel;
    // One rounding to float32, of the product or of a scale; one more for a channel scale.
    REQUIRE(result.dequantized[i] ==
            Approx(explained).epsilon(channel == 1 ? 1.2e-7 : 2.4e-7).margin(1e-12));
  }
  if (has_parameter(item, "bits")) {
    const auto defaults = nlohmann::json::parse(complete_parameters(item, {}));
    const std::vector<double>& codes = result.tensors.at("codes");
    const double most = std::ldexp(1.0, defaults["bits"].get<int>()) - 1;
    CHECK(*std::max_element(codes.begin(), codes.end()) <= most);
  }
  if (result.tensors.count("perm") != 0) {  // each column once
    const std::vector<double>& perm = result.tensors.at("perm");
    const std::set<double> distinct(perm.begin(), perm.end());
    CHECK(perm.size() == in);
    CHECK(distinct.size() == in);
  }
}

void last_group_may_be_shorter(const quench_item& item) {
  if (!has_parameter(item, "group_size")) {
    SUCCEED("it has no groups");
    return;
  }
  const QuantizedLinear result = quantize(item, {{"group_size", 48}}, random_linear(4, 100, 128));
  REQUIRE(result.message == "");
  if (result.tensors.count("scales") != 0) {
    CHECK(result.shapes.at("scales") == std::vector<int64_t>{4, 3});
  }
}

void not_finite_weights_are_refused_by_name(const quench_item& item) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    QuantizerInput input = random_linear(4, 256, 64);
    input.weight[300] = bad;
    const QuantizedLinear result = quantize(item, {}, input);
    CHECK(result.status == QUENCH_NUMERICAL);
    CHECK_THAT(result.message, Catch::Contains("block.0.some_linear"));
  }
}

void not_finite_rows_are_refused(const quench_item& item) {
  if ((quantizer_needs(item, {}) & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) == 0) {
    SUCCEED("it takes no rows");
    return;
  }
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    QuantizerInput input = random_linear(4, 256, 64);
    input.rows[256 * 40 + 7] = bad;  // in the second call, which begins at row 32
    const QuantizedLinear result = quantize(item, {}, input);
    CHECK(result.status == QUENCH_NUMERICAL);
    CHECK_THAT(result.message, Catch::Contains("row 8") && Catch::Contains("column 7"));
  }
}

void hard_inputs_are_survived(const quench_item& item) {
  for (const HardInput& hard : hard_inputs()) {
    INFO(hard.name);
    const QuantizedLinear result = quantize(item, {}, hard.input);
    if (result.status != QUENCH_OK) {
      CHECK(result.status == QUENCH_NUMERICAL);
      CHECK_THAT(result.message, Catch::Contains("block.0.some_linear"));
      continue;
    }
    if (result.linear_op) {
      continue;
    }
    CHECK(std::all_of(result.dequantized.begin(), result.dequantized.end(),
                      [](float value) { return std::isfinite(value); }));
    for (const auto& [name, number] : result.numbers) {
      INFO(name);
      CHECK(std::isfinite(number));
    }
    if (result.tensors.count("scales") != 0) {
      const std::vector<double>& scales = result.tensors.at("scales");
      CHECK(std::all_of(scales.begin(), scales.end(),
                        [](double scale) { return scale >= 0 && std::isfinite(scale); }));
    }
    check_same(result, quantize(item, {}, hard.input));
  }
}

void accepted_groups_serve_as_well_as_own(const quench_item& item) {
  const auto& table = table_of<quench_quantizer_table>(item);
  const std::string json = complete_parameters(item, {});
  QuantizerInstance owner{table};
  QuantizerInstance other{table};
  quench_error error{sizeof error, 0, {}};
  REQUIRE(table.create(json.data(), json.size(), &owner.quantizer, &error) == QUENCH_OK);
  REQUIRE(table.create(json.data(), json.size(), &other.quantizer, &error) == QUENCH_OK);
  if (table.accepts == nullptr || table.accepts(other.quantizer, owner.quantizer) != 1) {
    return;
  }
  QuantizerInput input = random_linear(6, 256, 300);
  const QuantizedLinear own = quantize(item, {}, input);
  REQUIRE(own.message == "");
  QuantizedLinear result;
  run_group(owner, other.quantizer, input, result, error);
  CHECK(result.message == "");
  check_same(own, result);
}

void rows_that_are_needed_are_asked_for(const quench_item& item) {
  QuantizerInput input = random_linear(4, 256, 64);
  input.rows.clear();
  const QuantizedLinear result = quantize(item, {}, input);
  if ((quantizer_needs(item, {}) & QUENCH_NEEDS_ROWS) != 0) {
    CHECK(result.status == QUENCH_FAILED_PRECONDITION);
    CHECK(result.message != "");
  } else {
    CHECK(result.message == "");
  }
}

void an_op_is_a_function(const quench_item& item) {
  const QuantizedLinear result = quantize(item, {}, random_linear(5, 256, 64));
  REQUIRE(result.message == "");
  CHECK(result.linear_op == ((quantizer_needs(item, {}) & QUENCH_MAKES_LINEAR_OP) != 0));
  if (!result.linear_op) {
    return;
  }
  const std::vector<float>& y = result.op_output;  // try_op has asked twice
  CHECK(std::all_of(y.begin(), y.end() - 5, [](float v) { return std::isfinite(v); }));
  CHECK(std::all_of(y.end() - 5, y.end(), [](float v) { return v == 0.0F; }));
}

void bits_per_weight_are_given(const quench_item& item) {
  const QuantizedLinear result = quantize(item, {}, random_linear(4, 256, 64));
  REQUIRE(result.message == "");
  REQUIRE(result.numbers.count("bits_per_weight") == 1);
  CHECK(result.numbers.at("bits_per_weight") > 0);
  CHECK(result.numbers.at("bits_per_weight") <= 64);
}

void memory_is_given_back(const quench_item& item) {
  const int64_t before = live_allocations();
  quantize(item, {}, random_linear(4, 256, 64));
  QuantizerInput bad = random_linear(4, 256, 64);
  bad.weight[0] = std::numeric_limits<float>::quiet_NaN();
  quantize(item, {}, bad);
  CHECK(live_allocations() == before);
}

void memory_is_what_is_said(const quench_item& item) {
  constexpr int64_t kSmall = 1 << 20;                           // bytes that need not be counted
  const QuantizerInput input = random_linear(768, 1280, 1100);  // more rows than a panel
  const quench_linear_info linear = {sizeof linear, 0,       "a.b",     "q",
                                     "a.b.weight",  nullptr, input.out, input.in};
  const quench_group_info group = {sizeof group, 0, 1, -1, -1, 1, &linear, 0, nullptr};
  QuantizerInstance instance{table_of<quench_quantizer_table>(item)};
  const std::string json = complete_parameters(item, nlohmann::json::object());
  quench_error error{sizeof error, 0, {}};
  REQUIRE(instance.table.create(json.data(), json.size(), &instance.quantizer, &error) ==
          QUENCH_OK);
  if (instance.table.predict_memory == nullptr) {
    return;
  }
  const quench_group_memory_args args = {sizeof args,  0, &group, input.in, kit::kFloat32,
                                         kit::kFloat32};
  quench_group_memory said = {sizeof said, 0, 0, 0, 0, 0};
  REQUIRE(instance.table.predict_memory(instance.quantizer, &args, &said, &error) == QUENCH_OK);
  CHECK(said.struct_size == sizeof said);
  const bool observes =
      (instance.table.needs(instance.quantizer) & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0;
  CHECK((said.observing > 0) == observes);

  const int64_t before = allocated_bytes();
  forget_peak_allocated_bytes();
  const QuantizedLinear result = quantize(item, {}, input);
  REQUIRE(result.message == "");
  int64_t taken = peak_allocated_bytes() - before;
  for (const auto& [name, shape] : result.shapes) {  // the sink's memory is the test's
    int64_t elements = 1;
    for (const int64_t extent : shape) {
      elements *= extent;
    }
    taken += elements * (name == "codes" || name == "indices" ? 1 : 8);
  }
  const auto total = static_cast<int64_t>(said.observing + said.shared + said.each + said.linear);
  INFO("said " << said.observing << " + " << said.shared << " + " << said.each << " + "
               << said.linear << ", taken " << taken);
  CHECK(taken <= total + total / 8 + kSmall);
  CHECK(total <= 2 * taken + kSmall);
}

}  // namespace quantizer_contract

namespace {

// QUENCH_CONTRACT_QUANTIZERS: other libraries than those of this build, ":" between them.
template <typename Check>
void for_each_quantizer(Check check) {
  const char* others = std::getenv("QUENCH_CONTRACT_QUANTIZERS");
  for (const quench_item* item :
       items_of(others != nullptr ? others : QUANTIZER_LIBRARIES, "quantizer")) {
    DYNAMIC_SECTION(item->id) {
      check(*item);
    }
  }
}

}  // namespace

TEST_CASE("every quantizer gives the same result for the same input", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::same_input_same_result);
}
TEST_CASE("every quantizer gives the same result on any number of threads",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::threads_do_not_matter);
}
TEST_CASE("every quantizer leaves rows of zeros at zero", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::zero_stays_zero);
}
TEST_CASE("every quantizer's weight is what its codes, scales and zeros say",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::codes_explain_the_weight);
}
TEST_CASE("every quantizer with groups takes a width that they do not divide",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::last_group_may_be_shorter);
}
TEST_CASE("every quantizer refuses weights that are not finite, by name",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::not_finite_weights_are_refused_by_name);
}
TEST_CASE("every quantizer refuses rows that are not finite, by place", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::not_finite_rows_are_refused);
}
TEST_CASE("every quantizer survives inputs that are hard", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::hard_inputs_are_survived);
}
TEST_CASE("every quantizer that accepts a group gives what it gives on its own",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::accepted_groups_serve_as_well_as_own);
}
TEST_CASE("every quantizer that needs rows fails without, all others do not",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::rows_that_are_needed_are_asked_for);
}
TEST_CASE("every quantizer's op gives the same twice, and zeros for zeros",
          "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::an_op_is_a_function);
}
TEST_CASE("every quantizer says its bits per weight", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::bits_per_weight_are_given);
}
TEST_CASE("every quantizer gives its memory back, after failures too", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::memory_is_given_back);
}
TEST_CASE("every quantizer takes the memory that it says it takes", "[contract][quantizers]") {
  for_each_quantizer(quantizer_contract::memory_is_what_is_said);
}

}  // namespace quench::test
