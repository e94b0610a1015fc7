"""Words for messages of one line, as the program spells them."""


def misleads(code):
    """Whether the character has no shape but ends a line or changes the direction of the text around it."""
    return code in (0x061C, 0x200E, 0x200F) or 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069


def printable(text, limit=120):
    """Without control characters, those that mislead and bytes that are no UTF-8, which are escaped; cut at `limit` bytes."""
    out, size = [], 0
    for char in text:
        if size >= limit:
            return "".join(out) + "..."
        code = ord(char)
        if code < 0x20 or 0x7F <= code < 0xA0:
            char = "\\x%02x" % code
        elif misleads(code):
            char = "\\u%04x" % code
        elif 0xD800 <= code < 0xE000:  # of a name that is no UTF-8, as os.fsdecode gives it
            char = "\\x%02x" % (code & 0xFF)
        out.append(char)
        size += len(char.encode())
    return "".join(out)


def distance(a, b):
    """Edits that make b of a; two letters that changed places count once (optimal string alignment)."""
    before, above = None, list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            least = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, above = above, row
    return above[-1]


def nearest(word, candidates):
    """The first of the candidates that are least far from the word; "" if all are far."""
    best, found = max(2, len(word) // 3) + 1, ""
    for candidate in candidates if len(word) <= 256 else ():
        far = distance(word, candidate)
        if far < best:
            best, found = far, candidate
    return found
