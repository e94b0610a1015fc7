// What every model family must do, whatever its architecture, on a small checkpoint.
#include <algorithm>
#include <cmath>
#include <map>

#include "promises/kinds.hpp"
#include "promises/open_model.hpp"
#include "quench/abi/extension/gradients.h"

namespace quench::promises {

namespace {

constexpr double kOtherShape = 1e-4;  // a product of another shape may round otherwise

uint64_t elements_of(const quench_parameter_info& parameter) {
  uint64_t elements = 1;
  for (int32_t d = 0; d < parameter.dimensions; ++d) {
    elements *= static_cast<uint64_t>(parameter.shape[d]);
  }
  return elements;
}

std::vector<quench_parameter_info> parameters_of(OpenModel& model) {
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  model.ok(model.table.parameters(model.model, &parameters, &count, &model.error));
  return {parameters, parameters + count};
}

void expect_near(const char* what, const std::vector<double>& got, size_t first,
                 const std::vector<double>& wanted, size_t from, size_t count, const char* as) {
  for (size_t t = 0; t < count; ++t) {
    expect(is_near(got[first + t], wanted[from + t], kOtherShape, 0),
           "{} of token {} is {} {}, "
           "wanted {}",
           what, t, got[first + t], as, wanted[from + t]);
  }
}

void it_opens_and_scores(Candidate& candidate) {
  OpenModel model(candidate);
  const quench_model_info info = model.info();
  expect(info.blocks >= 1 && info.width >= 1 && info.vocabulary >= 1,
         "info: says {} blocks, width {}, vocabulary {}", info.blocks, info.width, info.vocabulary);
  for (const double nll : model.score(some_batch(model, 2, 12)).nll) {
    expect(std::isfinite(nll) && nll >= 0, "token_nll: gives {}, wanted 0 or more", nll);
  }
}

void configs_of_others_are_left_alone(Candidate& candidate) {
  const auto& table = table_of<quench_model_table>(candidate);
  const auto points = [&](const std::string& config) {
    quench_error error{sizeof error, 0, {}};
    const int32_t said = table.probe(config.data(), config.size(), &error);
    expect(said >= 0 && said <= 100, "probe: gives {} points, wanted 0..100", said);
    return said;
  };
  const int32_t for_nothing = points("{}");
  expect(for_nothing == 0, "probe: gives an empty config {} points, wanted 0", for_nothing);
  expect(points(small_model(candidate).config) > 0,
         "probe: gives its checkpoint's config 0 points");
}

void descriptions_agree(Candidate& candidate) {
  OpenModel model(candidate);
  std::map<std::string, std::vector<int64_t>> shapes;
  uint64_t offset = 0;
  for (const quench_parameter_info& parameter : parameters_of(model)) {
    expect(parameter.offset == offset, "parameters: {} has the offset {}, wanted {}",
           parameter.name, parameter.offset, offset);
    offset += elements_of(parameter);
    shapes[parameter.name] = {parameter.shape, parameter.shape + parameter.dimensions};
  }
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (const uint32_t stage : {0U, block.stage_count}) {
      expect(model.carry(b, stage).size() == 1,
             "carry: {} tensors before stage {} of block {}, "
             "wanted 1",
             model.carry(b, stage).size(), stage, b);
    }
    expect(model.carry(b, 0)[0].width == model.info().width, "carry: block {} begins with width {}",
           b, model.carry(b, 0)[0].width);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      const quench_group_info& group = block.groups[g];
      expect(group.stage < block.stage_count, "block: group {} has stage {} of {}", g, group.stage,
             block.stage_count);
      const auto carried = model.carry(b, group.stage + 1);
      const auto has = [&](int32_t index) {
        return index >= 0 && index < static_cast<int32_t>(carried.size());
      };
      expect(has(group.input), "block: group {} reads tensor {} of {}", g, group.input,
             carried.size());
      const quench_carry_info& input = carried[static_cast<size_t>(group.input)];
      expect((group.rows >= 0) == (group.expert >= 0), "block: group {} has rows {} and expert {}",
             g, group.rows, group.expert);
      if (group.rows >= 0) {  // several destinations a row at most
        expect(has(group.rows), "block: group {} has destinations {} of {}", g, group.rows,
               carried.size());
        const quench_carry_info& rows = carried[static_cast<size_t>(group.rows)];
        expect(kit::same(rows.dtype, kit::kInt32) && rows.width == 1 &&
                   rows.rows_per_token % input.rows_per_token == 0,
               "block: group {}: destinations are {} of width {}, {} for a token", g,
               kit::name_of(rows.dtype), rows.width, rows.rows_per_token);
      }
      for (uint32_t l = 0; l < group.linear_count; ++l) {
        const quench_linear_info& linear = group.linears[l];
        expect(linear.in_features == input.width, "block: {} has {} columns and reads {}",
               linear.name, linear.in_features, input.width);
        expect(shapes.count(linear.weight) == 1, "block: {} is no parameter", linear.weight);
        expect(
            shapes[linear.weight] == std::vector<int64_t>{linear.out_features, linear.in_features},
            "block: {} has the shape {} as a parameter, and [{}, {}] as a linear", linear.weight,
            kit::shape_text(shapes[linear.weight]), linear.out_features, linear.in_features);
      }
    }
  }
}

// All names and places that it says.
std::vector<std::string> said_by(OpenModel& open) {
  std::vector<std::string> out;
  for (const quench_parameter_info& parameter : parameters_of(open)) {
    out.push_back(fmt::format("{} at {}", parameter.name, parameter.offset));
  }
  for (uint32_t b = 0; b < open.info().blocks; ++b) {
    for (uint32_t g = 0; g < open.block(b).group_count; ++g) {
      const quench_group_info& group = open.block(b).groups[g];
      for (uint32_t l = 0; l < group.linear_count; ++l) {
        out.emplace_back(group.linears[l].name);
      }
    }
  }
  return out;
}

void a_description_wants_no_weights(Candidate& candidate) {
  const SmallModel bare{small_model(candidate).config, {}};
  OpenModel shapes(candidate, bare, QUENCH_OPEN_SHAPES);
  if (shapes.status != QUENCH_OK) {  // one that does not know the flag misses the tensors
    const OpenModel missing(candidate, bare);
    const std::string got = shapes.error.message;
    expect(
        !got.empty() && (shapes.status == QUENCH_UNSUPPORTED ||
                         (shapes.status == missing.status && got == missing.error.message)),
        "open: got status {} (\"{}\") for shapes alone, wanted a description, UNSUPPORTED, or the "
        "error for missing tensors, status {} (\"{}\")",
        shapes.status, got, missing.status, missing.error.message);
    skip("it opens with its weights alone");
  }
  OpenModel model(candidate);
  expect_same("its description", said_by(shapes), said_by(model), "without weights");
}

void nll_is_that_of_the_logits(Candidate& candidate) {
  OpenModel model(candidate);
  const Batch batch = some_batch(model, 2, 9);
  Carried h = model.forward(batch, false);
  const Scores scores = model.score(batch);
  const auto vocabulary = static_cast<size_t>(model.info().vocabulary);
  Owned logits({18, model.info().vocabulary});
  const quench_tensor h_view = h.view();
  const quench_tensor logits_view = logits.view();
  model.ok(model.table.logits(model.model, &h_view, &logits_view, nullptr, &model.error));
  for (size_t n = 0; n < 18; ++n) {
    const float* row = &logits.values()[n * vocabulary];
    const float* most = std::max_element(row, row + vocabulary);
    expect(scores.argmax[n] >= 0 && static_cast<size_t>(scores.argmax[n]) < vocabulary &&
               row[scores.argmax[n]] == *most,
           "token_nll: argmax of token {} is {}, which is not the largest logit", n,
           scores.argmax[n]);
    double sum = 0;
    for (size_t v = 0; v < vocabulary; ++v) {
      sum += std::exp(static_cast<double>(row[v]) - *most);
    }
    const double wanted =
        n % 9 == 8 ? 0 : *most + std::log(sum) - row[batch.tokens[n + 1]];  // fp32 logits
    expect(is_near(scores.nll[n], wanted, 1e-5, 1e-6),
           "token_nll: gives {} for token {}, its logits say {}", scores.nll[n], n, wanted);
  }
}

void in_place_gives_the_same_bits(Candidate& candidate) {
  OpenModel model(candidate);
  const Batch batch = some_batch(model, 2, 12);
  expect_same("nll", model.score(batch, true).nll, model.score(batch, false).nll, "in place");
}

void threads_and_processes_do_not_matter(Candidate& candidate) {
  const auto scored = [&] {
    OpenModel model(candidate);
    return model.score(some_batch(model, 2, 12)).nll;
  };
  const std::vector<double> one = scored();
  candidate.set_threads(3);
  const std::vector<double> many = scored();
  candidate.set_threads(1);
  expect_same("nll", many, one, "on 3 threads");
  if (candidate.start_afresh()) {
    expect_same("nll", scored(), one, "in another process");
  }
}

void the_future_and_other_rows_do_not_matter(Candidate& candidate) {
  OpenModel model(candidate);
  const Batch both = some_batch(model, 2, 12);
  const std::vector<double> nll = model.score(both).nll;
  Batch changed = both;
  changed.tokens[11] = (changed.tokens[11] + 1) % static_cast<int32_t>(model.info().vocabulary);
  const std::vector<double> changed_nll = model.score(changed).nll;
  for (size_t t = 0; t < 10; ++t) {
    expect(changed_nll[t] == nll[t],
           "nll of token {} is {} where token 11 is another one, wanted {}", t, changed_nll[t],
           nll[t]);
  }
  expect(changed_nll[10] != nll[10], "nll of token 10 is the same for another target");
  const Batch second{1, 12, {both.tokens.begin() + 12, both.tokens.end()}};
  expect_near("nll", model.score(second).nll, 0, nll, 12, 12, "without the other row");
}

void some_tokens_may_end_alone(Candidate& candidate) {
  OpenModel model(candidate);
  if (model.table.token_wise_from == nullptr) {
    skip("it does not say from where on a token's own rows are enough");
  }
  const uint32_t last = model.info().blocks - 1;
  const uint32_t from = model.table.token_wise_from(model.model, last);
  expect(from <= model.block(last).stage_count, "token_wise_from: says stage {} of {}", from,
         model.block(last).stage_count);
  if (from == model.block(last).stage_count) {
    skip("a token's own rows are nowhere enough");
  }
  const Batch batch = some_batch(model, 2, 12);
  const std::vector<size_t> kept = {3, 4, 11, 12, 20};
  const std::vector<float> wanted = model.forward(batch, false).rows(kept, 1).values();
  const std::vector<float> found = model.forward_few(batch, kept, from).values();
  expect(found.size() == wanted.size(), "{} values, wanted {}", found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    expect(is_near(found[i], wanted[i], kOtherShape, 1e-5),
           "h[{}] is {} where some tokens end alone, wanted {}", i, found[i], wanted[i]);
  }
}

void segments_are_contexts_of_their_own(Candidate& candidate) {
  OpenModel model(candidate);
  const Batch packed_from = some_batch(model, 2, 6);
  Batch packed{1, 14, packed_from.tokens};
  packed.tokens.insert(packed.tokens.begin() + 6, 1);  // padding between and behind
  packed.tokens.push_back(2);
  packed.segments = {1, 1, 1, 1, 1, 1, -1, 2, 2, 2, 2, 2, 2, -1};
  packed.positions = {0, 1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5, 0};
  const std::vector<double> apart = model.score(packed_from).nll;
  const std::vector<double> together = model.score(packed).nll;
  expect_near("nll", together, 0, apart, 0, 5, "packed");
  expect_near("nll", together, 7, apart, 6, 5, "packed behind another");
}

void weights_come_back(Candidate& candidate) {
  OpenModel model(candidate);
  const FirstLinear linear = first_linear(model);
  const Batch batch = some_batch(model, 1, 12);
  const std::vector<double> before = model.score(batch).nll;
  const uint64_t generation = model.generation(linear.info.weight);
  std::vector<float> other = linear.values;
  for (float& value : other) {
    value = -value;
  }
  model.set_weight(linear.info.weight, linear.shape, other);
  expect_same(linear.info.weight, model.weight(linear.info.weight, linear.shape), other,
              "after weight_set");
  expect(model.generation(linear.info.weight) > generation,
         "weight_generation: does not rise with weight_set");
  expect(model.score(batch).nll != before, "nll is the same with another {}", linear.info.weight);
  model.set_weight(linear.info.weight, linear.shape, linear.values);
  expect_same("nll", model.score(batch).nll, before, "after the weight was set back");
}

void every_weight_is_there(Candidate& candidate) {
  OpenModel model(candidate);
  std::map<std::string, const SmallTensor*> given;
  const SmallModel small = small_model(candidate);
  for (const SmallTensor& tensor : small.tensors) {
    given[tensor.name] = &tensor;
  }
  for (const quench_parameter_info& parameter : parameters_of(model)) {
    const auto found = given.find(parameter.name);
    if (found == given.end()) {
      continue;  // stored under another name
    }
    const std::vector<int64_t> shape(parameter.shape, parameter.shape + parameter.dimensions);
    const std::vector<float> got = model.weight(parameter.name, shape);
    for (size_t i = 0; i < got.size(); ++i) {
      expect(got[i] == static_cast<float>(found->second->values.at(i)),
             "weight_get: {}[{}] is {}, the file has {}", parameter.name, i, got[i],
             found->second->values[i]);
    }
  }
}

void a_linear_op_replaces_and_leaves(Candidate& candidate) {
  struct Counts {
    int applied = 0;
    int released = 0;
  } counts;
  const auto apply = [](void* context, const quench_tensor*, const quench_tensor* y, void*,
                        quench_error*) noexcept -> quench_status {
    ++static_cast<Counts*>(context)->applied;
    for (float& value : kit::elements<float>(*y, "y")) {
      value = 0;
    }
    return QUENCH_OK;
  };
  const auto release = [](void* context) noexcept { ++static_cast<Counts*>(context)->released; };
  OpenModel model(candidate);
  const Batch batch = some_batch(model, 1, 12);
  const FirstLinear linear = first_linear(model);
  const std::vector<double> before = model.score(batch).nll;
  const quench_linear_op op = {sizeof op, &counts, apply, release, nullptr};
  model.ok(model.table.set_linear_op(model.model, 0, 0, 0, &op, &model.error));
  const std::vector<double> with_op = model.score(batch).nll;
  expect(counts.applied >= 1, "set_linear_op: the op is not asked");
  expect(counts.released == 0, "set_linear_op: the op is released while it is in use");
  model.ok(model.table.set_linear_op(model.model, 0, 0, 0, nullptr, &model.error));
  expect(counts.released == 1, "set_linear_op: the op is released {} times, wanted once",
         counts.released);
  expect_same("nll", model.score(batch).nll, before, "after the op was taken back");
  model.set_weight(linear.info.weight, linear.shape, std::vector<float>(linear.values.size()));
  const std::vector<double> with_zeros = model.score(batch).nll;
  for (size_t t = 0; t < with_op.size(); ++t) {
    expect(is_near(with_op[t], with_zeros[t], 1e-6, 0),
           "nll of token {} is {} with an op that gives zeros, and {} with a weight of zeros", t,
           with_op[t], with_zeros[t]);
  }
}

void a_cache_op_is_asked_and_leaves(Candidate& candidate) {
  struct Counts {
    int applied = 0;
    int released = 0;
    bool changes = false;
  } counts;
  const auto apply = [](void* context, const quench_cache_args* args,
                        quench_error*) noexcept -> quench_status {
    auto& own = *static_cast<Counts*>(context);
    ++own.applied;
    for (float& value : kit::elements<float>(*args->values, "values")) {
      value = own.changes ? 0 : value;
    }
    return QUENCH_OK;
  };
  const auto release = [](void* context) noexcept { ++static_cast<Counts*>(context)->released; };
  OpenModel model(candidate);
  if (model.table.set_cache_op == nullptr) {
    skip("it has no set_cache_op");
  }
  const Batch batch = some_batch(model, 1, 12);
  const std::vector<double> before = model.score(batch).nll;
  const quench_cache_op op = {sizeof op, &counts, apply, release};
  const quench_status status = model.table.set_cache_op(model.model, 0, &op, &model.error);
  if (status == QUENCH_UNSUPPORTED) {
    expect(counts.released == 0, "set_cache_op: releases an op that it refuses");
    skip("its first block keeps no keys and values");
  }
  model.ok(status);
  expect_same("nll", model.score(batch).nll, before, "with an op that changes nothing");
  expect(counts.applied >= 1, "set_cache_op: the op is not asked");
  counts.changes = true;
  expect(model.score(batch).nll != before, "set_cache_op: values of zeros change nothing");
  model.ok(model.table.set_cache_op(model.model, 0, nullptr, &model.error));
  expect(counts.released == 1, "set_cache_op: the op is released {} times, wanted once",
         counts.released);
  expect_same("nll", model.score(batch).nll, before, "after the op was taken back");
}

// In float64, along one direction for each parameter.
void gradients_are_those_of_differences(Candidate& candidate) {
  OpenModel model(candidate, small_model(candidate), 0, kit::kFloat64);
  if (model.status != QUENCH_OK) {
    skip("it does not open in float64");
  }
  const auto* gradients = static_cast<const quench_model_gradient*>(
      model.table.extension == nullptr ? nullptr
                                       : model.table.extension(model.model, QUENCH_MODEL_GRADIENT));
  if (gradients == nullptr) {
    skip("it has no gradients");
  }
  const std::vector<quench_parameter_info> parameters = parameters_of(model);
  const uint64_t size = parameters.back().offset + elements_of(parameters.back());
  const Batch batch = some_batch(model, 1, 8);
  auto tokens = tensor<int32_t>({1, 8}, batch.tokens);
  Ids next(batch.tokens.begin() + 1, batch.tokens.end());
  next.push_back(-1);
  auto targets = tensor<int32_t>({1, 8}, next);
  const quench_tensor tokens_view = tokens.view();
  const quench_tensor targets_view = targets.view();
  const quench_batch shown = {sizeof shown, 0, &tokens_view, nullptr, nullptr};
  const quench_loss_args args = {sizeof args, 0, &shown, &targets_view, 1, nullptr};
  kit::OwnedTensor<double> gradient({static_cast<int64_t>(size)});
  const quench_tensor gradient_view = gradient.view();
  double loss = 0;
  model.ok(gradients->gradient(model.model, &args, &gradient_view, &loss, &model.error));
  constexpr double kStep = 1e-5;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const quench_parameter_info& parameter = parameters[p];
    const std::vector<int64_t> shape(parameter.shape, parameter.shape + parameter.dimensions);
    kit::OwnedTensor<double> weight(shape);
    const quench_tensor view = weight.view();
    model.ok(model.table.weight_get(model.model, parameter.name, &view, &model.error));
    const std::vector<double> before = weight.values();
    const std::vector<double> direction = numbers<double>(p + 1, before.size());
    const auto loss_at = [&](double step) {
      for (size_t i = 0; i < before.size(); ++i) {
        weight.values()[i] = before[i] + step * direction[i];
      }
      model.ok(model.table.weight_set(model.model, parameter.name, &view, &model.error));
      double value = 0;
      model.ok(gradients->gradient(model.model, &args, nullptr, &value, &model.error));
      return value;
    };
    const double difference = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    static_cast<void>(loss_at(0));
    double wanted = 0;
    double size_of_it = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      wanted += gradient.values()[parameter.offset + i] * direction[i];
      size_of_it += std::fabs(gradient.values()[parameter.offset + i]);
    }
    expect(is_near(wanted, difference, 1e-4, 1e-6 * (1 + size_of_it)),
           "gradient: {} along {}, differences say {}", wanted, parameter.name, difference);
  }
}

void wrong_tensors_are_named(Candidate& candidate) {
  const SmallModel small = small_model(candidate);
  const auto refused = [&](const SmallModel& changed, const char* how, const std::string& name) {
    OpenModel model(candidate, changed);
    const std::string message = model.status == QUENCH_OK ? "" : model.error.message;
    expect(model.status != QUENCH_OK && model.status != QUENCH_INTERNAL &&
               message.find(name) != std::string::npos,
           "open: {} {}: got status {} (\"{}\"), wanted an error with its name", how, name,
           model.status, message);
  };
  constexpr size_t kMost = 40;
  const size_t step = small.tensors.size() / kMost + 1;
  for (size_t i = 0; i < small.tensors.size(); i += step) {
    SmallModel missing = small;
    missing.tensors.erase(missing.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    refused(missing, "without", small.tensors[i].name);
    SmallModel misshapen = small;
    SmallTensor& longer = misshapen.tensors[i];
    longer.values.resize(longer.values.size() +
                         longer.values.size() / static_cast<size_t>(longer.shape[0]));
    longer.shape[0] += 1;
    refused(misshapen, "with one more row in", small.tensors[i].name);
  }
  SmallModel more = small;
  more.tensors.push_back({"a.stranger.weight", {1}, {0.0}});
  refused(more, "with the unexpected", "a.stranger.weight");
}

void ids_outside_the_vocabulary_are_refused(Candidate& candidate) {
  OpenModel model(candidate);
  for (const int32_t bad : {-1, static_cast<int32_t>(model.info().vocabulary)}) {
    auto tokens = tensor<int32_t>({1, 2}, {0, bad});
    const quench_tensor view = tokens.view();
    const quench_batch batch = {sizeof batch, 0, &view, nullptr, nullptr};
    Owned h({2, model.info().width});
    const quench_tensor h_view = h.view();
    const quench_embed_args args = {sizeof args, 0, &batch, &h_view, nullptr};
    const quench_status status = model.table.embed(model.model, &args, &model.error);
    expect(status == QUENCH_INVALID_ARGUMENT,
           "embed: the id {}: got status {}, wanted "
           "INVALID_ARGUMENT",
           bad, status);
  }
}

// No number of a config makes a family crash or take minutes.
void numbers_of_a_config_are_checked(Candidate& candidate) {
  const SmallModel small = small_model(candidate);
  const auto good = nlohmann::json::parse(small.config);
  std::string message;
  const auto status_of = [&](const nlohmann::json& config) {
    const OpenModel open(candidate, {config.dump(), {}}, QUENCH_OPEN_SHAPES);
    message = open.error.message;
    return open.status;
  };
  if (status_of(good) != QUENCH_OK) {
    skip("it opens with its weights alone");
  }
  for (const auto& [key, value] : good.items()) {
    if (!value.is_number()) {
      continue;
    }
    std::vector<nlohmann::json> bad = {
        -1, "8", true, nlohmann::json::array(), nlohmann::json::object(), -0.5};
    // 0: each block has a window, or experts
    if (key != "max_window_layers" && key != "first_k_dense_replace") {
      bad.emplace_back(0);
    }
    const bool whole = value.is_number_integer() && key != "rotary_emb_base";
    if (whole) {
      bad.insert(bad.end(), {1.5, 1'000'000'000, INT64_MAX, INT64_MIN, 1e300});
    } else if (key != "clip_qkv") {  // one that is too large clips nothing
      bad.insert(bad.end(), {1e300});
    }
    for (const nlohmann::json& wrong : bad) {
      nlohmann::json config = good;
      config[key] = wrong;
      const quench_status status = status_of(config);
      if (status == QUENCH_OK && !small.each_number_counts) {
        continue;  // it may mean nothing to this family
      }
      expect((status == QUENCH_INVALID_ARGUMENT || status == QUENCH_UNSUPPORTED) &&
                 message.find(key) != std::string::npos,
             "open: {} = {}: got status {} (\"{}\"), wanted an error with the key", key,
             wrong.dump(), status, status == QUENCH_OK ? "" : message);
    }
  }
}

constexpr Promise kPromises[] = {
    {"a small checkpoint opens and is scored", it_opens_and_scores, true},
    {"configs of others are left alone, and its own is known", configs_of_others_are_left_alone},
    {"its descriptions agree with one another", descriptions_agree},
    {"shapes are said without weights, or refused", a_description_wants_no_weights},
    {"every weight is that of the file", every_weight_is_there},
    {"token_nll is that of the logits", nll_is_that_of_the_logits},
    {"stages give the same bits in place", in_place_gives_the_same_bits},
    {"threads and processes change nothing", threads_and_processes_do_not_matter},
    {"a later token, and other rows, do not matter", the_future_and_other_rows_do_not_matter},
    {"tokens may end alone where it says so", some_tokens_may_end_alone},
    {"packed segments are contexts of their own", segments_are_contexts_of_their_own},
    {"it is itself again after weights are restored", weights_come_back},
    {"an op replaces a linear and is let go", a_linear_op_replaces_and_leaves},
    {"an op on keys and values is asked and let go", a_cache_op_is_asked_and_leaves},
    {"gradients are those of differences", gradients_are_those_of_differences},
    {"missing, unexpected and misshapen tensors are named", wrong_tensors_are_named},
    {"ids outside the vocabulary are refused", ids_outside_the_vocabulary_are_refused},
    {"bad numbers of a config are refused by their key", numbers_of_a_config_are_checked},
};

}  // namespace

std::span<const Promise> model_promises() {
  return kPromises;
}

}  // namespace quench::promises
