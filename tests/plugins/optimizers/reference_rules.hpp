// The update rules of the optimizers, plainly, in float64 and from their papers.
#pragma once

#include <cstddef>
#include <vector>

namespace quench::test {

using Values = std::vector<double>;

struct ReferenceStep {
  int step = 1;  // from 1
  double lr = 0;
  double peak = 0;
  double weight_decay = 0;
  bool decoupled = false;
  double gradient_scale = 1;
  bool corrected = false;
  double taken() const {
    return weight_decay * (decoupled ? lr / peak : corrected ? lr * lr / peak : lr);
  }
};

struct AdamWReference {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  Values m, v;
  void step(const ReferenceStep& s, Values& w, const Values& g);
};

struct SgdReference {
  double momentum = 0.9;
  bool nesterov = false;
  Values m;
  void step(const ReferenceStep& s, Values& w, const Values& g);
};

// As the paper states it: z and x are kept, y is between them.
struct ScheduleFreeReference {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  Values z, x, v;
  double sum = 0;
  double highest = 0;
  void step(const ReferenceStep& s, Values& y, const Values& g);
};

// Of a [rows, columns] hidden matrix.
struct MuonReference {
  size_t rows = 0;
  size_t columns = 0;
  double momentum = 0.95;
  bool nesterov = true;
  int iterations = 5;
  Values m;
  void step(const ReferenceStep& s, Values& w, const Values& g);
};

}  // namespace quench::test
