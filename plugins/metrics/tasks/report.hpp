// Reports the results of a set of tasks.
#pragma once

#include <string>
#include <vector>

#include "metrics/tasks/exam.hpp"
#include "quench/kit/metric.hpp"

namespace quench::tasks {

// Sends values, details and items to the sink. `rule` is acc, or acc_norm for tasks that have it.
void report(const std::vector<Exam>& exams, const std::string& rule, uint64_t shots, uint64_t fed,
            kit::MetricSink& sink);

// Writes one line of JSON per question: {task, doc_id, requests: [{context, continuation, ll}],
// acc, acc_norm}. If a process writes several logs under one name, the n-th (n > 1) is <file>.<n>.
void write_log(const std::vector<Exam>& exams, const std::string& file);

}  // namespace quench::tasks
