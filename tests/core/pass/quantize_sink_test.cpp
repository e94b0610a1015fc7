#include "core/pass/quantize_sink.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "core/checkpoint/dtype.hpp"

using Catch::Matchers::Contains;
using quench::QuantizeSink;

namespace {

constexpr uint64_t kWeights = 1 << 20;

// What the sink says to a tensor of so many bytes.
quench_status make(QuantizeSink& sink, const char* name, int64_t bytes, quench_error& error) {
  quench_tensor view{};
  return sink.get()->tensor(sink.get()->context, name, quench::kUInt8, 1, &bytes, &view, &error);
}

}  // namespace

TEST_CASE("quantize sink: tensors have room for what a linear of its size can need",
          "[core][run]") {
  QuantizeSink sink(kWeights);
  quench_error error{sizeof error, 0, {}};
  const auto weights = static_cast<int64_t>(kWeights);
  CHECK(make(sink, "codes", weights, error) == QUENCH_OK);
  CHECK(make(sink, "scales", 8 * weights, error) == QUENCH_OK);
  CHECK(make(sink, "zeros", 8 * weights, error) == QUENCH_OK);
  CHECK_NOTHROW(sink.require_room("quantizer q"));
  CHECK(make(sink, "more", 80 * weights, error) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK_THAT(error.message, Contains("more: got 83886080 bytes beside"));
  CHECK_THROWS_WITH(sink.require_room("quantizer q"),
                    Contains("quantizer q: more: got 83886080 bytes"));
  CHECK(make(sink, "overflows", INT64_MAX, error) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(make(sink, "none", -1, error) == QUENCH_INVALID_ARGUMENT);
}

TEST_CASE("quantize sink: a tensor whose name is given again stays as long as the call",
          "[core][run]") {
  QuantizeSink sink(kWeights);
  quench_error error{sizeof error, 0, {}};
  const int64_t bytes = 1000;
  quench_tensor first{};
  quench_tensor second{};
  for (quench_tensor* view : {&first, &second}) {
    REQUIRE(sink.get()->tensor(sink.get()->context, "codes", quench::kUInt8, 1, &bytes, view,
                               &error) == QUENCH_OK);
  }
  static_cast<uint8_t*>(first.data)[999] = 1;  // a fault under the sanitizers if it were gone
  static_cast<uint8_t*>(second.data)[999] = 2;
  CHECK(first.data != second.data);
  CHECK(sink.tensors.at("codes").as<uint8_t>()[999] == 2);
}

TEST_CASE("quantize sink: numbers and texts have room for words, not for data", "[core][run]") {
  QuantizeSink sink(kWeights);
  const quench_quantize_sink* table = sink.get();
  quench_error error{sizeof error, 0, {}};
  CHECK(table->text(table->context, "fallback", "rtn", &error) == QUENCH_OK);
  for (int i = 0; i < 10'000; ++i) {  // one number, again and again
    REQUIRE(table->number(table->context, "loss", i, &error) == QUENCH_OK);
  }
  CHECK(sink.numbers.at("loss") == 9999);
  CHECK_NOTHROW(sink.require_room("quantizer q"));
  const std::string text(size_t{1} << 20, 't');
  CHECK(table->text(table->context, "long", text.c_str(), &error) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(sink.texts.size() == 1);
}

TEST_CASE("quantize sink: a second op of a linear is refused", "[core][run]") {
  QuantizeSink sink(kWeights);
  quench_error error{sizeof error, 0, {}};
  const quench_linear_op op{};
  CHECK(sink.get()->linear_op(sink.get()->context, &op, &error) == QUENCH_OK);
  CHECK(sink.get()->linear_op(sink.get()->context, &op, &error) == QUENCH_INVALID_ARGUMENT);
  const quench_cache_op cache_op{};
  CHECK(sink.get()->cache_op(sink.get()->context, &cache_op, &error) == QUENCH_OK);
  CHECK(sink.get()->cache_op(sink.get()->context, &cache_op, &error) == QUENCH_INVALID_ARGUMENT);
  CHECK(sink.take_cache_op().has_value());
  CHECK_FALSE(sink.take_cache_op().has_value());
}
