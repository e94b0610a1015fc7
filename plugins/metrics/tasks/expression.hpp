// Expressions and templates of task files: a subset of Jinja that suffices for multiple-choice
// questions.
//
//   field   field.member   list[0]   list.0   "text"   'text'   3   [a, b]   (a)   a + b   a - b
//   text methods, which work on every element of a list:
//     strip lstrip rstrip ([characters])   lower upper capitalize ()   replace(what, by)
//     sub(regex, by)   findall(regex)   from(first)   before(separator) after(separator)   int()
//   list methods: index(value) (also of text)   join(separator)   length()
//
// A template is text with {{expression}} in it. A template that consists of one {{expression}} has
// the value of the expression, which may be a list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/tasks/value.hpp"

namespace quench::tasks {

class Template {
 public:
  // Parses the text; INVALID_ARGUMENT says where and what is wrong. Nothing beyond the language
  // above is evaluated.
  explicit Template(const std::string& text);

  // The value for the fields of a record. INVALID_ARGUMENT names the template and the fault: a
  // field that does not exist, or a method that the value does not have.
  Value value(const Value& record) const;
  std::string text(const Value& record) const { return value(record).text(); }

 private:
  struct Part;
  std::string source_;
  std::shared_ptr<const std::vector<Part>> parts_;  // copies share them
};

}  // namespace quench::tasks
