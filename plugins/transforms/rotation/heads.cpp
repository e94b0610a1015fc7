#include "transforms/rotation/heads.hpp"

#include <span>
#include <vector>

#include "quench/kit/error.hpp"
#include "shared/hadamard/random_hadamard.hpp"

namespace quench::transforms {

namespace {

using hadamard::RandomHadamard;

constexpr auto kApply = RandomHadamard::Direction::kApply;

// The linears of a block between which heads lie.
struct Attention {
  const quench_linear_info* o = nullptr;
  const quench_group_info* group = nullptr;  // of o
  const quench_linear_info* v = nullptr;     // null where q, k and v are one weight
};

Attention attention_of(const quench_block_info& block) {
  Attention out;
  for (uint32_t g = 0; g < block.group_count; ++g) {
    const quench_group_info& group = block.groups[g];
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      const char* given = group.linears[l].role;
      const std::string role = given != nullptr ? given : "";
      if (role == "o") {
        out.o = &group.linears[l];
        out.group = &group;
      } else if (role == "v") {
        out.v = &group.linears[l];
      }
    }
  }
  return out;
}

void check_divides(int64_t head_size, int64_t channels, const char* linear, const char* what) {
  if (channels % head_size != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: head_size = %lld does not divide its %lld %s", linear,
              static_cast<long long>(head_size), static_cast<long long>(channels), what);
  }
}

RandomHadamard rotation_of(int64_t head_size, const std::string& stream) {
  try {
    return {head_size, stream};
  } catch (const kit::Error& error) {
    throw kit::Error(error.code(), std::string("head_size: ") + error.what());
  }
}

// Rotates rows of `parameter` [rows, ...], of which row rows[c], or c, makes channel c.
void rotate_rows(kit::ModelEditor& model, const RandomHadamard& rotation,
                 const std::string& parameter, const int64_t* rows, int64_t channels) {
  auto value = model.get(parameter);
  const auto run = value.values().size() / static_cast<size_t>(model.shape(parameter)[0]);
  const auto size = static_cast<size_t>(rotation.size());
  std::vector<double> head(run * size);  // [run, size]
  for (size_t first = 0; first < static_cast<size_t>(channels); first += size) {
    const auto at = [&](size_t c, size_t k) -> double& {
      const size_t row = rows == nullptr ? first + c : static_cast<size_t>(rows[first + c]);
      return value.values()[row * run + k];
    };
    for (size_t k = 0; k < run; ++k) {
      for (size_t c = 0; c < size; ++c) {
        head[k * size + c] = at(c, k);
      }
    }
    rotation.multiply(std::span<double>(head), kApply);
    for (size_t k = 0; k < run; ++k) {
      for (size_t c = 0; c < size; ++c) {
        at(c, k) = head[k * size + c];
      }
    }
  }
  model.set(parameter, value);
}

// What writes the heads. Where the family names what absorbs a scale of o's input, that is it;
// where heads of queries share those of keys, none can absorb one, but all absorb the same
// rotation.
void rotate_writer(kit::ModelEditor& model, const RandomHadamard& rotation, const Attention& of) {
  if (of.group->site_count > 0) {
    for (uint32_t s = 0; s < of.group->site_count; ++s) {
      const quench_scale_site& site = of.group->sites[s];
      rotate_rows(model, rotation, site.parameter, site.rows, of.o->in_features);
    }
    return;
  }
  if (of.v == nullptr || of.v->out_features == of.o->in_features) {
    kit::fail(QUENCH_UNSUPPORTED, "%s: more than a sum lies between it and what makes its heads",
              of.o->name);
  }
  check_divides(rotation.size(), of.v->out_features, of.v->name, "rows");
  rotate_rows(model, rotation, of.v->weight, nullptr, of.v->out_features);
  if (of.v->bias != nullptr) {
    rotate_rows(model, rotation, of.v->bias, nullptr, of.v->out_features);
  }
}

}  // namespace

void rotate_heads(kit::ModelEditor& model, int64_t head_size, const std::string& stream) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const Attention attention = attention_of(model.block(b));
    if (attention.o == nullptr) {
      kit::fail(QUENCH_UNSUPPORTED, "head_size: block %u has no heads: none of its linears is o",
                b);
    }
    check_divides(head_size, attention.o->in_features, attention.o->name, "input columns");
    const RandomHadamard rotation = rotation_of(head_size, stream + "/" + std::to_string(b));
    model.change(attention.o->name, "heads of " + std::to_string(head_size) + " rotated");
    rotate_writer(model, rotation, attention);
    auto value = model.get(attention.o->weight);
    rotation.multiply(std::span<double>(value.values()), kApply);
    model.set(attention.o->weight, value);
  }
}

}  // namespace quench::transforms
