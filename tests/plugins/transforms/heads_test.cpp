// Rotations within heads, on a block of one attention by hand: values, their sums over tokens, and
// what o makes of them.
#include "transforms/rotation/heads.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "quench/kit/error.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

constexpr int64_t kHead = 4;
constexpr int64_t kHeads = 6;  // of queries
constexpr int64_t kWidth = 5;

// v [keys * 4, 5] with a bias, and o [5, 24]; `fused` makes v the last third of each head's rows.
class TinyAttention {
 public:
  TinyAttention(int64_t key_heads, bool fused) : key_heads_(key_heads), fused_(fused) {
    const int64_t parts = fused ? 3 : 1;
    const int64_t rows = key_heads * kHead * parts;
    for (int64_t c = 0; c < key_heads * kHead; ++c) {
      rows_.push_back(fused ? c / kHead * 3 * kHead + 2 * kHead + c % kHead : c);
    }
    add("v.weight", {rows, kWidth});
    add("v.bias", {rows});
    add("o.weight", {kWidth, kHeads * kHead});
    linears_ = {quench_linear_info{sizeof(quench_linear_info), QUENCH_LINEAR_HAS_BIAS, "v",
                                   fused ? "qkv" : "v", "v.weight", "v.bias", rows, kWidth},
                quench_linear_info{sizeof(quench_linear_info), 0, "o", "o", "o.weight", nullptr,
                                   kWidth, kHeads * kHead}};
    sites_ = {quench_scale_site{sizeof(quench_scale_site), "v.weight", rows_.data()},
              quench_scale_site{sizeof(quench_scale_site), "v.bias", rows_.data()}};
    for (size_t g = 0; g < 2; ++g) {
      groups_[g].struct_size = sizeof groups_[g];
      groups_[g].rows = -1;
      groups_[g].expert = -1;
      groups_[g].linear_count = 1;
      groups_[g].linears = &linears_[g];
    }
    if (key_heads == kHeads) {
      groups_[1].site_count = 2;
      groups_[1].sites = sites_.data();
    }
    block_ = {sizeof block_, 3, 2, groups_.data()};
    editor_.struct_size = sizeof editor_;
    editor_.context = this;
    editor_.info = &info_;
    editor_.blocks = &blocks_;
    editor_.parameter_count = parameters_.size();
    editor_.parameters = parameters_.data();
    editor_.get = [](void* context, const char* name, const quench_tensor* to,
                     quench_error*) noexcept -> quench_status {
      kit::from_doubles(self(context).values_.at(name), *to, name);
      return QUENCH_OK;
    };
    editor_.set = [](void* context, const char* name, const quench_tensor* value,
                     quench_error*) noexcept -> quench_status {
      self(context).values_[name] = kit::to_doubles(*value, name);
      return QUENCH_OK;
    };
    editor_.change = [](void* context, const char* name, const char* how,
                        quench_error*) noexcept -> quench_status {
      self(context).change_ = std::string(name) + " " + how;
      return QUENCH_OK;
    };
  }
  TinyAttention(const TinyAttention&) = delete;
  TinyAttention& operator=(const TinyAttention&) = delete;

  // The error, or "".
  std::string rotate(int64_t head_size) {
    kit::ModelEditor model(editor_);
    try {
      transforms::rotate_heads(model, head_size, "test");
    } catch (const kit::Error& error) {
      return error.what();
    }
    return "";
  }
  void lose_sites() { groups_[1].site_count = 0; }
  void lose_heads() { linears_[1].role = "out"; }

  // v of one input, in the order of channels.
  std::vector<double> written(const std::vector<double>& x) const {
    std::vector<double> out;
    for (const int64_t row : rows_) {
      double sum = values_.at("v.bias")[static_cast<size_t>(row)];
      for (size_t k = 0; k < x.size(); ++k) {
        sum += values_.at("v.weight")[static_cast<size_t>(row * kWidth) + k] * x[k];
      }
      out.push_back(sum);
    }
    return out;
  }
  // What the block gives for two tokens of which each head of queries sees a share of its own.
  std::vector<double> output() const {
    const std::vector<double> first = written({1, -2, 3, 0.5, 2});
    const std::vector<double> second = written({-1, 0.25, 2, 4, -3});
    std::vector<double> out(kWidth);
    for (int64_t c = 0; c < kHeads * kHead; ++c) {
      const int64_t head = c / kHead;
      const auto of = static_cast<size_t>(head / (kHeads / key_heads_) * kHead + c % kHead);
      const double share = 0.1 + 0.15 * static_cast<double>(head);
      const double value = share * first[of] + (1 - share) * second[of];
      for (size_t r = 0; r < out.size(); ++r) {
        out[r] += values_.at("o.weight")[r * kHeads * kHead + static_cast<size_t>(c)] * value;
      }
    }
    return out;
  }
  const std::vector<double>& value(const std::string& name) const { return values_.at(name); }
  const std::string& change() const { return change_; }

 private:
  static TinyAttention& self(void* context) { return *static_cast<TinyAttention*>(context); }
  void add(const char* name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t size : shape) {
      count *= size;
    }
    for (int64_t i = 0; i < count; ++i) {
      values_[name].push_back(std::sin(static_cast<double>(i * i + count)));
    }
    const auto dimensions = static_cast<int32_t>(shape.size());
    const auto& kept = shapes_.emplace(name, std::move(shape)).first->second;
    parameters_.push_back({sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, name, dimensions,
                           kept.data(), 0, 0, nullptr});
  }

  int64_t key_heads_;
  bool fused_;
  std::vector<int64_t> rows_;  // of v, by channel
  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  std::vector<quench_parameter_info> parameters_;
  std::vector<quench_linear_info> linears_;
  std::vector<quench_scale_site> sites_;
  std::vector<quench_group_info> groups_{2};
  quench_block_info block_{};
  const quench_block_info* blocks_ = &block_;
  const quench_model_info info_{sizeof(quench_model_info), 1, kWidth, 2, 2, kit::kFloat64, {}};
  quench_model_editor editor_{};
  std::string change_;
};

}  // namespace

TEST_CASE("rotated heads leave what attention and o make of them", "[transforms][rotation]") {
  for (const auto& [key_heads, fused] :
       std::vector<std::pair<int64_t, bool>>{{kHeads, false}, {kHeads, true}, {2, false}}) {
    for (const int64_t size : {kHead, kHead / 2}) {
      CAPTURE(key_heads, fused, size);
      TinyAttention attention(key_heads, fused);
      const std::vector<double> before = attention.output();
      const std::vector<double> written = attention.written({1, 2, 3, 4, 5});
      REQUIRE(attention.rotate(size) == "");
      CHECK(attention.change() == "o heads of " + std::to_string(size) + " rotated");
      const std::vector<double> after = attention.output();
      for (size_t r = 0; r < before.size(); ++r) {
        CHECK(after[r] == Approx(before[r]).epsilon(1e-13));
      }
      // Each head's values are others, of the same length.
      const std::vector<double> turned = attention.written({1, 2, 3, 4, 5});
      for (size_t first = 0; first < written.size(); first += static_cast<size_t>(kHead)) {
        double length = 0;
        double turned_length = 0;
        for (size_t c = first; c < first + static_cast<size_t>(kHead); ++c) {
          length += written[c] * written[c];
          turned_length += turned[c] * turned[c];
        }
        CHECK(turned_length == Approx(length).epsilon(1e-13));
        CHECK(std::fabs(turned[first] - written[first]) > 1e-6);
      }
    }
  }
}

TEST_CASE("rotated heads of a fused weight leave the rows of q and k as they are",
          "[transforms][rotation]") {
  TinyAttention attention(kHeads, true);
  const std::vector<double> before = attention.value("v.weight");
  REQUIRE(attention.rotate(kHead) == "");
  const std::vector<double>& after = attention.value("v.weight");
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t row = i / static_cast<size_t>(kWidth);
    const bool is_value = row % (3 * kHead) >= 2 * kHead;
    CHECK((after[i] == before[i]) == !is_value);
  }
}

// A size that no head has, but that divides all columns, mixes heads of different shares. The host
// finds it, as any unsound change: its logits move.
TEST_CASE("rotated heads of a wrong size change what the block gives", "[transforms][rotation]") {
  TinyAttention attention(kHeads, false);
  const std::vector<double> before = attention.output();
  REQUIRE(attention.rotate(2 * kHead) == "");
  CHECK(std::fabs(attention.output()[0] - before[0]) > 1e-3);
}

TEST_CASE("rotated heads are refused where there are none, in one line each",
          "[transforms][rotation]") {
  TinyAttention attention(kHeads, false);
  CHECK(attention.rotate(16) == "o: head_size = 16 does not divide its 24 input columns");
  CHECK(TinyAttention(2, false).rotate(12) == "v: head_size = 12 does not divide its 8 rows");
  CHECK(attention.rotate(6).find("head_size: no Hadamard matrix of size 6; wanted ") == 0);
  attention.lose_sites();
  CHECK(attention.rotate(kHead) == "o: more than a sum lies between it and what makes its heads");
  attention.lose_heads();
  CHECK(attention.rotate(kHead) == "head_size: block 0 has no heads: none of its linears is o");
}

}  // namespace quench::test
