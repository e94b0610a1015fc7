"""The look of figures: the colours of Okabe and Ito (2008), which colour-blind readers can distinguish, darker ones first.

Every colour also has a marker and every method a dash, so that nothing depends on colour alone.
"""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A800")
MARKERS = ("o", "s", "^", "D", "v", "p", "P", "h")
DASHES = ("-", (0, (4, 2)), (0, (5, 2, 1, 2)), (0, (8, 3)), (0, (8, 2, 1, 2, 1, 2)))  # dotted is the right axis
OPEN_FROM = 1  # dashes from here on have open markers
HATCHES = ("", "//", "xx", "\\\\", "--")
MARKS = {"star": "*", "circle": "o", "square": "s", "diamond": "D", "triangle": "^", "cross": "P", "x": "X"}  # else a star
GRAY = "#767676"


def color_of(palette, index, chosen):
    """The colour of an index of the palette; `chosen` is a user's {text: colour}."""
    return GRAY if index < 0 else chosen.get(palette.colors[index], COLORS[index % len(COLORS)])
