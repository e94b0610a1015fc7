"""Text and data for HTML."""

import html
import json
import math
import re

import numpy as np

# But line breaks and tabs. The last are bytes that are no UTF-8; those before them end a line or change the direction of text.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text):
    return _NO_TEXT.sub("\ufffd", text)


def escape(text):
    return html.escape(plain(text)).replace("&#x27;", "&#39;")


def script_json(value):
    """JSON that cannot leave its element; numbers that are not finite are null."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return plain(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def packed(content):
    """Bytes as text of an element: five letters for four bytes, from # to w with x in place of <. A sixteenth less than base64."""
    words = np.frombuffer(content + bytes(-len(content) % 4), ">u4").astype(np.uint32)
    letters = (words[:, None] // (85 ** np.arange(4, -1, -1)).astype(np.uint32) % 85 + 35).astype(np.uint8)
    letters[letters == ord("<")] = ord("x")
    return letters.tobytes()[:(5 * len(content) + 3) // 4].decode("ascii")


def _finite(value):
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
