// Which records are meant: `quantizer.id=gptq and checkpoint.step>=600 and
// metric=quantization_error`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// A field of a record by its dotted name: `checkpoint.step`, `quantizer.params.bits`. The short
// names of record_columns() are understood as well.
class FieldPath {
 public:
  // Throws Error(INVALID_ARGUMENT) naming the nearest field when the first part is none.
  explicit FieldPath(const std::string& text);

  // The JSON text of the value, or "" where the record has none.
  std::string_view of(const RecordLine& line) const;
  const std::string& text() const { return text_; }
  // The whole of a field that holds an object, so that only its members can be compared.
  bool is_object() const;

 private:
  std::string text_;
  size_t field_ = 0;
  std::vector<std::string> members_;
};

// An expression:
//   expression  any of: a `or` b, a `and` b, `not` a, (a), comparison;  `not` binds closest, then
//   `and` comparison  field op value, op one of = != < <= > >= ~ value       a word, or a text in
//   single or double quotes
// Numbers compare as numbers; other values compare as text with = and !=; `~` looks for a part of
// a text; `null` stands for what is not there.
class Selection {
 public:
  // "" selects everything. Throws Error(INVALID_ARGUMENT) with the place: "selection:12: ...".
  explicit Selection(const std::string& expression);
  ~Selection();
  Selection(Selection&&) noexcept;

  bool matches(const RecordLine& line) const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace quench
