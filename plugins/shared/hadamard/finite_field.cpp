#include "shared/hadamard/finite_field.hpp"

#include <algorithm>
#include <optional>

#include "quench/kit/error.hpp"

namespace quench::hadamard {

namespace {

// Coefficients from the constant on, each 0 .. p - 1.
using Polynomial = std::vector<int64_t>;

struct PrimePower {
  int64_t prime;
  size_t degree;
};

std::optional<PrimePower> prime_power(int64_t n) {
  if (n < 3 || n % 2 == 0) {
    return std::nullopt;
  }
  int64_t prime = 3;
  while (n % prime != 0) {
    prime = prime * prime > n ? n : prime + 2;
  }
  size_t degree = 0;
  while (n % prime == 0) {
    n /= prime;
    ++degree;
  }
  return n == 1 ? std::optional<PrimePower>({prime, degree}) : std::nullopt;
}

Polynomial digits_of(int64_t number, int64_t prime, size_t count) {
  Polynomial out(count);
  for (int64_t& digit : out) {
    digit = number % prime;
    number /= prime;
  }
  return out;
}

int64_t number_of(const Polynomial& digits, int64_t prime) {
  int64_t out = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    out = out * prime + digits[i];
  }
  return out;
}

// Of `a` by `divisor`, whose last coefficient is 1.
Polynomial remainder(Polynomial a, const Polynomial& divisor, int64_t prime) {
  const size_t degree = divisor.size() - 1;
  for (size_t i = a.size(); i-- > degree;) {
    const int64_t factor = a[i];
    for (size_t j = 0; j <= degree; ++j) {
      int64_t& value = a[i - degree + j];
      value = (value + (prime - factor) * divisor[j]) % prime;
    }
  }
  a.resize(degree);
  return a;
}

Polynomial monic(int64_t number, int64_t prime, size_t degree) {
  Polynomial out = digits_of(number, prime, degree);
  out.push_back(1);
  return out;
}

bool is_zero(const Polynomial& a) {
  return std::all_of(a.begin(), a.end(), [](int64_t digit) { return digit == 0; });
}

int64_t power(int64_t base, size_t exponent) {
  int64_t out = 1;
  for (size_t i = 0; i < exponent; ++i) {
    out *= base;
  }
  return out;
}

bool is_irreducible(const Polynomial& a, int64_t prime) {
  for (size_t degree = 1; 2 * degree < a.size(); ++degree) {
    for (int64_t number = 0; number < power(prime, degree); ++number) {
      if (is_zero(remainder(a, monic(number, prime, degree), prime))) {
        return false;
      }
    }
  }
  return true;
}

// There is one of each degree.
Polynomial irreducible(int64_t prime, size_t degree) {
  int64_t number = 0;
  while (!is_irreducible(monic(number, prime, degree), prime)) {
    ++number;
  }
  return monic(number, prime, degree);
}

Polynomial product(const Polynomial& a, const Polynomial& b, int64_t prime) {
  Polynomial out(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      out[i + j] = (out[i + j] + a[i] * b[j]) % prime;
    }
  }
  return out;
}

}  // namespace

bool FiniteField::exists(int64_t size) {
  return prime_power(size).has_value();
}

FiniteField::FiniteField(int64_t size) {
  const std::optional<PrimePower> found = prime_power(size);
  if (!found) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "a field of %lld elements: wanted a power of an odd prime",
              static_cast<long long>(size));
  }
  prime_ = found->prime;
  degree_ = found->degree;
  const Polynomial modulus = irreducible(prime_, degree_);
  characters_.assign(static_cast<size_t>(size), -1);
  characters_[0] = 0;
  for (int64_t element = 1; element < size; ++element) {
    const Polynomial a = digits_of(element, prime_, degree_);
    const Polynomial square = remainder(product(a, a, prime_), modulus, prime_);
    characters_[static_cast<size_t>(number_of(square, prime_))] = 1;
  }
}

int64_t FiniteField::difference(int64_t a, int64_t b) const {
  Polynomial digits = digits_of(a, prime_, degree_);
  const Polynomial taken = digits_of(b, prime_, degree_);
  for (size_t i = 0; i < degree_; ++i) {
    digits[i] = (digits[i] + prime_ - taken[i]) % prime_;
  }
  return number_of(digits, prime_);
}

}  // namespace quench::hadamard
