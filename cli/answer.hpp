// What --json prints: one document of one shape for every verb (docs/json.md). main writes it when
// the command has ended, so that the warnings and the error are in it. Without --json these
// functions do nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace quench {

// Version of the document's shape, of `data` too. It rises when a member is removed or means
// something else; new members do not raise it.
inline constexpr int kAnswerSchema = 1;

// --json was given: from here on there is an answer. Until the verb is known it is null.
void begin_answer();
void name_answer(const std::string& verb);  // "plan", "plugins list"
// --help was given, too: only its text is printed.
void drop_answer();
// Whether there is one: else verbs print text for people.
bool answers();

// The verb's result, the document's `data`.
void answer(nlohmann::json data);
// Prints the document up to its `data`, which the verb then prints to results() itself: for more
// than should be held in memory.
void begin_answer_data();
// Prints one whole document on one line now: for verbs that answer repeatedly.
void answer_line(const nlohmann::json& data);

void answer_warning(const std::string& line);
// The command did its work, and the result is bad: a cell failed, a file does not verify. Returns
// kExitFailed, for `return incomplete("2 cells failed")`.
int incomplete(const std::string& what);
// The command ended with this error.
void answer_error(quench_status code, const std::string& message);

// Prints what is missing of the document to results(). main calls it last.
void end_answer(int exit_code);

// {"where", "what", "got", "wanted"} of one line; null for what the message does not say. `what` is
// all of it but the place.
nlohmann::json error_parts(std::string_view line);

}  // namespace quench
