#include "report/student_t.hpp"

#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "core/error.hpp"

namespace quench {

double t_quantile(size_t n, double confidence) {
  if (n < 2 || !(confidence > 0 && confidence < 1)) {
    fail(QUENCH_INVALID_ARGUMENT, "t interval: n = {}, confidence = {}, wanted n >= 2 and 0..1", n,
         confidence);
  }
  return t_quantile_of(static_cast<double>(n - 1), confidence);
}

double t_quantile_of(double degrees_of_freedom, double confidence) {
  if (!(degrees_of_freedom > 0) || !(confidence > 0 && confidence < 1)) {
    fail(QUENCH_INVALID_ARGUMENT,
         "t interval: {} degrees of freedom, confidence = {}, wanted more than 0 and 0..1",
         degrees_of_freedom, confidence);
  }
  const boost::math::students_t_distribution<double> t(degrees_of_freedom);
  return boost::math::quantile(boost::math::complement(t, (1 - confidence) / 2));
}

double detectable_errors(double degrees_of_freedom, double confidence, double power) {
  const double critical = t_quantile_of(degrees_of_freedom, confidence);
  const auto reached = [&](double effect) {
    const boost::math::non_central_t_distribution<double> t(degrees_of_freedom, effect);
    return boost::math::cdf(boost::math::complement(t, critical));
  };
  double low = 0;
  double high = critical;
  while (reached(high) < power) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle) < power ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace quench
