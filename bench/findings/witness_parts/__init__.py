"""What `witness` is made of: values and measures, rows, verdicts, and one module for each kind of thing that pages show.

Nothing here, and nothing that it needs, is shared with the programs that make the pages.
"""
