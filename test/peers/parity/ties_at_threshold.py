#!/usr/bin/env python3
"""Finds the elements that a threshold leaves undecided, in NumPy.

Methods that keep the k largest do not say which of several equal k-th values stay, and sorting on the CPU
orders them arbitrarily. Each function here marks the elements whose value straddles the cut: only those may
go either way.
"""
import numpy as np


def value_of(setting, name, t):
    """A parameter as in recipes: a number, a gradient over the layers, or filters, whose first match decides."""
    if setting is None or isinstance(setting, (int, float)):
        return setting
    if isinstance(setting, dict):
        setting = [setting]
    if all(isinstance(item, (int, float)) for item in setting):
        place = t * (len(setting) - 1)
        low = int(place)
        high = min(low + 1, len(setting) - 1)
        return (1 - (place - low)) * setting[low] + (place - low) * setting[high]
    for item in setting:
        if item.get('filter') in (None, '*') or item['filter'] in name:
            return value_of(item['value'], name, t)
    return None


def parameter(recipe, model, key, default, name, layers):
    """A parameter of a model for one tensor, in a recipe of whole models. Tensors outside the layers use a
    gradient's first value."""
    parts = name.split('.')
    layer = int(parts[parts.index('layers') + 1]) if 'layers' in parts else None
    t = 0 if layer is None else layer / (layers - 1) if layers > 1 else 1
    for scope in (model.get('parameters'), recipe.get('parameters')):
        value = value_of((scope or {}).get(key), name, t)
        if value is not None:
            return value
    return default


def straddling(values, cuts, tolerance=0.0):
    """Marks values equal (or within a relative tolerance) to one on both sides of a cut of their ascending
    order."""
    flat = values.reshape(-1)
    marked = np.zeros(flat.shape, bool)
    for cut in cuts:
        if 0 < cut < flat.size:
            below, above = np.partition(flat, (cut - 1, cut))[[cut - 1, cut]]
            if above <= below * (1 + tolerance) and above > 0:
                marked |= np.abs(flat - above) <= above * tolerance
    return marked.reshape(values.shape)


def by_magnitude(delta, density):
    """TIES: the k = ⌊density · n⌋ largest |δ|, at least one. A tie at zero decides nothing."""
    if density >= 1 or density <= 0:
        return np.zeros(delta.shape, bool)
    return straddling(np.abs(delta), [delta.size - max(1, int(density * delta.size))])


def by_outliers(delta, density, gamma):
    """Model Breadcrumbs: drops the ⌊gamma · n⌋ largest, keeps the ⌊density · n⌋ next."""
    if density >= 1:
        return np.zeros(delta.shape, bool)
    kept = int(density * delta.size)
    bottom = max(0, delta.size - kept - int(gamma * delta.size))
    return straddling(np.abs(delta), [bottom, bottom + kept])


def by_variance(deltas, share, merged):
    """SCE: the k = ⌊share · nonzero⌋ largest variances over the experts. Float32 variances near the cut may
    be in another order."""
    if share >= 1 or share <= 0:
        return np.zeros(deltas[0].shape, bool)
    variance = np.stack(deltas).astype(np.float64).var(axis=0)
    kept = int(np.count_nonzero(variance) * share)
    if kept == 0:
        return np.zeros(variance.shape, bool)
    cut = variance.size - kept
    marks = straddling(variance, [cut], 2.0 ** -20)
    # Experts are weighted by the squares of kept elements, so the choice among ties moves the whole tensor's
    # weights. An element is undecided too if that may move it by more than a unit in the last place.
    squares = np.stack(deltas).astype(np.float64) ** 2
    certain = np.stack([np.where((variance >= np.partition(variance.reshape(-1), cut)[cut]) & ~marks, square, 0).sum() for square in squares])
    if marks.any() and (certain / variance.size).sum() >= 1e-6:
        doubt = max(square[marks].sum() / whole for square, whole in zip(squares, certain))
        marks |= 2 * doubt * np.abs(deltas).max(axis=0) > 2.0 ** -8 * np.abs(merged)
    return marks


def by_importance(base, tensor):
    """Arcee fusion: importances |δ| · KL of the rows' softmaxes near median + 1.5 · (q3 − q1)."""
    base, tensor = base.astype(np.float64), tensor.astype(np.float64)
    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) + 1e-8
    p, q = softmax(tensor), softmax(base)
    importance = np.abs(tensor - base) * (p * np.log(p / q)).sum(-1, keepdims=True)
    ordered = np.sort(importance.reshape(-1))
    low, median, high = ordered[[int(share * (ordered.size - 1)) for share in (0.25, 0.5, 0.75)]]
    threshold = median + 1.5 * (high - low)
    return (np.abs(importance - threshold) <= 1e-6 * abs(threshold)) & (tensor != base)


def undecided(case, recipe, name, tensors, merged, layers):
    """The elements of a merged tensor that the case's method leaves undecided. `tensors` are float32 by
    model."""
    base = tensors[recipe['base_model']]
    models = [model for model in recipe['models'] if model['model'] != recipe['base_model']]
    deltas = [tensors[model['model']] - base for model in models]
    number = lambda model, key, default: parameter(recipe, model, key, default, name, layers)
    kind = case['threshold']
    if kind == 'importance':
        return by_importance(base, tensors[models[0]['model']])
    if kind == 'variance':
        return by_variance(deltas, number({}, 'select_topk', 1.0), merged)
    marks = np.zeros(base.shape, bool)
    for model, delta in zip(models, deltas):
        density = number(model, 'density', 1.0)
        marks |= by_magnitude(delta, density) if kind == 'magnitude' else by_outliers(delta, density, number(model, 'gamma', 0.01))
    return marks
