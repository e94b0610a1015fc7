"""The configuration files of the study (arXiv 2510.06213): their jobs, and the manifest that each amounts to.

    from quench.study import read_study_file, study_manifest
    file = read_study_file("quantize_olmo2_1B.yaml")
    print(file.jobs, file.job(17))
    print(study_manifest(file, "quantize_olmo2_1B.yaml"))

docs/import.md says which key becomes what. PyYAML reads the files.
"""

from .manifest import study_manifest
from .study_file import Job, StudyFile, is_study_file
from .yaml_tree import Wrong, parse

__all__ = ["Job", "StudyFile", "Wrong", "is_study_file", "parse", "read_study_file", "study_manifest"]


def read_study_file(path):
    """The file as a StudyFile. Raises OSError, and Wrong with the places of all that is wrong."""
    with open(path, "rb") as file:
        root = parse(file.read(), path)
    if not is_study_file(root):
        raise Wrong("%s: got %s, wanted a file of the study's code: with `repo_origin` and `q_bits`, or `quantized_paths` "
                    "and `fp_paths`, and no section of a manifest" % (
                        path, "other keys" if root.kind == "mapping" else root.described()))
    return StudyFile(root, path)
