"""Figures of the page as SVG, drawn from the files of results alone: the same numbers give the same bytes."""

FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = {"holds": "#1b7837", "fails": "#b2182b", "open": "#4d4d4d", "above": "#b2182b", "below": "#1b7837"}
LINES = ["#4477aa", "#cc3311", "#228833", "#aa7744", "#66ccee"]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(value):
    return f"{value:.1f}"


def text_at(x, y, text, more=""):
    return f'<text x="{number(x)}" y="{number(y)}" {FONT} fill="#222"{more}>{escape(text)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0, more=""):
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{colour}" '
            f'stroke-width="{width}"{more}/>')


def svg(width, height, title, body):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
                      f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>',
                      *body, "</svg>", ""])


def ticks(low, high, wanted=6):
    """Round places between the ends."""
    span = high - low
    step = 10 ** len(str(int(span / wanted))) / 10 if span >= wanted else 1.0
    while span / step < wanted / 2:
        step /= 2
    while span / step > wanted:
        step *= 2 if span / step <= 2 * wanted else 5
    first = int(low / step) - 1
    return [first * step + i * step for i in range(int(span / step) + 4) if low <= first * step + i * step <= high]


def tick_text(value):
    return f"{value:g}".replace("-", "−")


def scale(low, high, start, end):
    return lambda value: start + (value - low) / (high - low) * (end - start)


CHARACTER = 7.6  # pixels, of labels in the font's usual shapes


def forest(title, rows, axis):
    """Rows of (text, value, plain interval, interval of all at once or None, verdict), along one axis with a line at 0."""
    left = 24 + CHARACTER * max(len(row[0]) for row in rows)
    right, top, step = left + 370, 34, 19
    shown = [end for _, value, plain, at_once, _ in rows for end in (value, *plain, *(at_once or ()))] + [0.0]
    low, high = min(shown), max(shown)
    margin = 0.08 * (high - low or 1.0)
    low, high = low - margin, high + margin
    x = scale(low, high, left, right)
    bottom = top + step * len(rows)
    body = [text_at(10, 18, title, ' font-weight="bold"'), line(x(0), top - 6, x(0), bottom, "#888", 1, ' stroke-dasharray="3 3"')]
    for place, (text, value, plain, at_once, word) in enumerate(rows):
        y = top + step * place + 8
        colour = COLOURS[word]
        body.append(text_at(left - 12, y + 4, text, ' text-anchor="end"'))
        if at_once is not None:
            body.append(line(x(at_once[0]), y, x(at_once[1]), y, colour, 1))
        body.append(line(x(plain[0]), y, x(plain[1]), y, colour, 4))
        body.append(f'<circle cx="{number(x(value))}" cy="{number(y)}" r="4" fill="{colour}"/>')
    body.append(line(left, bottom, right, bottom, "#222"))
    for place in ticks(low, high):
        body += [line(x(place), bottom, x(place), bottom + 4, "#222"),
                 text_at(x(place), bottom + 17, tick_text(place), ' text-anchor="middle"')]
    body.append(text_at((left + right) / 2, bottom + 35, axis, ' text-anchor="middle"'))
    return svg(round(right + 20), bottom + 45, title, body)


def curves(title, panels, x_axis, y_axis):
    """Panels of (name, {kind: [line, ...]}) side by side, a line being [(x, mean, lowest, highest)] with a band between the last two."""
    width, height, top, bottom, left = 720, 320, 50, 262, 62
    names = list(dict.fromkeys(name for _, kinds in panels for name in kinds))
    points = [point for _, kinds in panels for lines in kinds.values() for found in lines for point in found]
    low, high = min(0.0, *(p[2] for p in points)), max(p[3] for p in points)
    first, last = min(p[0] for p in points), max(p[0] for p in points)
    body = [text_at(10, 18, title, ' font-weight="bold"')]
    each = (width - left - 10) / len(panels)
    y = scale(low, high * 1.05, bottom, top)
    for place, (name, kinds) in enumerate(panels):
        begin = left + each * place
        x = scale(first, last, begin + 8, begin + each - 24)
        body.append(text_at(begin + each / 2 - 8, top - 8, name, ' text-anchor="middle"'))
        body += [line(begin, bottom, begin + each - 16, bottom, "#222"), line(begin, bottom, begin, top, "#222")]
        for tick in ticks(first, last, 4):
            body += [line(x(tick), bottom, x(tick), bottom + 4, "#222"),
                     text_at(x(tick), bottom + 17, tick_text(tick), ' text-anchor="middle"')]
        for tick in ticks(low, high * 1.05, 6):
            body.append(line(begin - 4, y(tick), begin, y(tick), "#222"))
            if place == 0:
                body.append(text_at(begin - 7, y(tick) + 4, tick_text(tick), ' text-anchor="end"'))
        for kind, found in ((kind, found) for kind, lines in kinds.items() for found in lines):
            colour = LINES[names.index(kind) % len(LINES)]
            around = [(x(p[0]), y(p[3])) for p in found] + [(x(p[0]), y(p[2])) for p in reversed(found)]
            body.append(f'<polygon points="{" ".join(f"{number(a)},{number(b)}" for a, b in around)}" fill="{colour}" opacity="0.18"/>')
            body.append(f'<polyline points="{" ".join(f"{number(x(p[0]))},{number(y(p[1]))}" for p in found)}" fill="none" '
                        f'stroke="{colour}" stroke-width="2"/>')
            body += [f'<circle cx="{number(x(p[0]))}" cy="{number(y(p[1]))}" r="2.5" fill="{colour}"/>' for p in found]
    body.append(text_at(left + (width - left) / 2, bottom + 34, x_axis, ' text-anchor="middle"'))
    body.append(text_at(16, (top + bottom) / 2, y_axis, f' text-anchor="middle" transform="rotate(-90 16 {number((top + bottom) / 2)})"'))
    for place, name in enumerate(names):
        at = left + 160 * place
        body += [line(at, height - 12, at + 20, height - 12, LINES[place % len(LINES)], 3), text_at(at + 26, height - 8, name)]
    return svg(width, height, title, body)
