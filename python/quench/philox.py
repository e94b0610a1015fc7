"""The random numbers of a run: Philox4x32-10 (Salmon et al. 2011), whose key and counter are named by a hash."""

import hashlib
import struct

import numpy

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = numpy.uint64(0xFFFFFFFF)
_HALF = numpy.uint64(32)


def philox(counter, key):
    """Ten rounds on arrays of counters: four uint64 arrays of 32 bits each, and two numbers."""
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        left, right = numpy.uint64(_MULTIPLIERS[0]) * a, numpy.uint64(_MULTIPLIERS[1]) * c
        a, b, c, d = ((right >> _HALF) ^ b ^ numpy.uint64(first), right & _LOW,
                      (left >> _HALF) ^ d ^ numpy.uint64(second), left & _LOW)
        first, second = (first + _WEYL[0]) & 0xFFFFFFFF, (second + _WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def uniform(seed, module, stream, start, count):
    """Numbers start .. start+count-1 of a stream, uniform over 64 bits."""
    name = module.encode()
    digest = hashlib.sha256(struct.pack("<QQ", seed, len(name)) + name + stream.encode()).digest()
    words = struct.unpack(">4I", digest[:16])
    blocks = numpy.arange(start // 2, (start + count + 1) // 2, dtype=numpy.uint64)
    upper = [numpy.full_like(blocks, word) for word in words[2:]]
    a, b, c, d = philox((blocks & _LOW, blocks >> _HALF, *upper), words[:2])
    values = numpy.stack([a | b << _HALF, c | d << _HALF], axis=1).reshape(-1)
    return values[start % 2:start % 2 + count]
