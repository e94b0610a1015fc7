"""Stand-ins for Slurm's commands, for scripts that test pages where there is no Slurm: `sbatch` runs the tasks at once."""
SBATCH = """#!/bin/bash
for task in $(seq 1 $(sed -n 's/#SBATCH --array=1-//p' "$2")); do
  SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=$task bash "$2" > /dev/null 2>&1 || exit
done
echo 12
"""


def write_stand_ins(folder):
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", "#!/bin/sh\n"), ("sacct", "#!/bin/sh\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
