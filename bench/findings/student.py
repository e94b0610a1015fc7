"""Student's t by its own formulas: quantiles, and the effect that a t test would have found.

For numbers that `quench report` has no contrast for, and for how wide its intervals over seeds are with other confidences.
"""

import math


def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(1.0 - (a + b) * x / (a + 1), tiny)
    out = d
    for m in range(1, 500):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            out *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return out


def _incomplete_beta(a, b, x):
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def outside(t, df):
    """The probability of a value beyond ±t."""
    return 1.0 if t == 0 else _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _bisect(is_below, low, high):
    while is_below(high):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2


def quantile(df, confidence):
    """The t for which `confidence` of the distribution lies between −t and t."""
    return _bisect(lambda t: outside(t, df) > 1.0 - confidence, 0.0, 1.0)


def _normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _power(effect, df, critical):
    """How often a t with this noncentrality is above `critical`: over s, the root of a χ² over df, by Simpson's rule."""
    log_front = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)

    def density(s):
        return math.exp(log_front + (df - 1) * math.log(s) - df * s * s / 2) if s > 0 else (math.exp(log_front) if df == 1 else 0.0)

    steps = 2000
    end = 1.0 + 12.0 / math.sqrt(df)
    width = end / steps
    total = 0.0
    for i in range(steps + 1):
        s = i * width
        weight = 1 if i in (0, steps) else 4 if i % 2 else 2
        total += weight * density(s) * _normal(effect - critical * s)
    return total * width / 3


def detectable(df, confidence=0.95, power=0.8):
    """How many standard errors an effect must have so that a two-sided test finds it, with its sign, with this power."""
    critical = quantile(df, confidence)
    return _bisect(lambda effect: _power(effect, df, critical) < power, 0.0, critical)
