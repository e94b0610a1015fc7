"""Figures of the page as SVG, drawn from the files of results alone: the same numbers give the same bytes."""

FONT = 'font-family="sans-serif" font-size="12"'
COLOURS = {"holds": "#1b7837", "fails": "#b2182b", "open": "#4d4d4d", "above": "#b2182b", "below": "#1b7837"}
LINES = ["#4477aa", "#cc3311", "#228833", "#aa7744", "#66ccee"]
SHAPES = ["circle", "square", "triangle", "diamond"]  # of lines, so that they are told apart without colours
SHAPES_OF = {"holds": "square", "fails": "diamond", "open": "circle", "above": "triangle", "below": "square"}


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def number(value):
    return f"{value:.1f}"


def text_at(x, y, text, more=""):
    return f'<text x="{number(x)}" y="{number(y)}" {FONT} fill="#222"{more}>{escape(text)}</text>'


def line(x1, y1, x2, y2, colour, width=1.0, more=""):
    return (f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{colour}" '
            f'stroke-width="{width}"{more}/>')


def mark(shape, x, y, half, colour):
    if shape == "circle":
        return f'<circle cx="{number(x)}" cy="{number(y)}" r="{half}" fill="{colour}"/>'
    corners = {"square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)), "triangle": ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
               "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))}[shape]
    return f'<polygon points="{" ".join(f"{number(x + half * a)},{number(y + half * b)}" for a, b in corners)}" fill="{colour}"/>'


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
    """Rows along one axis with a line at 0: (text, value, plain interval, interval of all at once or None, verdict), or the text of a
    heading alone.
    """
    drawn = [row for row in rows if not isinstance(row, str)]
    left = 24 + CHARACTER * max(len(row[0]) for row in drawn)
    headings = [10 + CHARACTER * len(row) for row in rows if isinstance(row, str)]
    right, top, step = max([left + 370, *headings]), 34, 19
    shown = [end for _, value, plain, at_once, _ in drawn for end in (value, *plain, *(at_once or ()))] + [0.0]
    low, high = min(shown), max(shown)
    margin = 0.08 * (high - low or 1.0)
    low, high = low - margin, high + margin
    x = scale(low, high, left, right)
    bottom = top + step * len(rows)
    body = [text_at(10, 18, title, ' font-weight="bold"'), line(x(0), top - 6, x(0), bottom, "#888", 1, ' stroke-dasharray="3 3"')]
    for place, row in enumerate(rows):
        y = top + step * place + 8
        if isinstance(row, str):
            body += [f'<rect x="10" y="{number(y - 9)}" width="{number(CHARACTER * len(row))}" height="{step - 1}" fill="#fff"/>',
                     text_at(10, y + 4, row, ' font-style="italic"')]
            continue
        text, value, plain, at_once, word = row
        colour = COLOURS[word]
        body.append(text_at(left - 12, y + 4, text, ' text-anchor="end"'))
        if at_once is not None:
            body.append(line(x(at_once[0]), y, x(at_once[1]), y, colour, 1))
        body.append(line(x(plain[0]), y, x(plain[1]), y, colour, 4))
        body.append(mark(SHAPES_OF[word], x(value), y, 4, colour))
    body.append(line(left, bottom, right, bottom, "#222"))
    for place in ticks(low, high):
        body += [line(x(place), bottom, x(place), bottom + 4, "#222"),
                 text_at(x(place), bottom + 17, tick_text(place), ' text-anchor="middle"')]
    body.append(text_at((left + right) / 2, bottom + 35, axis, ' text-anchor="middle"'))
    return svg(round(right + 20), bottom + 45, title, body)


STRIP = 44  # pixels, of the learning rate under a panel


def curves(title, panels, x_axis, y_axis, rates=()):
    """Panels side by side: (name, {kind: [(line, place it comes from or None), ...]}), a line being [(x, mean, lowest, highest)] with a
    band between the last two, of a single point a line; a thin line leads there from the place (x, mean). `rates`, {kind: [[(x, learning
    rate)]]}, is drawn under each panel.
    """
    width, top, bottom, left = 720, 50, 262, 62
    strip = (bottom + 12, bottom + 12 + STRIP) if rates else (bottom, bottom)
    height = strip[1] + 58
    names = list(dict.fromkeys(name for _, kinds in panels for name in kinds))
    points = [point for _, kinds in panels for lines in kinds.values() for found, _ in lines for point in found]
    low, high = min(0.0, *(p[2] for p in points)), max(p[3] for p in points)
    steps = [p[0] for p in points] + [step for lines in dict(rates).values() for found in lines for step, _ in found]
    first, last = min(steps), max(steps)
    body = [text_at(10, 18, title, ' font-weight="bold"')]
    each = (width - left - 10) / len(panels)
    y = scale(low, high * 1.05, bottom, top)
    for place, (name, kinds) in enumerate(panels):
        begin = left + each * place
        x = scale(first, last, begin + 8, begin + each - 24)
        body.append(text_at(begin + each / 2 - 8, top - 8, name, ' text-anchor="middle"'))
        body += [line(begin, y(0), begin + each - 16, y(0), "#222"), line(begin, bottom, begin, top, "#222")]
        for tick in ticks(first, last, 4):
            body += [line(x(tick), strip[1], x(tick), strip[1] + 4, "#222"),
                     text_at(x(tick), strip[1] + 17, tick_text(tick), ' text-anchor="middle"')]
        for tick in ticks(low, high * 1.05, 6):
            body.append(line(begin - 4, y(tick), begin, y(tick), "#222"))
            if place == 0:
                body.append(text_at(begin - 7, y(tick) + 4, tick_text(tick), ' text-anchor="end"'))
        for kind, found, parent in ((kind, found, parent) for kind, lines in kinds.items() for found, parent in lines):
            colour, shape = LINES[names.index(kind) % len(LINES)], SHAPES[names.index(kind) % len(SHAPES)]
            around = [(x(p[0]), y(p[3])) for p in found] + [(x(p[0]), y(p[2])) for p in reversed(found)]
            if len(found) == 1:  # a band without a width
                body.append(line(*around[0], *around[1], colour, 1.5))
            body.append(f'<polygon points="{" ".join(f"{number(a)},{number(b)}" for a, b in around)}" fill="{colour}" opacity="0.18"/>')
            if parent is not None:
                body.append(line(x(parent[0]), y(parent[1]), x(found[0][0]), y(found[0][1]), colour, 1))
            body.append(f'<polyline points="{" ".join(f"{number(x(p[0]))},{number(y(p[1]))}" for p in found)}" fill="none" '
                        f'stroke="{colour}" stroke-width="2"/>')
            body += [mark(shape, x(p[0]), y(p[1]), 3, colour) for p in found]
        if rates:
            top_rate = max(rate for lines in rates.values() for found in lines for _, rate in found)
            rate_y = scale(0.0, top_rate * 1.1, strip[1], strip[0])
            body += [line(begin, strip[1], begin + each - 16, strip[1], "#222"), line(begin, strip[1], begin, strip[0], "#222")]
            for kind, found in ((kind, found) for kind, lines in rates.items() for found in lines):
                body.append(f'<polyline points="{" ".join(f"{number(x(a))},{number(rate_y(b))}" for a, b in found)}" fill="none" '
                            f'stroke="{LINES[names.index(kind) % len(LINES)]}" stroke-width="1.5"/>')
            if place == 0:
                body.append(text_at(begin - 7, rate_y(top_rate) + 4, tick_text(top_rate), ' text-anchor="end"'))
                body.append(text_at(begin - 7, strip[1] + 4, "0", ' text-anchor="end"'))
    body.append(text_at(left + (width - left) / 2, strip[1] + 34, x_axis + (" (below: learning rate)" if rates else ""),
                        ' text-anchor="middle"'))
    body.append(text_at(16, (top + bottom) / 2, y_axis, f' text-anchor="middle" transform="rotate(-90 16 {number((top + bottom) / 2)})"'))
    for place, name in enumerate(names):
        at = left + min(200, (width - left) / len(names)) * place
        body += [line(at, height - 12, at + 24, height - 12, LINES[place % len(LINES)], 2),
                 mark(SHAPES[place % len(SHAPES)], at + 12, height - 12, 3.5, LINES[place % len(LINES)]), text_at(at + 30, height - 8, name)]
    return svg(width, height, title, body)
