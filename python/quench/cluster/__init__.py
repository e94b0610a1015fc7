"""Runs as tasks of a cluster: what `quench submit` starts, and what `quench status` asks.

The program works out what is left of a run, share by share, and says it in JSON (cli/submit.cpp). Here a job is made of it,
scripts of the job, and a submission of the scripts. Nothing is imported but the standard library.
"""

from ..status import Error


class Wrong(Error):
    """What the user must change: exit code 2."""
