#!/usr/bin/env python3
"""Why GPTQ may lose more on ternary weights than rounding to nearest: writes bench/methods/data/ternary.json.

Run it with a python that has torch, transformers and tokenizers; the rounding is numpy's, in float64. Rows are those of the float model, so that
no layer sees what another one rounded. Each linear is rounded to nearest and by GPTQ's column loop, with two scales for a row: its mean
magnitude, as quench has it and BitNet trains with (absmean), and the one with the least squared error of the weights (least). Of each it
keeps the objective tr(E G E') / tr(W G W'), and what tells where the error comes from. The loss is that of the model with all linears rounded so.
"""
import json

import numpy
import reference

DAMP = 0.01  # of GPTQ
FACTORS = numpy.arange(0.5, 3.0, 0.01)  # of the mean magnitude, among which `least` is searched


def grams(model, rows):
    """{name: X'X / n in float64} of what each linear reads."""
    import torch
    found, hooks = {}, []

    def watch(name):
        def hook(_, given):
            x = given[0].detach().reshape(-1, given[0].shape[-1]).double()
            found[name] = found.get(name, 0) + (x.T @ x)
        return hook

    for name, linear in reference.linears(model):
        hooks.append(linear.register_forward_pre_hook(watch(name)))
    with torch.no_grad():
        for some in rows.split(16):
            model(input_ids=some, use_cache=False)
    for hook in hooks:
        hook.remove()
    return {name: gram.numpy() / rows.numel() for name, gram in found.items()}


def codes_of(weight, scale):
    return numpy.clip(numpy.rint(weight / scale), -1, 1)


def absmean(weight):
    return numpy.abs(weight).mean(1, keepdims=True).astype(numpy.float32).astype(numpy.float64)


def least(weight):
    tried = FACTORS[:, None, None] * absmean(weight)
    errors = ((weight - tried * codes_of(weight, tried)) ** 2).sum(2)
    return numpy.take_along_axis(tried[:, :, 0], errors.argmin(0)[None], 0).T


def nearest(weight, _, scale):
    return scale * codes_of(weight, scale), numpy.abs(weight)


def column_loop(weight, gram, scale):
    """(weight, |w| of each column when its turn came): GPTQ in the order of the columns."""
    n = len(gram)
    damped = gram + DAMP * numpy.diag(gram).mean() * numpy.eye(n)
    upper = numpy.linalg.cholesky(numpy.linalg.inv(damped)).T
    work, made, met = weight.copy(), numpy.zeros_like(weight), numpy.zeros_like(weight)
    for c in range(n):
        met[:, c] = numpy.abs(work[:, c])
        made[:, c] = (scale * codes_of(work[:, [c]], scale))[:, 0]
        work[:, c + 1:] -= numpy.outer((work[:, c] - made[:, c]) / upper[c, c], upper[c, c + 1:])
    return made, met


def size(made, gram):
    return ((made @ gram) * made).sum()


def of_layer(weight, gram, held_out):
    """({way: weight}, {way: what is said of it}) for the four ways; held_out is the matrix of rows that no method saw."""
    made, said = {}, {}
    directions = numpy.linalg.eigh(gram)[1][:, :len(gram) // 2]  # the half in which the inputs vary least
    eighth = slice(weight.shape[1] - weight.shape[1] // 8, None)
    for scale_name, scale_of in (("absmean", absmean), ("least", least)):
        scale = scale_of(weight)
        for method, rounded in (("rtn", nearest), ("gptq", column_loop)):
            way = f"{method} {scale_name}"
            made[way], met = rounded(weight, gram, scale)
            said[way] = {
                "outputs": size(weight - made[way], gram) / size(weight, gram),
                "held_out": size(weight - made[way], held_out) / size(weight, held_out),
                "least_half": size((weight - made[way]) @ directions, directions.T @ gram @ directions)
                / size(weight @ directions, directions.T @ gram @ directions),
                "size": size(made[way], gram) / size(weight, gram),  # below 1 the outputs shrink
                "cut": (met > 1.5 * scale).mean(),  # beyond the last step when their turn came
                "growth": numpy.sqrt((met[:, eighth] ** 2).sum() / (weight[:, eighth] ** 2).sum()),  # of the last columns when theirs came
                "scale": (scale / absmean(weight)).mean()}
    return made, said


def of_model(model_of, rows, blocks):
    import torch
    model = model_of()
    found, held_out, floating = grams(model, rows), grams(model, blocks[:len(rows)]), reference.loss_of(model, blocks)
    layers, ways = {}, {}
    for name, linear in reference.linears(model):
        made, layers[name] = of_layer(linear.weight.detach().double().numpy(), found[name], held_out[name])
        for way, one in made.items():
            ways.setdefault(way, {})[name] = one
    out = {"layers": layers}
    for way, weights in ways.items():
        changed = model_of()
        with torch.no_grad():
            for name, linear in reference.linears(changed):
                linear.weight.copy_(torch.from_numpy(weights[name]))
        out[way] = {"delta": reference.loss_of(changed, blocks) / floating - 1,
                    **{what: float(numpy.mean([layer[way][what] for layer in layers.values()])) for what in next(iter(layers.values()))[way]}}
    return out


def main():
    path = reference.models.HERE / "data/ternary.json"
    out = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"damp": DAMP, "models": {}}
    for model in reference.models.found(reference.models.fixtures()).values():
        if model.folder is None or not reference.known(model.family):
            continue
        rows, blocks = reference.ids_of(model.folder, reference.models.text(reference.models.fixtures()))
        out["models"][model.name] = of_model(lambda model=model: reference.loaded(model.folder), rows, blocks)
        print(model.name, {way: one for way, one in out["models"][model.name].items() if way != "layers"}, flush=True)
        reference.write(path, json.loads(json.dumps(out, default=float)))


if __name__ == "__main__":
    main()
