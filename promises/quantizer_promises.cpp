// What every quantizer must do, whatever its method, with its default parameters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "promises/candidate.hpp"
#include "promises/hard_inputs.hpp"
#include "promises/kinds.hpp"
#include "promises/quantized_linear.hpp"
#include "promises/tensors.hpp"

namespace quench::promises {

namespace {

constexpr const char* kLinear = "block.0.some_linear";

QuantizedLinear result_of(Candidate& candidate, const nlohmann::json& parameters,
                          const QuantizerInput& input) {
  QuantizedLinear result = quantize(candidate, parameters, input);
  result.require_result();
  return result;
}

void expect_same_results(const QuantizedLinear& got, const QuantizedLinear& wanted,
                         const char* as) {
  expect(got.fault.empty(), "{}", got.fault);
  expect(got.message == wanted.message, "got the error \"{}\" {}, wanted \"{}\"", got.message, as,
         wanted.message);
  expect_same("dequantized", got.dequantized, wanted.dequantized, as);
  expect_same("the op's output", got.op_output, wanted.op_output, as);
  expect(got.tensors.size() == wanted.tensors.size(), "{} tensors {}, wanted {}",
         got.tensors.size(), as, wanted.tensors.size());
  for (const auto& [name, values] : wanted.tensors) {
    expect(got.tensors.contains(name), "no tensor {} {}", name, as);
    expect_same(name, got.tensors.at(name), values, as);
  }
  expect(got.numbers.size() == wanted.numbers.size(), "{} numbers {}, wanted {}",
         got.numbers.size(), as, wanted.numbers.size());
  for (const auto& [name, value] : wanted.numbers) {
    expect(got.numbers.contains(name), "no number {} {}", name, as);
    expect(same_bits(got.numbers.at(name), value), "{} is {} {}, wanted {}", name,
           got.numbers.at(name), as, value);
  }
}

void expect_error(const QuantizedLinear& got, quench_status status, const char* status_name,
                  const std::vector<std::string>& words) {
  expect(got.fault.empty(), "{}", got.fault);
  expect(got.status == status, "got {}, wanted {}",
         got.status == QUENCH_OK ? "a result"
                                 : fmt::format("status {} (\"{}\")", got.status, got.message),
         status_name);
  for (const std::string& word : words) {
    expect(got.message.find(word) != std::string::npos, "got the error \"{}\", wanted {} in it",
           got.message, word);
  }
}

void a_linear_is_quantized(Candidate& candidate) {
  result_of(candidate, {}, random_linear(24, 256, 64));
}

void needs_are_known_bits(Candidate& candidate) {
  constexpr uint32_t kKnown =
      QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS | QUENCH_NEEDS_FLOAT_STREAM | QUENCH_NEEDS_SEQUENTIAL |
      QUENCH_NEEDS_BLOCK_REPLAY | QUENCH_MAKES_LINEAR_OP | QUENCH_NEEDS_BLOCK_ROWS |
      QUENCH_NEEDS_FLOAT_ROWS | QUENCH_QUANTIZES_HEAD | QUENCH_QUANTIZES_EMBEDDING |
      QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_MAKES_CACHE_OP;
  const uint32_t needs = quantizer_needs(candidate);
  expect((needs & ~kKnown) == 0, "needs has the bits {:#x}, of which this host knows none",
         needs & ~kKnown);
  const uint32_t from =
      needs & (QUENCH_NEEDS_SEQUENTIAL | QUENCH_NEEDS_BLOCK_ROWS | QUENCH_NEEDS_FLOAT_ROWS);
  expect((from & (from - 1)) == 0,
         "needs has {:#x}, wanted at most one of SEQUENTIAL, BLOCK_ROWS, "
         "FLOAT_ROWS",
         from);
}

void all_of_the_weight_is_written(Candidate& candidate) {
  const QuantizerInput input = random_linear(24, 256, 64);
  const QuantizedLinear result = result_of(candidate, {}, input);
  if (result.linear_op) {
    skip("it gives an op instead of a weight");
  }
  const auto in = static_cast<size_t>(input.in);
  for (size_t i = 0; i < result.dequantized.size(); ++i) {
    const float value = result.dequantized[i];
    expect(!is_unwritten(value), "dequantized [{}, {}] is not written", i / in, i % in);
    expect(std::isfinite(value), "dequantized [{}, {}] is {}, wanted a finite number", i / in,
           i % in, value);
  }
}

void same_input_same_result(Candidate& candidate) {
  const QuantizerInput input = random_linear(24, 256, 64);
  const QuantizedLinear first = result_of(candidate, {}, input);
  expect_same_results(quantize(candidate, {}, input), first, "the second time");
  if (candidate.start_afresh()) {
    expect_same_results(quantize(candidate, {}, input), first, "in another process");
  }
}

void threads_do_not_matter(Candidate& candidate) {
  const QuantizerInput input = random_linear(67, 256, 64);
  candidate.set_threads(1);
  const QuantizedLinear one = result_of(candidate, {}, input);
  for (const uint32_t threads : {2U, 5U}) {
    candidate.set_threads(threads);
    const QuantizedLinear many = quantize(candidate, {}, input);
    candidate.set_threads(1);
    expect_same_results(many, one, threads == 2 ? "on 2 threads" : "on 5 threads");
  }
}

void no_pass_affects_the_next(Candidate& candidate) {
  const QuantizerInput a = random_linear(24, 256, 64);
  QuantizerInput b{8, 128, numbers<float>(5, 8 * 128), numbers<float>(6, 40 * 128)};
  const QuantizedLinear alone = result_of(candidate, {}, b);
  QuantizerInstance instance(candidate, {});
  const auto pass = [&](const QuantizerInput& input) {
    if (instance.table.begin_pass != nullptr) {
      instance.table.begin_pass(instance.quantizer);
    }
    QuantizedLinear out = run_group(instance, instance.quantizer, input);
    instance.end_group();
    return out;
  };
  const QuantizedLinear first = pass(a);
  expect_same_results(pass(b), alone, "after another linear");
  expect_same_results(pass(a), first, "in the third pass of an instance");
}

void zero_stays_zero(Candidate& candidate) {
  QuantizerInput input = random_linear(5, 256, 64);
  std::fill(input.weight.begin(), input.weight.begin() + 2 * 256, 0.0F);
  const QuantizedLinear result = result_of(candidate, {}, input);
  if (result.linear_op) {
    for (size_t i = 0; i < result.op_output.size(); i += 5) {
      for (size_t r : {i, i + 1}) {
        expect(result.op_output[r] == 0.0F, "the op gives {} for a row of zeros, wanted 0",
               result.op_output[r]);
      }
    }
    return;
  }
  for (size_t i = 0; i < 2 * 256; ++i) {
    expect(result.dequantized[i] == 0.0F, "dequantized [{}, {}] is {}, wanted 0", i / 256, i % 256,
           result.dequantized[i]);
  }
}

std::string text_of(const std::vector<int64_t>& shape) {
  return kit::shape_text(shape);
}

void codes_explain_the_weight(Candidate& candidate) {
  const QuantizerInput input = random_linear(6, 256, 64);
  const QuantizedLinear result = result_of(candidate, {}, input);
  if (result.linear_op) {
    skip("it gives an op instead of a weight");
  }
  if (!result.tensors.contains("codes")) {
    skip("it gives no codes");
  }
  for (const char* name : {"scales", "zeros"}) {
    expect(result.tensors.contains(name), "codes without {}", name);
  }
  const auto in = static_cast<size_t>(input.in);
  const std::vector<int64_t>& scale_shape = result.shapes.at("scales");
  expect(result.shapes.at("codes") == std::vector<int64_t>{input.out, input.in},
         "codes have the shape {}, wanted [out, in] = [{}, {}]", text_of(result.shapes.at("codes")),
         input.out, input.in);
  expect(scale_shape.size() == 2 && scale_shape[0] == input.out && scale_shape[1] >= 1,
         "scales have the shape {}, wanted [out, groups]", text_of(scale_shape));
  expect(scale_shape == result.shapes.at("zeros"), "zeros have the shape {}, scales {}",
         text_of(result.shapes.at("zeros")), text_of(scale_shape));
  const auto groups = static_cast<size_t>(scale_shape[1]);
  const bool has_index = result.tensors.contains("g_idx");
  expect(has_index || groups == 1, "{} groups without g_idx", groups);
  const std::vector<double> g_idx =
      has_index ? result.tensors.at("g_idx") : std::vector<double>(in, 0.0);
  expect(g_idx.size() == in, "g_idx has {} elements, wanted {}", g_idx.size(), in);
  const bool is_scaled = result.tensors.contains("channel_scale");
  for (size_t i = 0; i < result.dequantized.size(); ++i) {
    const double group = g_idx[i % in];
    expect(group >= 0 && group < static_cast<double>(groups), "g_idx[{}] is {}, of {} groups",
           i % in, group, groups);
    const size_t g = (i / in) * groups + static_cast<size_t>(group);
    const double channel = is_scaled ? result.tensors.at("channel_scale").at(i % in) : 1.0;
    const double explained = result.tensors.at("scales")[g] *
                             (result.tensors.at("codes")[i] - result.tensors.at("zeros")[g]) /
                             channel;
    // One rounding to float32, of the product or of a scale; one more for a channel scale.
    expect(is_near(result.dequantized[i], explained, channel == 1 ? 1.2e-7 : 2.4e-7, 1e-12),
           "dequantized [{}, {}] is {}, its code stands for {}", i / in, i % in,
           result.dequantized[i], explained);
  }
  const Parameter* bits = find_parameter(candidate, "bits");
  if (bits != nullptr && bits->preset && bits->preset->is_number_integer()) {
    const std::vector<double>& codes = result.tensors.at("codes");
    const double most = std::ldexp(1.0, bits->preset->get<int>()) - 1;
    const double largest = *std::max_element(codes.begin(), codes.end());
    expect(largest <= most, "a code is {}, wanted at most {} for bits = {}", largest, most,
           bits->preset->get<int>());
  }
  if (result.tensors.contains("perm")) {
    const std::vector<double>& perm = result.tensors.at("perm");
    const std::set<double> distinct(perm.begin(), perm.end());
    expect(perm.size() == in && distinct.size() == in,
           "perm has {} elements, {} of them distinct, wanted each of {} columns once", perm.size(),
           distinct.size(), in);
  }
}

// scales · table[indices], of a weight that is looked up.
void indices_explain_the_weight(Candidate& candidate) {
  const QuantizerInput input = random_linear(6, 256, 64);
  const QuantizedLinear result = result_of(candidate, {}, input);
  if (result.linear_op || !result.tensors.contains("indices") ||
      !result.tensors.contains("table")) {
    skip("it gives no indices and table");
  }
  const std::vector<int64_t>& shape = result.shapes.at("table");
  const std::vector<double>& table = result.tensors.at("table");
  expect(result.shapes.at("indices") == std::vector<int64_t>{input.out, input.in},
         "indices have the shape {}, wanted [out, in] = [{}, {}]",
         text_of(result.shapes.at("indices")), input.out, input.in);
  expect((shape.size() == 1 || (shape.size() == 2 && shape[0] == input.out)) && shape.back() >= 2,
         "the table has the shape {}, wanted [entries] or [out, entries]", text_of(shape));
  expect(result.tensors.contains("scales"), "a table without scales");
  std::vector<double> scales = result.tensors.at("scales");
  if (kit::same(result.dtypes.at("scales"), kit::kUInt8)) {
    for (double& scale : scales) {
      scale = std::ldexp(1.0, static_cast<int>(scale) - 127);
    }
  }
  const size_t weights = result.dequantized.size();
  const auto given = result.numbers.find("block");
  const size_t block = result.shapes.at("scales").size() == 2 ? weights / scales.size()
                       : given != result.numbers.end()        ? static_cast<size_t>(given->second)
                                                              : 0;
  expect(
      block > 0 && (weights + block - 1) / block == scales.size(),
      "scales have the shape {} for {} weights, wanted [out, groups], or [blocks] and the number "
      "block",
      text_of(result.shapes.at("scales")), weights);
  for (size_t i = 0; i < weights; ++i) {
    const double index = result.tensors.at("indices")[i];
    expect(index < static_cast<double>(shape.back()), "an index is {}, of {} entries", index,
           shape.back());
    const size_t row = shape.size() == 1 ? 0 : i / static_cast<size_t>(input.in);
    const double explained =
        scales[i / block] *
        table[row * static_cast<size_t>(shape.back()) + static_cast<size_t>(index)];
    expect(is_near(result.dequantized[i], explained, 1.2e-7, 1e-12),
           "dequantized [{}, {}] is {}, its index stands for {}", i / static_cast<size_t>(input.in),
           i % static_cast<size_t>(input.in), result.dequantized[i], explained);
  }
}

// Bits per code that no lossless store of these codes goes below.
double entropy_of(const std::vector<double>& codes) {
  std::map<double, double> counts;
  for (const double code : codes) {
    counts[code] += 1;
  }
  double bits = 0;
  for (const auto& [code, count] : counts) {
    const double share = count / static_cast<double>(codes.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

void bits_per_weight_can_be(Candidate& candidate) {
  const QuantizedLinear result = result_of(candidate, {}, random_linear(24, 256, 64));
  const bool counted = result.tensors.contains("indices") && result.tensors.contains("table");
  if (counted && !result.numbers.contains("bits_per_weight")) {
    return;  // the host counts them
  }
  expect(result.numbers.contains("bits_per_weight"), "bits_per_weight is not given");
  const double bits = result.numbers.at("bits_per_weight");
  expect(bits > 0 && bits <= 64, "bits_per_weight is {}, wanted above 0 and at most 64", bits);
  if (const auto codes = result.tensors.find(counted ? "indices" : "codes");
      codes != result.tensors.end()) {
    const double least = entropy_of(codes->second);
    expect(bits >= 0.99 * least,
           "bits_per_weight is {}, and its codes alone cannot be stored in less than {:.2f}", bits,
           least);
  }
}

void last_group_may_be_shorter(Candidate& candidate) {
  if (find_parameter(candidate, "group_size") == nullptr) {
    skip("it has no parameter group_size");
  }
  const QuantizedLinear result =
      result_of(candidate, {{"group_size", 48}}, random_linear(4, 100, 128));
  if (result.tensors.contains("scales")) {
    const std::vector<int64_t>& shape = result.shapes.at("scales");
    expect(shape == std::vector<int64_t>{4, 3},
           "scales of 100 columns in groups of 48 have the shape {}, wanted [4, 3]",
           text_of(shape));
  }
}

void not_finite_weights_are_refused(Candidate& candidate) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    QuantizerInput input = random_linear(4, 256, 64);
    input.weight[300] = bad;
    expect_error(quantize(candidate, {}, input), QUENCH_NUMERICAL, "NUMERICAL", {kLinear});
  }
}

void not_finite_rows_are_refused(Candidate& candidate) {
  if (!QuantizerInstance(candidate, {}).takes_rows()) {
    skip("it takes no rows");
  }
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    QuantizerInput input = random_linear(4, 256, 64);
    input.rows[256 * 40 + 7] = bad;  // in the second call, which begins at row 32
    expect_error(quantize(candidate, {}, input), QUENCH_NUMERICAL, "NUMERICAL",
                 {"row 8", "column 7"});
  }
}

void hard_inputs_are_survived(Candidate& candidate) {
  for (const HardInput& hard : hard_inputs()) {
    const QuantizedLinear result = quantize(candidate, {}, hard.input);
    try {
      if (result.status != QUENCH_OK) {
        expect_error(result, QUENCH_NUMERICAL, "NUMERICAL or a result", {kLinear});
        continue;
      }
      expect(result.fault.empty(), "{}", result.fault);
      if (result.linear_op) {
        continue;
      }
      for (const float value : result.dequantized) {
        expect(std::isfinite(value), "dequantized has {}, wanted finite numbers", value);
      }
      for (const auto& [name, number] : result.numbers) {
        expect(std::isfinite(number), "{} is {}, wanted a finite number", name, number);
      }
      if (result.tensors.contains("scales")) {
        for (const double scale : result.tensors.at("scales")) {
          expect(scale >= 0 && std::isfinite(scale), "a scale is {}, wanted 0 or more", scale);
        }
      }
      expect_same_results(quantize(candidate, {}, hard.input), result, "the second time");
    } catch (const Broken& found) {
      broken("{}: {}", hard.name, found.what());
    }
  }
}

void accepted_groups_serve_as_well_as_own(Candidate& candidate) {
  QuantizerInstance owner(candidate, {});
  QuantizerInstance other(candidate, {});
  if (owner.table.accepts == nullptr ||
      owner.table.accepts(other.quantizer, owner.quantizer) != 1) {
    skip("it accepts no groups of others");
  }
  const QuantizerInput input = random_linear(6, 256, 300);
  const QuantizedLinear own = result_of(candidate, {}, input);
  expect_same_results(run_group(owner, other.quantizer, input), own, "from another's group");
}

void rows_that_are_needed_are_asked_for(Candidate& candidate) {
  QuantizerInput input = random_linear(4, 256, 64);
  input.rows.clear();
  const QuantizedLinear result = quantize(candidate, {}, input);
  if ((quantizer_needs(candidate) & QUENCH_NEEDS_ROWS) != 0) {
    expect_error(result, QUENCH_FAILED_PRECONDITION, "FAILED_PRECONDITION without rows", {});
    expect(!result.message.empty(), "got an error without a message");
  } else {
    result.require_result();
  }
}

// apply(x) = inputs(x) · dequantizedᵀ, in float64 but for what the op rounds.
void expect_product_of_inputs(const QuantizedLinear& result, const QuantizerInput& input) {
  constexpr double kRounding = 1e-5;  // of float32, over the sum of magnitudes
  const auto in = static_cast<size_t>(input.in);
  const auto out = static_cast<size_t>(input.out);
  for (size_t i = 0; i < result.op_output.size() && !result.op_inputs.empty(); ++i) {
    double wanted = 0;
    double size = 0;
    for (size_t c = 0; c < in; ++c) {
      const float weight = result.dequantized[i % out * in + c];
      expect(!is_unwritten(weight),
             "its op tells its inputs, and dequantized [{}, {}] is not written", i % out, c);
      const double part = static_cast<double>(result.op_inputs[i / out * in + c]) * weight;
      wanted += part;
      size += std::fabs(part);
    }
    expect(is_near(result.op_output[i], wanted, 0, kRounding * size),
           "the op gives {}, its inputs times the dequantized weight {}", result.op_output[i],
           wanted);
  }
}

void an_op_is_a_function(Candidate& candidate) {
  const QuantizerInput input = random_linear(5, 256, 64);
  const QuantizedLinear result = result_of(candidate, {}, input);
  const bool says = (quantizer_needs(candidate) & QUENCH_MAKES_LINEAR_OP) != 0;
  expect(result.linear_op == says, "it gives {}, and needs says {}",
         result.linear_op ? "an op" : "no op", says ? "an op" : "none");
  const bool says_cache = (quantizer_needs(candidate) & QUENCH_MAKES_CACHE_OP) != 0;
  expect(result.cache_op == says_cache, "it gives {} on keys and values, and needs says {}",
         result.cache_op ? "an op" : "no op", says_cache ? "an op" : "none");
  if (!result.linear_op) {
    skip("it makes no op");
  }
  const std::vector<float>& y = result.op_output;  // try_op has asked twice
  for (size_t i = 0; i < y.size(); ++i) {
    expect(std::isfinite(y[i]), "the op gives {}, wanted finite numbers", y[i]);
    expect(i + 5 < y.size() || y[i] == 0.0F, "the op gives {} for rows of zeros, wanted 0", y[i]);
  }
  expect_product_of_inputs(result, input);
}

void the_gram_matrix_is_that_of_the_rows(Candidate& candidate) {
  QuantizerInstance instance(candidate, {});
  if (instance.table.gram_get == nullptr) {
    skip("it has no Gram matrix");
  }
  const QuantizerInput input = random_linear(4, 64, 96);
  run_group(instance, instance.quantizer, input).require_result();
  quench_error error{sizeof error, 0, {}};
  quench_tensor gram{};
  double rows = 0;
  const quench_status status =
      instance.table.gram_get(instance.quantizer, instance.state, &gram, &rows, &error);
  expect(status == QUENCH_OK, "gram_get: got the error \"{}\"", error.message);
  expect(gram.data != nullptr && gram.dimensions == 2 && gram.shape[0] == 64 && gram.shape[1] == 64,
         "gram_get: wanted a matrix [64, 64]");
  expect(rows == 96, "gram_get: rows is {}, wanted 96", rows);
  const std::vector<double> found = kit::to_doubles(gram, "gram");
  for (size_t i = 0; i < 64; ++i) {
    for (size_t j = 0; j < 64; ++j) {
      double wanted = 0;
      for (size_t r = 0; r < 96; ++r) {
        wanted += static_cast<double>(input.rows[r * 64 + i]) * input.rows[r * 64 + j];
      }
      expect(is_near(found[i * 64 + j], wanted, 1e-5, 1e-4), "G[{}, {}] is {}, wanted {}", i, j,
             found[i * 64 + j], wanted);
    }
  }
}

// Where the host counts blocks, none is left, after a failure either; where only the size of a
// process is known, it does not grow from pass to pass.
void memory_is_given_back(Candidate& candidate) {
  if (const auto before = candidate.live_blocks()) {
    quantize(candidate, {}, random_linear(4, 256, 64));
    QuantizerInput bad = random_linear(4, 256, 64);
    bad.weight[0] = std::numeric_limits<float>::quiet_NaN();
    quantize(candidate, {}, bad);
    expect(candidate.live_blocks() == before, "{} blocks of the host's memory are left",
           *candidate.live_blocks() - *before);
    return;
  }
  constexpr int kPasses = 16;
  const QuantizerInput input = random_linear(256, 512, 64);
  const auto passes = [&] {
    for (int i = 0; i < kPasses; ++i) {
      result_of(candidate, {}, input);
    }
    return candidate.process_size();
  };
  const auto before = passes();
  const auto after = passes();
  if (!before || !after) {
    skip("the size of its process cannot be seen here");
  }
  const double weight = static_cast<double>(input.weight.size() * sizeof(float));
  const double grown = static_cast<double>(after->bytes) - static_cast<double>(before->bytes);
  expect(grown <= kPasses * weight / 2,
         "its process grows by {:.1f} MB in {} passes over a weight of {:.1f} MB", grown / 1e6,
         kPasses, weight / 1e6);
  expect(after->threads < before->threads + kPasses, "it leaves {} threads behind in {} passes",
         after->threads - before->threads, kPasses);
}

void nothing_is_printed(Candidate& candidate) {
  result_of(candidate, {}, random_linear(4, 256, 64));
  const auto printed = candidate.printed();
  if (!printed) {
    skip("what it prints is not seen here");
  }
  expect(printed->empty(), "prints \"{}\", wanted messages through the host's log", *printed);
}

void memory_is_what_is_said(Candidate& candidate) {
  constexpr int64_t kSmall = 1 << 20;                           // bytes that need not be counted
  const QuantizerInput input = random_linear(768, 1280, 1100);  // more rows than a panel
  const quench_linear_info linear = {sizeof linear, 0,       "a.b",     "q",
                                     "a.b.weight",  nullptr, input.out, input.in};
  const quench_group_info group = {sizeof group, 0, 1, -1, -1, 1, &linear, 0, nullptr};
  QuantizerInstance instance(candidate, {});
  if (instance.table.predict_memory == nullptr) {
    skip("it does not say what a state takes");
  }
  const quench_group_memory_args args = {sizeof args,  0, &group, input.in, kit::kFloat32,
                                         kit::kFloat32};
  quench_group_memory said = {sizeof said, 0, 0, 0, 0, 0};
  quench_error error{sizeof error, 0, {}};
  const quench_status status =
      instance.table.predict_memory(instance.quantizer, &args, &said, &error);
  expect(status == QUENCH_OK, "predict_memory: got the error \"{}\"", error.message);
  expect(said.struct_size == sizeof said, "predict_memory: struct_size is {}, wanted {}",
         said.struct_size, sizeof said);
  expect((said.observing > 0) == instance.takes_rows(),
         "predict_memory: observing takes {} bytes, and needs says {}", said.observing,
         instance.takes_rows() ? "rows" : "no rows");
  QuantizedLinear result;
  const auto peak = candidate.peak_during([&] { result = result_of(candidate, {}, input); });
  if (!peak) {
    skip("only what it says was looked at: what it takes is not counted in a process of its own");
  }
  int64_t taken = *peak;
  for (const auto& [name, shape] : result.shapes) {  // the sink's memory is this side's
    int64_t elements = 1;
    for (const int64_t extent : shape) {
      elements *= extent;
    }
    taken += elements * (name == "codes" || name == "indices" ? 1 : 8);
  }
  const auto total = static_cast<int64_t>(said.observing + said.shared + said.each + said.linear);
  expect(taken <= total + total / 8 + kSmall && total <= 2 * taken + kSmall,
         "says {} + {} + {} + {} bytes, took {}", said.observing, said.shared, said.each,
         said.linear, taken);
}

constexpr Promise kPromises[] = {
    {"a linear is quantized, and what it is given stays as it was", a_linear_is_quantized, true},
    {"needs has known bits alone", needs_are_known_bits},
    {"each element of the dequantized weight is written, and finite", all_of_the_weight_is_written},
    {"the same input gives the same result", same_input_same_result},
    {"the number of threads changes nothing", threads_do_not_matter},
    {"no pass affects the next", no_pass_affects_the_next},
    {"rows of zeros stay zero", zero_stays_zero},
    {"the weight is what codes, scales and zeros say", codes_explain_the_weight},
    {"the weight is what indices, table and scales say", indices_explain_the_weight},
    {"bits_per_weight is given, and can be", bits_per_weight_can_be},
    {"groups may leave a shorter last one", last_group_may_be_shorter},
    {"weights that are not finite are refused, with the linear's name",
     not_finite_weights_are_refused},
    {"rows that are not finite are refused, with their place", not_finite_rows_are_refused},
    {"hard inputs give a finite result or a named error", hard_inputs_are_survived},
    {"a group that it accepts serves as one of its own", accepted_groups_serve_as_well_as_own},
    {"rows that it needs are asked for", rows_that_are_needed_are_asked_for},
    {"its op is a function, and zero for zeros", an_op_is_a_function},
    {"the Gram matrix is that of the rows", the_gram_matrix_is_that_of_the_rows},
    {"memory and threads are given back", memory_is_given_back},
    {"nothing is printed", nothing_is_printed},
    {"a state takes the memory that it says", memory_is_what_is_said},
};

}  // namespace

std::span<const Promise> quantizer_promises() {
  return kPromises;
}

}  // namespace quench::promises
