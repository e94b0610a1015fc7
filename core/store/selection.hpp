// Selects records: `quantizer.id=gptq and checkpoint.step>=600 and
// metric=quantization_error`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// A field of a record by its dotted name: `checkpoint.step`, `quantizer.params.bits`. Accepts the
// short names of record_columns() too, `bits` for the parameter, and `sweep.PATH` for what a point
// of a sweep sets.
class FieldPath {
 public:
  // Throws Error(INVALID_ARGUMENT) naming the nearest field if the first part is not a field.
  explicit FieldPath(const std::string& text);

  // The JSON text of the value, or "" if the record has none.
  std::string_view of(const RecordLine& line) const;
  const std::string& text() const { return text_; }
  // Whether every run has it, or one of the records: misspelled members are in none. True as well
  // where no record has an object in which it could be.
  bool is_known(const RunScan& scan) const;
  // True for a whole field that holds an object; only its members can be compared.
  bool is_object() const;

 private:
  std::string text_;
  size_t field_ = 0;
  std::string members_;  // dotted; "" for the field itself
  bool is_column_ = false;
};

// An expression:
//   expression   a `or` b, a `and` b, `not` a, (a) or a comparison; `not` binds closest, then
// `and`
//   comparison   field op value; op: = (or ==) != < <= > >= or ~; value: a word or a quoted text
// Numbers compare as numbers; other values compare as text with = and !=; `~` looks for a
// substring; `null` stands for a missing value, of `quantizer` `float` too. `quantizer`,
// `averaging` and `checkpoint` compare by id, label or revision.
class Selection {
 public:
  // "" selects everything. Throws Error(INVALID_ARGUMENT) with the place:
  // "selection at character 12: ...".
  explicit Selection(const std::string& expression);
  ~Selection();
  Selection(Selection&&) noexcept;

  bool matches(const RecordLine& line) const;
  // Throws Error(INVALID_ARGUMENT) with the place and near names where the expression compares a
  // field that no record of the run has: it would select nothing, or everything.
  void check_fields(const RunScan& scan) const;
  // Where nothing is selected: the value of a record that is nearest to one that none has, or "".
  std::string near_value(const RunScan& scan) const;

  struct Node;

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace quench
