// adamw: Adam with weight decay that bypasses the moments.
//
// | parameter    | type        | default     | range  | meaning                                 |
// |--------------|-------------|-------------|--------|-----------------------------------------|
// | betas        | number list | [0.9, 0.95] | [0, 1) | decay of the first and second moment    |
// | epsilon      | number      | 1e-8        | >= 0   | added to the root of the second moment  |
// | weight_decay | number      | 0.1         | >= 0   | λ                                       |
// | decoupled    | bool        | false       |        | older name of decay: independent        |
// | decay        | choice      |             |        | what a step removes of a weight:        |
// |              |             |             |        | coupled, if not set: lr·λ, as           |
// |              |             |             |        | torch.optim.AdamW; independent:         |
// |              |             |             |        | (lr/peak)·λ; corrected: lr·(lr/peak)·λ  |
//
//   optimizer: {adamw: {betas: [0.9, 0.95], weight_decay: 0.1}}
//
// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2. With
// `independent`, s_t = lr_t/peak as in their equation 12, so that rate and decay can be set
// separately. `corrected` is AdamC (Defazio, "Why Gradients Rapidly
// Increase Near the End of Training", arXiv 2506.02285, algorithm 2): hidden matrices, whose length
// a normalization takes away, lose lr·(lr/peak)·λ, so that the ratio of gradient and weight does
// not move with the schedule; embeddings and the output head lose lr·λ. State: both moments,
// float32.
#include "optimizers/shared/adamw_steps.hpp"

namespace quench::optimizers {

namespace {

class AdamW final : public AdamWSteps {
 public:
  struct Params : AdamWSettings {
    static void describe(kit::Fields<Params>& f) { describe_adamw(f); }
  };
  explicit AdamW(const Params& params) : AdamWSteps(params) {}
};

}  // namespace

}  // namespace quench::optimizers

QUENCH_MODULE(
    "quench.adamw", "0.1.0",
    quench::kit::optimizer<quench::optimizers::AdamW>(
        {.id = "adamw",
         .version = "0.1.0",
         .summary = "Adam with weight decay outside the moments, coupled to the rate or not.",
         .reference =
             "Loshchilov and Hutter 2019 (arXiv 1711.05101); decay corrected: Defazio 2025 "
             "(arXiv 2506.02285)",
         .example = "{betas: [0.9, 0.95], weight_decay: 0.1}"}))
