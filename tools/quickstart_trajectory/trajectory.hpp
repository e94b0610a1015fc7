// The training run of the quickstart.
#pragma once

#include <filesystem>
#include <string>

#include "tools/quickstart_trajectory/text.hpp"
#include "tools/quickstart_trajectory/transformer.hpp"

namespace quickstart {

// Trains from a fixed seed on one thread, reports on stderr, and writes FOLDER/step<n>/,
// validation.txt, calibration.txt and lr.csv, under a temporary name until all is there. Returns
// the model of the last step. Throws std::runtime_error when the folder exists or cannot be
// written.
Transformer train(const std::filesystem::path& folder);

// Mean cross entropy, nats per byte, over non-overlapping blocks of `text`.
double validation_loss(const Transformer& model, const std::string& text);

}  // namespace quickstart
