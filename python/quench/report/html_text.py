"""Text and data for HTML."""

import html
import json
import math
import re

_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")  # but line breaks and tabs; the last are bytes that are no UTF-8


def escape(text):
    return html.escape(_NO_TEXT.sub("\ufffd", text)).replace("&#x27;", "&#39;")


def script_json(value):
    """JSON that cannot leave its element; numbers that are not finite are null."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = _NO_TEXT.sub("\ufffd", text)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value):
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
