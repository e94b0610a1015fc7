#include "report/student_t.hpp"

#include <boost/math/distributions/students_t.hpp>

#include "core/error.hpp"

namespace quench {

double t_quantile(size_t n, double confidence) {
  if (n < 2 || !(confidence > 0 && confidence < 1)) {
    fail(QUENCH_INVALID_ARGUMENT, "t interval: n = {}, confidence = {}, wanted n >= 2 and 0..1", n,
         confidence);
  }
  const boost::math::students_t_distribution<double> t(static_cast<double>(n - 1));
  return boost::math::quantile(boost::math::complement(t, (1 - confidence) / 2));
}

}  // namespace quench
