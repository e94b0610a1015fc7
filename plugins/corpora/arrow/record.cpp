#include "corpora/arrow/record.hpp"

#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/type.h>
#include <arrow/util/float16.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "quench/kit/error.hpp"

namespace quench::corpora {

namespace {

template <typename T>
void append_number(T value, std::string& out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%g cannot be written as JSON",
                static_cast<double>(value));
    }
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

template <typename ArrayType>
void append_value(const arrow::Array& array, int64_t row, std::string& out) {
  append_number(static_cast<const ArrayType&>(array).Value(row), out);
}

template <typename ArrayType>
void append_list(const arrow::Array& array, int64_t row, std::string& out) {
  const auto& list = static_cast<const ArrayType&>(array);
  const int64_t begin = list.value_offset(row);
  const int64_t end = begin + list.value_length(row);
  out += '[';
  for (int64_t i = begin; i < end; ++i) {
    if (i > begin) {
      out += ',';
    }
    append_json(*list.values(), i, out);
  }
  out += ']';
}

void append_struct(const arrow::Array& array, int64_t row, std::string& out) {
  const auto& fields = static_cast<const arrow::StructArray&>(array);
  out += '{';
  for (int i = 0; i < fields.num_fields(); ++i) {
    if (i > 0) {
      out += ',';
    }
    append_json_string(fields.type()->field(i)->name(), out);
    out += ':';
    append_json(*fields.field(i), row, out);
  }
  out += '}';
}

}  // namespace

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return is_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

std::optional<std::string_view> text_at(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) {
    return std::nullopt;
  }
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
      return static_cast<const arrow::StringViewArray&>(array).GetView(row);
    default: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return text_at(*encoded.dictionary(), encoded.GetValueIndex(row));
    }
  }
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json(const arrow::Array& array, int64_t row, std::string& out) {
  if (array.type_id() == arrow::Type::NA || array.IsNull(row)) {
    out += "null";
    return;
  }
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      out += static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
      return;
    case arrow::Type::INT8:
      return append_value<arrow::Int8Array>(array, row, out);
    case arrow::Type::UINT8:
      return append_value<arrow::UInt8Array>(array, row, out);
    case arrow::Type::INT16:
      return append_value<arrow::Int16Array>(array, row, out);
    case arrow::Type::UINT16:
      return append_value<arrow::UInt16Array>(array, row, out);
    case arrow::Type::INT32:
      return append_value<arrow::Int32Array>(array, row, out);
    case arrow::Type::UINT32:
      return append_value<arrow::UInt32Array>(array, row, out);
    case arrow::Type::INT64:
      return append_value<arrow::Int64Array>(array, row, out);
    case arrow::Type::UINT64:
      return append_value<arrow::UInt64Array>(array, row, out);
    case arrow::Type::HALF_FLOAT: {
      const uint16_t bits = static_cast<const arrow::HalfFloatArray&>(array).Value(row);
      return append_number(arrow::util::Float16::FromBits(bits).ToFloat(), out);
    }
    case arrow::Type::FLOAT:
      return append_value<arrow::FloatArray>(array, row, out);
    case arrow::Type::DOUBLE:
      return append_value<arrow::DoubleArray>(array, row, out);
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return append_json_string(*text_at(array, row), out);
    case arrow::Type::LIST:
      return append_list<arrow::ListArray>(array, row, out);
    case arrow::Type::LARGE_LIST:
      return append_list<arrow::LargeListArray>(array, row, out);
    case arrow::Type::LIST_VIEW:
      return append_list<arrow::ListViewArray>(array, row, out);
    case arrow::Type::LARGE_LIST_VIEW:
      return append_list<arrow::LargeListViewArray>(array, row, out);
    case arrow::Type::FIXED_SIZE_LIST:
      return append_list<arrow::FixedSizeListArray>(array, row, out);
    case arrow::Type::STRUCT:
      return append_struct(array, row, out);
    case arrow::Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return append_json(*encoded.dictionary(), encoded.GetValueIndex(row), out);
    }
    default:
      kit::fail(QUENCH_UNSUPPORTED, "type %s cannot be written as JSON",
                array.type()->ToString().c_str());
  }
}

}  // namespace quench::corpora
