// One job of a study's file, out of the experiment that the whole file is.
#pragma once

#include "core/experiment/experiment.hpp"
#include "run/study/study_file.hpp"

namespace quench {

// Leaves the cells of this job: its weights, its quantizer, and the checkpoints that they need.
// Keys and names of cells stay as they are.
void keep_study_job(Experiment& experiment, const StudyJob& job);

}  // namespace quench
