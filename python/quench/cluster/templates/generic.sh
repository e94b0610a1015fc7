#!/bin/bash
# One of the {{of}} tasks of a run, for an engine that numbers them: docs/engines.md has the lines of each engine.
# A task takes {{cpus}} processors, {{memory_mib}} MiB of memory and at most {{seconds}} seconds; exit code 75: start it again.
export {{environment}}
{{before}}
cd {{cd}} || exit
exec {{quench}} --share auto/{{of}} --threads {{cpus}}
