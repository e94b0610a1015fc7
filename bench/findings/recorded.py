"""What a record of a run says of its place: the point of the sweep, its seed, its method, its average."""


def flat(value, path=""):
    """{dotted path: value} of all that a point of a sweep sets."""
    if not isinstance(value, dict):
        return {path: value}
    out = {}
    for key, inner in value.items():
        out.update(flat(inner, f"{path}.{key}" if path else key))
    return out


def sweep_of(record):
    return flat((record.get("environment") or {}).get("sweep") or {})


def seed_of(record):
    found = sweep_of(record)
    return found.get("seed", found.get("train.seed", (record.get("environment") or {}).get("seed", 0)))


def method_of(record):
    return record["quantizer"]["label"] if record["quantizer"] else "float"


def averaging_of(record):
    return record["averaging"]["label"] if record["averaging"] else ""


def is_first(record):
    """The first draw in the first order, or no calibration at all."""
    return not record.get("draw") and not record.get("jitter") and record["value"] is not None and not record["error"]


def terms_of(record):
    """{quantity: number} of a record of `taylor`."""
    details = record["details"]
    return {name: details[name] for name in ("slope", "quadratic", "change", "relative_distance") if name in details}
