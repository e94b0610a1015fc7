"""Tables of results whose runs are gone: the numbers are in docs/findings as the page had them."""

import text


def _methods(results, methods, places, first):
    rows = []
    for name, of_place in places:
        row = [name] if isinstance(name, str) else list(name)
        if first:
            row.append(f"{results.value(table='loss', quantity='loss', method='float', **of_place):.4f}")
        row += [text.milli(results.value(table="loss", quantity="delta", method=method, **of_place)) for method in methods]
        rows.append(row)
    return rows


def small_models(results, part):
    if part == "counts":
        names = list(dict.fromkeys(row["contrast"] for row in results.where(table="summary")))
        rows = [[name] + [f"{results.value(table='summary', contrast=name, quantity=key):.0f}"
                          for key in ("pairs", "negative", "less", "more", "open")] for name in names]
        return text.markdown(["contrast", "pairs", "negative", "less, intervals without 0", "more, intervals without 0",
                              "no significant difference"], rows)
    models = list(dict.fromkeys(row["branch"] for row in results.where(table="loss", method="float")))
    shown = {"errors": ["rtn 3", "gptq 3", "rtn 4", "gptq 4", "rtn 8", "gptq 8"],
             "others": ["hqq 3", "hqq 4", "nf4", "fp4", "int8", "noise 3", "noise 4"]}[part]
    rows = _methods(results, shown, [(model, {"branch": model}) for model in models], part == "errors")
    return text.markdown(["model"] + (["loss"] if part == "errors" else []) + shown, rows)


def _places(results):
    return list(dict.fromkeys((row["branch"], row["averaging"], row["step"])
                              for row in results.where(table="loss", quantity="loss", method="float")))


def one_run(results):
    rows = []
    shown = ["rtn 3", "gptq 3", "rtn 4", "gptq 4"]
    for branch, averaging, step in _places(results):
        place = {"branch": branch, "averaging": averaging, "step": step}
        rate = results.value(table="loss", quantity="lr", **place)
        rows += _methods(results, shown, [((f"step{step}", averaging or branch, f"{rate:.1e}"), place)], True)
    return text.markdown(["checkpoint", "weights", "learning rate", "loss"] + shown, rows)


def intervals(results, contrast):
    """The rows of a contrast with plain intervals."""
    found = {}
    for row in results.where(table="contrast", contrast=contrast):
        found.setdefault((row["point"], row["row"]), {})[row["quantity"]] = row
    kinds = [kind for kind in ("items", "draws", "seeds") if any(f"{kind}.n" in numbers for numbers in found.values())]
    names = {"items": "over validation blocks", "draws": "over calibration draws", "seeds": "over seeds"}
    rows = []
    for (_, what), numbers in found.items():
        row = [what]
        for kind in kinds:
            if f"{kind}.n" not in numbers:
                row.append("no calibration data")
                continue
            mean, low, high, n = (numbers[f"{kind}.{key}"]["value"] for key in ("mean", "low", "high", "n"))
            row.append(f"{text.milli(mean)} {text.interval((low, high))} (n = {n:.0f})")
        rows.append(row)
    return text.markdown(["pair"] + [names[kind] for kind in kinds], rows)


def curvature(results):
    rows = []
    for branch, averaging, step in _places(results):
        place = {"branch": branch, "averaging": averaging, "step": step}

        def at(quantity, table="curvature", method="float"):
            return results.value(table=table, quantity=quantity, method=method, **place)

        row = [f"step{step}", averaging or branch, f"{at('loss', 'loss'):.4f}", f"{at('hessian'):.1f} ± {at('hessian SE'):.1f}",
               f"{at('hessian/trace'):.0f} ± {at('hessian/trace SE'):.0f}"]
        for method in ("rtn 3", "rtn 4", "noise 4"):
            change, slope, quadratic = (at(key, "taylor", method) for key in ("change", "slope", "quadratic"))
            row += [text.milli(change), f"{text.milli(slope)}, {text.milli(quadratic)}"]
        rows.append(row)
    head = ["checkpoint", "weights", "loss", "λ₁", "trace"]
    for method in ("RTN 3", "RTN 4", "noise 4"):
        head += [method, "slope, curvature"]
    return text.markdown(head, rows)


def curvature_pairs(results):
    names = list(dict.fromkeys((row["contrast"], row["row"]) for row in results.where(table="contrast")))
    rows = []
    for contrast, of in names:
        mean, low, high, same = (results.value(contrast=contrast, row=of, quantity=f"items.{key}")
                                 for key in ("mean", "low", "high", "same sign"))
        rows.append([contrast, of, f"{text.signed(mean, 1)} [{text.signed(low, 1)}, {text.signed(high, 1)}]", f"{same:.0f} of 3"])
    return text.markdown(["contrast", "of", "difference", "sets with its sign"], rows)


def sweep(results, name):
    """The end of the decay by setting; means over seeds with their 95 % interval."""
    points = list(dict.fromkeys(row["point"] for row in results.where(table="summary")))
    rows = []
    for point in points:
        def both(method, quantity, write):
            mean, half = (results.value(table="summary", point=point, method=method, quantity=f"{quantity} {key}")
                          for key in ("mean", "half"))
            return f"{write(mean)} ± {write(half).lstrip('+')}"

        rows.append([point, f"{results.value(table='summary', point=point, quantity='seeds'):.0f}",
                     both("float", "loss", lambda value: f"{value:.4f}")]
                    + [both(method, "delta", text.milli) for method in ("rtn 3", "gptq 3", "rtn 4", "gptq 4")]
                    + [both("rtn 3", "loss", lambda value: f"{value:.4f}")])
    return text.markdown([name, "seeds", "float loss", "rtn 3", "gptq 3", "rtn 4", "gptq 4", "loss of rtn 3"], rows)

