#include "core/plugin/wire/body.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/wire/copy.hpp"
#include "tests/support/throws.hpp"

using namespace quench::wire;
using quench::Descriptor;
using quench::test::code_of;

namespace {

constexpr quench_dtype kFloat32{QUENCH_DTYPE_FLOAT, 32, 1};

// What one process writes, and how the other one sees it.
struct Border {
  OwnMemory own{false};
  TheirMemory theirs{Descriptor(::dup(own.descriptor()))};
  Writer writer{own};
  Keep keep;

  Reader reader() const { return {writer.bytes(), &theirs}; }
};

std::string text_of(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.data), blob.bytes};
}

// A tensor of consecutive numbers from 0.
struct Counting {
  explicit Counting(std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    size_t elements = 1;
    for (const int64_t size : shape) {
      elements *= static_cast<size_t>(size);
    }
    values.resize(elements);
    std::iota(values.begin(), values.end(), 0.0F);
    view = {values.data(),
            {QUENCH_DEVICE_CPU, 0},
            static_cast<int32_t>(shape.size()),
            kFloat32,
            shape.data(),
            nullptr,
            0};
  }
  std::vector<int64_t> shape;
  std::vector<float> values;
  quench_tensor view{};
};

std::vector<float> values_of(const quench_tensor& tensor) {
  const auto* first = reinterpret_cast<const float*>(static_cast<const std::byte*>(tensor.data) +
                                                     tensor.byte_offset);
  return {first, first + elements_of(tensor)};
}

void put_shape_of(Writer& out, uint64_t dtype, std::vector<int64_t> shape) {
  out.u64(1);
  out.u64(dtype);
  out.i64(QUENCH_DEVICE_CPU);
  out.i64(0);
  out.u64(shape.size());
  for (const int64_t size : shape) {
    out.i64(size);
  }
}

// A device with one tensor, at an address that this process cannot read.
constexpr uintptr_t kDevicePlace = 64;
std::vector<float> device_memory;

void copy_numbered(const quench_tensor& from, const quench_tensor& to) {
  const bool fetches = from.device.type == QUENCH_DEVICE_CUDA;
  REQUIRE((fetches ? from : to).data == reinterpret_cast<void*>(kDevicePlace));
  const quench_tensor& here = fetches ? to : from;
  REQUIRE(here.device.type == QUENCH_DEVICE_CPU);
  REQUIRE(here.strides == nullptr);
  REQUIRE(bytes_of(here) == device_memory.size() * sizeof(float));
  if (fetches) {
    std::memcpy(here.data, device_memory.data(), bytes_of(here));
  } else {
    std::memcpy(device_memory.data(), here.data, bytes_of(here));
  }
}

// Copies by it as long as the object lives.
struct Copying {
  explicit Copying(DeviceCopy copy) { set_device_copy(copy); }
  ~Copying() { set_device_copy(nullptr); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
};

constexpr uint64_t kFloat32Number = QUENCH_DTYPE_FLOAT + 256 * 32 + 65536;

}  // namespace

TEST_CASE("body: numbers come back as they were", "[wire]") {
  Border border;
  border.writer.u64(UINT64_MAX);
  border.writer.i64(INT64_MIN);
  border.writer.i64(INT32_MIN);
  border.writer.u64(UINT32_MAX);
  border.writer.f64(-0.0);
  border.writer.f64(std::numeric_limits<double>::quiet_NaN());
  CHECK(border.writer.bytes().size() == 48);
  Reader in = border.reader();
  CHECK(in.u64() == UINT64_MAX);
  CHECK(in.i64() == INT64_MIN);
  CHECK(in.i32() == INT32_MIN);
  CHECK(in.u32() == UINT32_MAX);
  CHECK(std::signbit(in.f64()));
  CHECK(std::isnan(in.f64()));
  in.finish();
}

TEST_CASE("body: a tensor in the memory of a GPU crosses as a copy, and comes back to it",
          "[wire]") {
  const Copying numbered(copy_numbered);
  for (const int64_t columns : {3, 1000}) {  // within the message, and in shared memory
    CAPTURE(columns);
    Border border;
    Counting numbers({2, columns});
    quench_tensor there = numbers.view;
    there.device = {QUENCH_DEVICE_CUDA, 1};
    there.data = reinterpret_cast<void*>(kDevicePlace);
    device_memory = numbers.values;
    put_tensor(border.writer, &there);
    Reader in = border.reader();
    const quench_tensor* got = take_tensor(in, border.keep);
    REQUIRE(got != nullptr);
    in.finish();
    CHECK(got->device.type == QUENCH_DEVICE_CPU);
    CHECK(values_of(*got) == numbers.values);

    std::vector<float> changed = numbers.values;
    changed.back() = -1;
    copy_out({reinterpret_cast<const std::byte*>(changed.data()), changed.size() * sizeof(float)},
             there);
    CHECK(device_memory == changed);
  }
}

TEST_CASE("body: an output in the memory of a GPU is one in host memory to the other process",
          "[wire]") {
  const Copying numbered(copy_numbered);
  Border border;
  Counting numbers({2, 3});
  numbers.view.device = {QUENCH_DEVICE_CUDA, 1};
  put_shape(border.writer, &numbers.view);
  Reader in = border.reader();
  const quench_tensor* got = take_shape(in, border.keep);
  REQUIRE(got != nullptr);
  in.finish();
  CHECK(got->device.type == QUENCH_DEVICE_CPU);
  CHECK(got->device.index == 0);
}

TEST_CASE("body: a tensor on a GPU where nobody copies is refused before it is looked at",
          "[wire]") {
  Border border;
  Counting numbers({2, 3});
  numbers.view.device = {QUENCH_DEVICE_CUDA, 1};
  numbers.view.data = reinterpret_cast<void*>(uintptr_t{64});  // nothing that this process may read
  const char* line =
      "a plugin in a process of its own takes tensors in host memory, got one on cuda:1";
  CHECK_THROWS_WITH(put_tensor(border.writer, &numbers.view), line);
  CHECK_THROWS_WITH(put_shape(border.writer, &numbers.view), line);
}

TEST_CASE("body: bytes come back whatever their number is", "[wire]") {
  const size_t bytes = GENERATE(0, 1, 7, 8, 9, 1023, 1024, 1025, 1 << 20);
  CAPTURE(bytes);
  Border border;
  std::string value(bytes, 'x');
  if (bytes > 0) {
    value.back() = 'y';
  }
  border.writer.blob(value.data(), value.size());
  border.writer.u64(7);
  const bool in_memory = bytes > kMaxInline;
  CHECK(border.writer.bytes().size() == (in_memory ? 24 : 16 + (bytes + 7) / 8 * 8));
  CHECK((border.own.top() > 0) == in_memory);
  Reader in = border.reader();
  const Blob blob = in.blob();
  CHECK(blob.data != nullptr);
  CHECK(text_of(blob) == value);
  CHECK(in.u64() == 7);
  in.finish();
}

TEST_CASE("body: what lies in shared memory is not copied again", "[wire]") {
  Border border;
  std::byte* room = border.own.take(5000);
  std::memset(room, 3, 5000);
  const uint64_t top = border.own.top();
  border.writer.blob(room, 5000);
  CHECK(border.own.top() == top);
  Reader in = border.reader();
  const Blob blob = in.blob();
  CHECK(blob.bytes == 5000);
  CHECK(static_cast<int>(blob.data[4999]) == 3);
}

TEST_CASE("body: NULL and the empty text are two values", "[wire]") {
  Border border;
  border.writer.text(nullptr);
  border.writer.text("");
  border.writer.text("schräg");
  Reader in = border.reader();
  CHECK(border.keep.text(in.blob()) == nullptr);
  CHECK(std::string(border.keep.text(in.blob())).empty());
  CHECK(std::string(border.keep.text(in.blob())) == "schräg");
  in.finish();
}

TEST_CASE("body: tensors of all sizes come back", "[wire]") {
  const auto shape =
      GENERATE(std::vector<int64_t>{}, std::vector<int64_t>{0}, std::vector<int64_t>{3, 0, 2},
               std::vector<int64_t>{256}, std::vector<int64_t>{257},
               std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 2}, std::vector<int64_t>{100, 200});
  CAPTURE(shape);
  Border border;
  const Counting counting(shape);
  put_tensor(border.writer, &counting.view);
  Reader in = border.reader();
  const quench_tensor* found = take_tensor(in, border.keep);
  in.finish();
  REQUIRE(found != nullptr);
  CHECK(std::vector<int64_t>(found->shape, found->shape + found->dimensions) == shape);
  CHECK(found->dtype.bits == 32);
  CHECK(found->device.type == QUENCH_DEVICE_CPU);
  CHECK(values_of(*found) == counting.values);
  for (int32_t d = 0; d + 1 < found->dimensions; ++d) {
    CHECK(found->strides[d] == found->strides[d + 1] * shape[static_cast<size_t>(d) + 1]);
  }
}

TEST_CASE("body: a tensor of any strides crosses in C order", "[wire]") {
  const int64_t rows = GENERATE(3, 40);  // in the message, in shared memory
  Border border;
  Counting counting({rows, 30});
  const std::array<int64_t, 2> shape{15, rows};
  const std::array<int64_t, 2> strides{2, 30};  // every second column, turned around
  quench_tensor view = counting.view;
  view.shape = shape.data();
  view.strides = strides.data();
  view.byte_offset = 4;
  put_tensor(border.writer, &view);
  Reader in = border.reader();
  const quench_tensor* found = take_tensor(in, border.keep);
  REQUIRE(found != nullptr);
  std::vector<float> wanted;
  for (int64_t column = 0; column < 15; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      wanted.push_back(static_cast<float>(row * 30 + 2 * column + 1));
    }
  }
  CHECK(values_of(*found) == wanted);

  Counting back({rows, 30});
  quench_tensor to = view;
  to.data = back.values.data();
  std::fill(back.values.begin(), back.values.end(), -1.0F);
  copy_out({static_cast<const std::byte*>(found->data), bytes_of(*found)}, to);
  for (size_t i = 0; i < back.values.size(); ++i) {
    CHECK(back.values[i] == (i % 2 == 1 ? static_cast<float>(i) : -1.0F));
  }
}

TEST_CASE("body: a tensor that is none, and one without memory, stay so", "[wire]") {
  Border border;
  put_tensor(border.writer, nullptr);
  Counting counting({2, 2});
  counting.view.data = nullptr;
  put_tensor(border.writer, &counting.view);
  Reader in = border.reader();
  CHECK(take_tensor(in, border.keep) == nullptr);
  const quench_tensor* found = take_tensor(in, border.keep);
  REQUIRE(found != nullptr);
  CHECK(found->data == nullptr);
  CHECK(elements_of(*found) == 4);
  in.finish();
}

TEST_CASE("body: outputs of another size are refused", "[wire][bad]") {
  const Counting counting({2, 3});
  const std::array<std::byte, 28> elements{};
  CHECK(code_of([&] { copy_out({elements.data(), 20}, counting.view); }) == QUENCH_DATA_LOSS);
  CHECK(code_of([&] { copy_out({elements.data(), 28}, counting.view); }) == QUENCH_DATA_LOSS);
  CHECK(code_of([&] { copy_out({}, counting.view); }) == QUENCH_DATA_LOSS);
  copy_out({elements.data(), 24}, counting.view);
  CHECK(counting.values.back() == 0);
}

TEST_CASE("body: one that ends early is refused wherever it ends", "[wire][bad]") {
  Border border;
  const Counting counting({2, 3});
  put_tensor(border.writer, &counting.view);
  border.writer.text("a text of more than eight bytes");
  const auto read = [&](size_t bytes) {
    Reader in(border.writer.bytes().first(bytes), &border.theirs);
    take_tensor(in, border.keep);
    in.blob();
    in.finish();
  };
  const size_t whole = border.writer.bytes().size();
  read(whole);
  for (size_t bytes = 0; bytes < whole; ++bytes) {
    CAPTURE(bytes);
    CHECK(code_of([&] { read(bytes); }) == QUENCH_DATA_LOSS);
  }
}

TEST_CASE("body: what is left over is refused", "[wire][bad]") {
  Border border;
  border.writer.u64(1);
  border.writer.u64(2);
  Reader in = border.reader();
  in.u64();
  CHECK(code_of([&] { in.finish(); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: more values than there is room for are refused", "[wire][bad]") {
  Border border;
  border.writer.u64(4);  // three values, + 1
  border.writer.u64(0);
  border.writer.u64(0);
  border.writer.u64(0);
  Reader whole = border.reader();
  CHECK(whole.count() == 4);
  Reader cut(border.writer.bytes().first(24), &border.theirs);
  CHECK(code_of([&] { cut.count(); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: numbers that do not fit are refused", "[wire][bad]") {
  Border border;
  border.writer.u64(uint64_t{1} << 32);
  border.writer.i64(int64_t{INT32_MAX} + 1);
  border.writer.i64(int64_t{INT32_MIN} - 1);
  Reader in = border.reader();
  CHECK(code_of([&] { in.u32(); }) == QUENCH_DATA_LOSS);
  CHECK(code_of([&] { in.i32(); }) == QUENCH_DATA_LOSS);
  CHECK(code_of([&] { in.i32(); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: bytes outside of the shared memory are refused", "[wire][bad]") {
  const auto [offset, bytes] = GENERATE(table<uint64_t, uint64_t>({
      {kMemoryBytes, 2048},
      {kMemoryBytes - 1024, 2048},
      {UINT64_MAX - 63, 2048},
      {0, kMemoryBytes + 1},
      {64, kMemoryBytes},
      {0, kNull - 1},
  }));
  CAPTURE(offset, bytes);
  Border border;
  border.writer.u64(bytes);
  border.writer.u64(offset);
  Reader in = border.reader();
  CHECK(code_of([&] { in.blob(); }) == QUENCH_DATA_LOSS);
  Reader without(border.writer.bytes(), nullptr);
  CHECK(code_of([&] { without.blob(); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: shapes that are none are refused", "[wire][bad]") {
  const auto shape =
      GENERATE(std::vector<int64_t>(9, 1), std::vector<int64_t>{-1}, std::vector<int64_t>{2, -3},
               std::vector<int64_t>{INT64_MAX}, std::vector<int64_t>{int64_t{1} << 40, 2},
               // Products that are small again after 2^64.
               std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40},
               std::vector<int64_t>{(int64_t{1} << 34) + 1, int64_t{1} << 30},
               std::vector<int64_t>{1, int64_t{1} << 32, int64_t{1} << 32, 1});
  CAPTURE(shape);
  Border border;
  put_shape_of(border.writer, kFloat32Number, shape);
  Reader in = border.reader();
  CHECK(code_of([&] { take_shape(in, border.keep); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: an element type or a device that is none is refused", "[wire][bad]") {
  Border border;
  put_shape_of(border.writer, kFloat32Number + (uint64_t{1} << 32), {2});
  Reader wide = border.reader();
  CHECK(code_of([&] { take_shape(wide, border.keep); }) == QUENCH_DATA_LOSS);
  Writer other(border.own);
  for (const int64_t value : {int64_t{1}, static_cast<int64_t>(kFloat32Number),
                              int64_t{QUENCH_DEVICE_CUDA}, int64_t{0}, int64_t{0}}) {
    other.i64(value);
  }
  Reader elsewhere(other.bytes(), nullptr);
  CHECK(code_of([&] { take_shape(elsewhere, border.keep); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("body: a tensor with more or fewer elements than its shape is refused", "[wire][bad]") {
  const uint64_t bytes = GENERATE(0, 20, 28, 2048);
  CAPTURE(bytes);
  Border border;
  put_shape_of(border.writer, kFloat32Number, {2, 3});
  const std::vector<std::byte> elements(bytes + 1);
  border.writer.blob(elements.data(), bytes);
  Reader in = border.reader();
  CHECK(code_of([&] { take_tensor(in, border.keep); }) == QUENCH_DATA_LOSS);
}
