"""One compiled step: the reference's gradient, whatever the tree, and the same bits on any threads.

`forward` and `backward` are what steps from outside go through, `epoch` what rows in memory do.
"""

from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dgtrees.learn import _layers, _meeting, _step, layout
from dgtrees.learn._space import Buffers, Space
from dgtrees.learn.layout import make_space, node_arrays
from dgtrees.learn.losses import gradient_of_rows
from dgtrees.learn.recipe import Recipe
from dgtrees.tree.by_reference import Held
from training_rows import any_descent, parts_of, plain_rows

QUANTIZERS = ("margin", "sign", "scaled_sign")
FORMS = ("sum", "product", "local")
SCALE, STEEPNESS = 0.7, 3.0

quantizers = pytest.mark.parametrize("quantizer", QUANTIZERS)
forms = pytest.mark.parametrize("form", FORMS)
leaves = pytest.mark.parametrize("leaf", ["constant", "linear"])


def made(form="sum", hidden=(), **options):
    numbers = {"softmax_scale": SCALE, "anneal_start": STEEPNESS, "anneal_stop": STEEPNESS}
    form = {"path": "sum", "local_after": 0.0} if form == "local" else {"path": form}
    layers = {"n_layers": len(hidden) + 1, "hidden": hidden or "paper"}
    return Recipe(**(numbers | form | layers | {"min_batches": 1} | options))


def begun(recipe, rows, threads=1, **options):
    """A run with buffers for so many threads."""
    outputs = 1 + rows.y.max() if rows.y.ndim == 1 else rows.y.shape[1]
    options |= {"d": rows.X.shape[1], "outputs": int(outputs)}
    run = any_descent(recipe, classification=rows.y.ndim == 1, **options).begin(rows, recipe, None)
    run.space = make_space(run.layout, threads)
    return run


def one_gradient(run, rows):
    """Outputs, and the gradient of all parameters, of one step on all rows."""
    P, space, told = run.descent.parameters.values, run.space.table, Held(run._settings(1)).table
    places, buffers = run.space.state
    (count, d), K = rows.X.shape, places.n_outputs
    for array in (run.gradient, *buffers):
        array[:] = np.nan if array.dtype.kind == "f" else 1  # no matter what was there before
    inputs = buffers.inputs[: count * (d + 1)].reshape(count, d + 1)
    inputs[:, :d], inputs[:, d] = rows.X, 1
    _step.forward(P, space, told, count, _meeting.new_meeting())
    outputs = buffers.outputs[: count * K].reshape(count, K).copy()
    buffers.slopes[: count * K].reshape(count, K)[:] = loss_slopes(run, rows)(outputs)
    _step.backward(P, run.gradient, space, told, count, _meeting.new_meeting())
    return outputs, run.gradient


def loss_slopes(run, rows):
    name, smoothing = run.objective.name, run.recipe.label_smoothing
    return lambda outputs: gradient_of_rows(name, outputs, rows.y, smoothing) / len(rows)


def expected_gradient(run, rows):
    recipe, places = run.recipe, run.layout
    scaled = recipe.quantizer == "scaled_sign"
    decisions = {
        "form": "local" if recipe.local_after == 0 else recipe.path,
        "quantizer": "margin" if recipe.quantizer == "margin" else "sign",
        "scale": SCALE,
        "steepness": STEEPNESS,
        "window": 1.0 if scaled else SCALE,
    }
    P = run.descent.parameters.values
    tree = *parts_of(places, P), places.left, places.right
    X = rows.X.astype(float)
    bias = float(P[places.output_bias_at]) if recipe.output_bias else 0.0
    return reference.step_gradient(*tree, X, loss_slopes(run, rows), decisions, scaled, bias)


def assert_the_references(run, rows):
    outputs, gradient = one_gradient(run, rows)
    wanted_outputs, *wanted = expected_gradient(run, rows)
    np.testing.assert_allclose(outputs, wanted_outputs, atol=2e-5)
    layers, values, slopes = parts_of(run.layout, gradient)
    pairs = [(values, wanted[1])]
    if run.layout.linear:
        pairs.append((slopes, wanted[2]))
    if run.recipe.output_bias:
        # Beside what it is the sum of: terms of both signs may cancel.
        size = np.abs(wanted[1]).sum() + 1e-6
        assert gradient[run.layout.output_bias_at] == pytest.approx(wanted[3], abs=1e-4 * size)
    for (W, bias), (wanted_W, wanted_bias) in zip(layers, wanted[0], strict=True):
        pairs.append((W, wanted_W))
        if bias is not None:
            pairs.append((bias, wanted_bias))
    for mine, other in pairs:
        size = np.abs(other).max(initial=1e-6)
        np.testing.assert_allclose(mine, other, atol=1e-4 * size)


@quantizers
@forms
@leaves
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    nodes=st.integers(0, 20),
    d=st.integers(1, 6),
    count=st.integers(1, 40),
    outputs=st.integers(1, 3),
    classification=st.booleans(),
    hidden=st.lists(st.integers(1, 9), max_size=3).map(tuple),
    layer_biases=st.booleans(),
    output_bias=st.booleans(),
)
def test_any_tree_has_the_references_gradient(
    quantizer,
    form,
    leaf,
    seed,
    nodes,
    d,
    count,
    outputs,
    classification,
    hidden,
    layer_biases,
    output_bias,
):
    options = {"label_smoothing": 0.1 if classification else 0.0, "batch_size": 50}
    options |= {"layer_biases": layer_biases, "output_bias": output_bias}
    recipe = made(form, hidden, quantizer=quantizer, **options)
    rows = plain_rows(count, d, outputs + classification, classification, seed=seed)
    if classification:
        rows.y[0] = outputs  # every class is there
    run = begun(recipe, rows, nodes=nodes, leaf=leaf, seed=seed)
    assert_the_references(run, rows)


@quantizers
@pytest.mark.parametrize(
    ("d", "hidden", "prefix"),
    [(60, (4, 40), 1), (20, (60, 3, 9), 2), (20, (60, 50, 6), 3), (6, (50, 40), 3)],
)
@pytest.mark.parametrize("layer_biases", [False, True])
def test_layers_that_are_not_multiplied_out(quantizer, d, hidden, prefix, layer_biases):
    recipe = made("sum", hidden, quantizer=quantizer, batch_size=70, layer_biases=layer_biases)
    rows = plain_rows(67, d)
    run = begun(recipe, rows, nodes=31, leaf="linear", moved=0.05)
    assert run.layout.prefix == prefix
    assert_the_references(run, rows)


@quantizers
@forms
@leaves
@pytest.mark.parametrize(("hidden", "prefix", "d"), [((), 1, 5), ((9, 8), 3, 5), ((2, 40), 1, 100)])
def test_steps_in_several_blocks_and_slices(quantizer, form, leaf, hidden, prefix, d, monkeypatch):
    monkeypatch.setattr(layout, "_LARGE_STEP", 0)
    rows = plain_rows(150, d, outputs=1)
    biases = {"layer_biases": True, "output_bias": True}
    recipe = made(form, hidden, quantizer=quantizer, batch_size=200, **biases)
    run = begun(recipe, rows, nodes=21, leaf=leaf)
    assert (run.layout.slices, run.layout.block_rows, run.layout.prefix) == (4, 64, prefix)
    assert_the_references(run, rows)


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_fewer_nodes_than_slices(nodes, monkeypatch):
    monkeypatch.setattr(layout, "_LARGE_STEP", -1)
    rows = plain_rows(70)
    run = begun(made("sum", (5, 2), batch_size=70), rows, nodes=nodes, leaf="linear")
    assert run.layout.slices == 4
    assert_the_references(run, rows)


def test_hard_nodes_are_the_layers_multiplied_out():
    for hidden, biases in (((), False), ((7,), False), ((9, 8, 7), False), ((9, 8, 7), True)):
        run = begun(made("sum", hidden, layer_biases=biases), plain_rows(10))
        places, P = run.layout, run.descent.parameters.values
        products = np.empty(int(places.products_at[-1]) + 1, np.float32)
        nodes = _layers.hard_nodes(P, run.space.table, products).reshape(15, 5)
        weights, bias = node_arrays(places, P)
        np.testing.assert_allclose(nodes, np.column_stack([weights, bias]), atol=1e-5)


@quantizers
@leaves
@pytest.mark.parametrize(("nodes", "hidden"), [(15, (8, 7)), (300, (6, 250))])
def test_no_step_writes_beyond_its_buffers(quantizer, leaf, nodes, hidden):
    """Compiled code checks no bounds: arrays are the beginnings of larger ones here."""
    recipe = made("sum", hidden, quantizer=quantizer, batch_size=250)
    rows = plain_rows(250, 60)
    run = begun(recipe, rows, nodes=nodes, leaf=leaf)
    guarded = {}
    buffers = run.space.state.buffers._asdict()
    for name, array in buffers.items():
        whole = np.full(array.size + 500, 77).astype(array.dtype)
        whole[: array.size] = 0
        guarded[name] = whole
    inner = {n: whole[:-500].reshape(buffers[n].shape) for n, whole in guarded.items()}
    run.space = Held(Space(run.layout, Buffers(**inner)))
    run.advance(1)
    one_gradient(run, rows)
    for name, whole in guarded.items():
        assert (whole[-500:] == 77).all(), name


# Threads


def threaded_epoch(recipe, rows, threads, **options):
    """All flat vectors and the losses after two passes over the rows by so many threads."""
    run = begun(recipe, rows, threads, **options)
    P = run.descent.parameters
    steps = rows.n_batches(run.batch_size)
    values = np.empty((0, 1), np.float32) if rows.y.ndim == 1 else rows.y
    classes = rows.y if rows.y.ndim == 1 else np.empty(0, np.int64)
    weights = np.empty(0, np.float32) if rows.weight is None else rows.weight
    offsets = np.empty((0, 1), np.float32) if rows.offset is None else rows.offset
    told = Held(run._settings(1)).table
    for epoch in (1, 2):
        counters = _meeting.new_meeting()
        arguments = (
            *(rows.X, classes, values, weights, offsets, rows.order(0, epoch)),
            *(run.pool, run._noise_places(epoch, steps)),
            *(P.values, run.gradient, P.first, P.second, P.average),
            *(run.space.table, told, *run._rates(epoch, steps)),
            *((epoch - 1) * steps, (epoch - 1) * steps, run.limits),
        )
        group = [
            Thread(target=_step.epoch, args=(*arguments, thread, threads, counters))
            for thread in range(threads)
        ]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
    assert len(rows) % run.batch_size  # the last batch is a short one
    return [P.values, P.first, P.second, P.average, run.space.state.buffers.losses]


def assert_same_bits_on_any_threads(recipe, rows, **options):
    alone = threaded_epoch(recipe, rows, 1, **options)
    assert all(np.isfinite(array).all() for array in alone)
    for threads in (2, 3, 4):
        for one, other in zip(alone, threaded_epoch(recipe, rows, threads, **options), strict=True):
            assert np.array_equal(one, other)


@quantizers
@forms
@pytest.mark.parametrize(("nodes", "hidden"), [(15, (6, 5)), (300, ()), (300, (6, 250))])
def test_any_number_of_threads_gives_the_same_bits(quantizer, form, nodes, hidden):
    recipe = made(form, hidden, quantizer=quantizer, batch_size=220, input_noise=0.1, averaging=0.1)
    assert_same_bits_on_any_threads(recipe, plain_rows(530, 10), nodes=nodes)


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop", "sgd"])
@pytest.mark.parametrize("classification", [False, True])
def test_threads_and_penalties_weights_and_linear_leaves(optimizer, classification):
    recipe = made(
        "sum",
        (20, 30),
        optimizer=optimizer,
        batch_size=220,
        clip=0.05,
        l1=1e-3,
        l2=1e-3,
        weight_decay=0.1,
        momentum=0.5,
        relative_noise=0.1,
        learning_rate=1e-3,
        layer_biases=True,
        output_bias=True,
        penalize_biases=True,
    )
    rows = plain_rows(530, 10, 3, classification, weighted=True)
    assert_same_bits_on_any_threads(recipe, rows, nodes=255, leaf="linear")


# Penalties and clipping


def finished(l1=0.0, l2=0.0, clip=0.0, linear=False, **options):
    """A gradient of ones before, and as the optimiser takes it: times its factor."""
    options |= {"optimizer": "sgd", "momentum": 0.0}
    recipe = made("sum", (6, 5), l1=l1, l2=l2, clip=clip, **options)
    run = begun(recipe, plain_rows(20), leaf="linear" if linear else "constant")
    P = run.descent.parameters
    before, gradient = P.values.copy(), np.ones_like(P.values)
    told = Held(run._settings(1)).table
    arrays = P.values, gradient, P.first, P.second, P.average
    _step.update_all(*arrays, run.space.table, told, 1.0, 1.0, 1, 1.0, run.limits)
    return run.layout, before, before - P.values


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("output_bias", [False, True])
def test_penalties_are_on_weights_perhaps_on_biases_and_never_on_leaves(
    linear, biases, output_bias
):
    l1, l2 = 0.25, 0.5
    options = {"layer_biases": biases, "penalize_biases": biases, "output_bias": output_bias}
    places, P, moved = finished(l1, l2, linear=linear, **options)
    layers, values, slopes = parts_of(places, moved)
    for (W, bias), (mine, mine_bias) in zip(parts_of(places, P)[0], layers, strict=True):
        np.testing.assert_allclose(mine, 1 + l1 * np.sign(W) + 2 * l2 * W, atol=1e-5)
        if bias is not None:
            penalty = l1 * np.sign(bias) + 2 * l2 * bias if biases else 0.0
            np.testing.assert_allclose(mine_bias, 1 + penalty, atol=1e-5)
    if output_bias:
        assert moved[places.output_bias_at] == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(values, 1, atol=1e-5)
    if linear:
        np.testing.assert_allclose(slopes, 1, atol=1e-5)


def test_clipping_is_by_the_norm_of_everything():
    _, P, moved = finished(clip=0.5)
    np.testing.assert_allclose(moved, 0.5 / np.sqrt(len(P)), atol=1e-6)
    assert np.sqrt(np.square(moved.astype(float)).sum()) == pytest.approx(0.5, rel=1e-4)
    _, P, moved = finished(clip=1e3)  # a gradient within the limit stays as it is
    np.testing.assert_allclose(moved, 1, atol=1e-6)
    _, P, moved = finished(l2=5.0, clip=0.5)  # and the penalties count
    assert np.sqrt(np.square(moved.astype(float)).sum()) == pytest.approx(0.5, rel=1e-4)
