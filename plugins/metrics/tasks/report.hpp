// What a set of tasks comes to.
#pragma once

#include <string>
#include <vector>

#include "metrics/tasks/exam.hpp"
#include "quench/kit/metric.hpp"

namespace quench::tasks {

// Sends values, details and items to the sink. `rule`: acc, or acc_norm where a task has it.
void report(const std::vector<Exam>& exams, const std::string& rule, uint64_t shots, uint64_t fed,
            kit::MetricSink& sink);

// Writes one line of JSON a question: {task, doc_id, requests: [{context, continuation, ll}], acc,
// acc_norm}. The n-th log of a process under one name (n > 1) is called <file>.<n>.
void write_log(const std::vector<Exam>& exams, const std::string& file);

}  // namespace quench::tasks
