"""Epochs: the same way on any threads, from any checkpoint, by whichever loop."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import reference
from dgtrees.errors import StateError
from dgtrees.learn import run as runs
from dgtrees.learn.descent import Descent
from dgtrees.learn.pace import Pace
from dgtrees.learn.processes import Processes
from dgtrees.learn.recipe import Recipe
from dgtrees.learn.rows import Rows
from dgtrees.learn.run import Run
from dgtrees.learn.starts import random_start
from dgtrees.tree import gradient
from training_rows import any_descent, parts_of, plain_rows, squared_loss

SMALL = Recipe(
    n_layers=3,
    hidden=(6, 5),
    quantizer="margin",
    epochs=4,
    batch_size=32,
    min_batches=1,
    learning_rate=1e-2,
    leaf_learning_rate=5e-2,
)
RICH = replace(
    SMALL,
    clip=0.5,
    l1=1e-4,
    l2=1e-4,
    weight_decay=0.1,
    momentum=0.5,
    input_noise=0.1,
    relative_noise=0.1,
    averaging=0.1,
    local_after=0.5,
    restarts=1,
)


def arrays(descent):
    P = descent.parameters
    return [P.values, P.first, P.second, P.average]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))


def fitted(recipe, rows, validation=None, n_threads=1, nodes=15, leaf="constant", **options):
    """A descent to the end of its epochs, and its result."""
    classification = rows.y.ndim == 1
    d, outputs = rows.X.shape[1], 2 if classification else rows.y.shape[1]
    descent = any_descent(recipe, nodes, d, outputs, leaf, classification)
    run = descent.begin(rows, recipe, validation, n_threads=n_threads, **options).advance()
    return descent, run.finish()


# Threads


class Always(Pace):
    """All threads in every epoch; the real one also tries a single thread, and keeps the faster."""

    def choose(self):
        return self.most


@pytest.mark.parametrize("quantizer", ["margin", "sign", "scaled_sign"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_any_number_of_threads_trains_the_same_tree(quantizer, leaf, monkeypatch):
    monkeypatch.setattr(runs, "Pace", Always)
    recipe = replace(RICH, quantizer=quantizer, batch_size=220)
    rows, held = plain_rows(530, 10, seed=1), plain_rows(100, 10, seed=2)
    alone, told = fitted(recipe, rows, held, nodes=255, leaf=leaf)
    for n_threads in (2, 3, 4, 9):
        other, result = fitted(recipe, rows, held, n_threads, nodes=255, leaf=leaf)
        assert same(alone, other)
        assert result == told


def test_threads_are_at_most_the_parts_of_a_step():
    for nodes, threads in ((15, 1), (255, 4)):
        run = any_descent(SMALL, nodes, 10).begin(
            plain_rows(256, 10), replace(SMALL, batch_size=256), n_threads=9
        )
        assert run.pace.most == threads


def test_the_pace_takes_the_faster_way_and_asks_again_now_and_then():
    pace = Pace(4)
    chosen = []
    for _ in range(33):
        threads = pace.choose()
        chosen.append(threads)
        pace.note(threads, 1.0 if threads == 4 else 2.0)
    assert chosen[:2] == [4, 1]  # both ways once
    assert [k for k, threads in enumerate(chosen, start=1) if threads == 1] == [2, 16, 32]
    assert Pace(1).choose() == 1


def test_where_threads_cannot_meet_there_is_one(monkeypatch):
    monkeypatch.setattr(runs._meeting, "AVAILABLE", False)
    recipe = replace(SMALL, batch_size=256)
    run = any_descent(recipe, 255, 10).begin(plain_rows(256, 10), recipe, n_threads=4)
    assert run.pace.most == 1


def test_the_number_of_threads_may_change_on_the_way():
    rows, recipe = plain_rows(530, 10), replace(RICH, batch_size=220)
    wanted, _ = fitted(recipe, rows, nodes=255)
    descent = any_descent(recipe, 255, 10)
    run = descent.begin(rows, recipe)
    run.advance(1).advance(2, n_threads=3).advance(n_threads=2).finish()
    assert same(descent, wanted)


# Two loops


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", ["margin", "sign", "scaled_sign"])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_from_outside_are_those_of_a_whole_epoch(leaf, quantizer, weighted):
    recipe = replace(RICH, quantizer=quantizer, epochs=2, optimizer="sgd", learning_rate=1e-3)
    rows, held = plain_rows(150, weighted=weighted), plain_rows(50, seed=5)
    whole, told = fitted(replace(recipe, loss="squared"), rows, held, leaf=leaf)
    by_steps, result = fitted(replace(recipe, loss=squared_loss), rows, held, leaf=leaf)
    for one, other in zip(arrays(whole), arrays(by_steps), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)
    np.testing.assert_allclose(told.history["loss"], result.history["loss"], rtol=1e-5)
    np.testing.assert_allclose(told.history["val_loss"], result.history["val_loss"], rtol=1e-4)


@pytest.mark.parametrize("classification", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_feed_that_is_no_rows_in_memory_goes_step_by_step(classification, noise):
    recipe = replace(SMALL, epochs=2, optimizer="sgd", input_noise=noise, label_smoothing=0.1)
    rows = plain_rows(150, classification=classification)
    whole, told = fitted(recipe, rows)
    other = any_descent(recipe, classification=classification)
    run = other.begin(Elsewhere(rows), recipe)
    result = run.advance().finish()
    assert run.step == 0 and run.loss_sum == 0.0
    for one, two in zip(arrays(whole), arrays(other), strict=True):
        np.testing.assert_allclose(one, two, atol=2e-5)
    np.testing.assert_allclose(told.history["loss"], result.history["loss"], rtol=1e-5)


class Elsewhere:
    """Rows that the loop has to ask for, batch by batch."""

    def __init__(self, rows):
        self.rows = rows
        self.n_batches, self.batches, self.scores = rows.n_batches, rows.batches, rows.scores

    def __len__(self):
        return len(self.rows)


def test_a_batch_larger_than_announced_is_refused():
    rows = plain_rows(60)
    feed = Elsewhere(rows)
    feed.batches = lambda size, *_: iter([(rows, 60.0)])
    run = any_descent(SMALL).begin(feed, SMALL)
    with pytest.raises(ValueError, match="a batch must have at most 32 rows here, got 60"):
        run.advance()


# Against the reference, to the end


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop", "sgd"])
def test_whole_steps_are_the_references(optimizer):
    """Gradient, clipping, decay, optimiser and average of three full-batch steps."""
    recipe = replace(
        SMALL,
        optimizer=optimizer,
        epochs=3,
        batch_size=64,
        momentum=0.4,
        weight_decay=0.2,
        averaging=0.3,
        l1=1e-3,
        l2=1e-2,
        clip=0.3,
        schedule="constant",
        anneal_start=2.0,
        anneal_stop=2.0,
        learning_rate=2e-3,
        leaf_learning_rate=1e-2,
    )
    rows = plain_rows(60)
    descent = any_descent(recipe)
    run = descent.begin(rows, recipe)
    layout, start = run.layout, descent.parameters.values.astype(float)
    P, gradients, present = start.copy(), [], []
    leaf = np.arange(layout.size) >= layout.leaves_at
    for _ in range(3):
        gradients.append(clipped_gradient(layout, P, rows, recipe))
        P = np.empty_like(P)
        for part, rate, decay in ((~leaf, 2e-3, 0.2), (leaf, 1e-2, 0.0)):
            told = start[part], [g[part] for g in gradients], rate, decay
            momentum = () if optimizer == "adamw" else (0.4,)
            path = getattr(reference, optimizer)(*told, *momentum)
            P[part] = path[-1]
        run.advance(len(gradients))
        np.testing.assert_allclose(descent.parameters.values, P, atol=1e-5)
        present.append(P)
    wanted = reference.running_average(start, present, 0.3)[-1]
    run.finish()
    np.testing.assert_allclose(descent.parameters.values, wanted, atol=1e-5)


def clipped_gradient(layout, P, rows, recipe):
    layers, values, slopes = parts_of(layout, P)
    decisions = {"form": "sum", "quantizer": "margin", "scale": recipe.softmax_scale}
    decisions |= {"steepness": 2.0}
    tree = layers, values, slopes, layout.left, layout.right, rows.X.astype(float)
    loss = lambda outputs: (outputs - rows.y) / len(rows)  # noqa: E731 (two outputs)
    _, grads, of_values, *_ = reference.step_gradient(*tree, loss, decisions)
    gradient = np.zeros(layout.size)
    for i, ((W, _), (grad, of_bias)) in enumerate(zip(layers, grads, strict=True)):
        grad = grad + recipe.l1 * np.sign(W) + 2 * recipe.l2 * W
        grad = np.column_stack([grad, of_bias]) if i == 0 else grad
        gradient[layout.weights_at[i] :][: grad.size] = grad.ravel()
        if layout.biases_at[i] >= 0:
            gradient[layout.biases_at[i] :][: len(of_bias)] = of_bias
    gradient[layout.leaves_at :] = of_values.ravel()
    norm = np.sqrt(np.square(gradient).sum())
    assert norm > recipe.clip
    return gradient * recipe.clip / norm


# Going on


def taken_up(recipe, rows, validation, at):
    """Train for `at` epochs, carry plain arrays over to a new descent, and train to the end."""
    first = any_descent(recipe, classification=rows.y.ndim == 1)
    run = first.begin(rows, recipe, validation).advance(at)
    second = any_descent(recipe, classification=rows.y.ndim == 1)

    class Resumed(Processes):
        def resume(self, new):
            for mine, other in zip(arrays(second), arrays(first), strict=True):
                mine[:] = other
            second.steps, second.epochs = first.steps, first.epochs
            new.averaged, new.result, new.best = run.averaged, run.result, run.best

    again = second.begin(rows, recipe, validation, processes=Resumed())
    return second, again.advance().finish()


@pytest.mark.parametrize("optimizer", ["adamw", "rmsprop", "sgd"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_whole_epochs_are_taken_up_from_arrays_with_the_same_bits(optimizer, at):
    recipe = replace(RICH, optimizer=optimizer, learning_rate=1e-3)
    rows, held = plain_rows(150, classification=True), plain_rows(60, classification=True, seed=4)
    wanted, told = fitted(recipe, rows, held)
    found, result = taken_up(recipe, rows, held, at)
    assert same(found, wanted)
    assert result == told


def test_a_second_run_goes_on_from_the_first():
    rows = plain_rows(150)
    descent, _ = fitted(RICH, rows)
    steps, epochs, before = descent.steps, descent.epochs, descent.parameters.values.copy()
    assert (steps, epochs) == (4 * 5, 4)
    run = descent.begin(rows, RICH)
    assert np.array_equal(descent.parameters.values, before)
    assert np.array_equal(descent.parameters.average, before)
    run.advance().finish()
    assert (descent.steps, descent.epochs) == (2 * steps, 2 * epochs)
    assert not np.array_equal(descent.parameters.values, before)


def test_a_state_is_a_copy_to_go_back_to():
    rows = plain_rows(150)
    descent = any_descent(SMALL)
    state = descent.state()
    first = descent.begin(rows, SMALL).advance().finish()
    after = [array.copy() for array in arrays(descent)]
    for _ in range(2):  # a state serves more than once
        descent.restore(state)
        assert descent.steps == descent.epochs == 0
        assert descent.begin(rows, SMALL).advance().finish() == first
        for one, other in zip(arrays(descent), after, strict=True):
            assert np.array_equal(one, other)


# What a run reports, chooses and refuses


def test_the_loss_of_an_epoch_is_the_mean_over_its_rows():
    recipe = replace(SMALL, epochs=1, learning_rate=1e-12, leaf_learning_rate=1e-12)
    for weighted in (False, True):
        rows = plain_rows(75, weighted=weighted)
        descent, result = fitted(recipe, rows, nodes=7)
        errors = np.square(descent.tree().predict(rows.X.astype(float)) - rows.y).mean(axis=1)
        weight = np.ones(75) if rows.weight is None else rows.weight
        assert result.history["loss"] == pytest.approx([(weight * errors).mean()], rel=1e-4)


def test_validation_keeps_the_best_epoch():
    rows, held = plain_rows(150, classification=True), plain_rows(60, classification=True, seed=4)
    recipe = replace(SMALL, epochs=12, learning_rate=0.05, averaging=0.1)
    kept = []

    class Watched(Processes):
        def after_epoch(self, run):
            kept.append(run.descent.parameters.average.copy())

    descent, result = fitted(recipe, rows, held, processes=Watched())
    history = result.history["val_accuracy"], result.history["val_loss"]
    ranks = [(accuracy, -loss) for accuracy, loss in zip(*history, strict=True)]
    best = max(range(12), key=lambda k: (ranks[k], k))
    assert result.best_epoch == best + 1
    assert result.best_rank == ranks[best]
    assert result.best_score == ranks[best][0]
    assert np.array_equal(descent.parameters.values, kept[best])
    accuracy = (descent.tree().predict(held.X.astype(float)).argmax(axis=1) == held.y).mean()
    assert accuracy == pytest.approx(result.best_score)


def test_of_equal_epochs_the_later_is_kept():
    best = runs._Best()
    for epoch, rank in enumerate([(0.5, 1.0), (0.7, 0.0), (0.7, 0.0), (0.6, 9.0)], start=1):
        best.offer(rank, np.array([epoch]), epoch)
    assert (best.rank, best.epoch, best.values.tolist()) == ((0.7, 0.0), 3, [3])


def test_without_validation_the_average_is_delivered():
    recipe = replace(SMALL, averaging=0.5)
    descent, result = fitted(recipe, plain_rows(100))
    assert np.array_equal(descent.parameters.values, descent.parameters.average)
    assert (result.best_score, result.best_epoch, result.n_epochs) == (None, 4, 4)


def test_the_first_epochs_are_not_chosen_from():
    rows, held = plain_rows(150), plain_rows(60, seed=4)
    for seed in range(3):
        recipe = replace(SMALL, epochs=6, select_after=0.5, learning_rate=0.3)
        descent = any_descent(recipe, seed=seed)
        assert descent.begin(rows, recipe, held).advance().finish().best_epoch > 3


def test_patience_counts_epochs_since_the_best():
    rows, held = plain_rows(150), plain_rows(60, seed=4)
    recipe = replace(SMALL, epochs=200, patience=3, learning_rate=0.1)
    _, result = fitted(recipe, rows, held)
    assert result.stopped_early
    assert result.n_epochs == result.best_epoch + 3


def test_every_callback_is_called_and_any_of_them_may_stop():
    calls = {"one": [], "other": []}

    def one(epoch, n_epochs, metrics):
        calls["one"].append((epoch, n_epochs, metrics["loss"]))
        return epoch == 2

    def other(epoch, n_epochs, metrics):
        calls["other"].append((epoch, n_epochs, metrics["loss"]))

    _, result = fitted(SMALL, plain_rows(100), callbacks=(one, other))
    assert calls["one"] == calls["other"]
    assert [(k, n) for k, n, _ in calls["one"]] == [(1, 4), (2, 4)]
    assert result.stopped_early and result.n_epochs == 2
    assert [loss for *_, loss in calls["one"]] == result.history["loss"]


@pytest.mark.parametrize("loss", [None, squared_loss])
def test_a_loss_that_is_no_number_is_one_line_and_the_next_step(loss):
    rows = plain_rows(60)
    broken = Rows(rows.X, np.where(rows.X[:, :2] > 1, np.float32(np.inf), rows.y))
    with np.errstate(all="ignore"), pytest.raises(StateError) as found:
        fitted(replace(SMALL, loss=loss), broken)
    assert "the loss became" in str(found.value) and "lower learning_rate" in str(found.value)
    assert "\n" not in str(found.value)


def test_one_number_for_a_batch_of_weighted_rows_is_refused():
    torch = pytest.importorskip("torch")
    loss = torch.nn.functional.mse_loss
    fitted(replace(SMALL, loss=loss), plain_rows(60))
    with pytest.raises(ValueError, match=r"leave out its final mean\(\)"):
        fitted(replace(SMALL, loss=loss), plain_rows(60, weighted=True))


def test_a_torch_loss_trains_the_tree_of_the_named_one():
    torch = pytest.importorskip("torch")
    recipe = replace(SMALL, optimizer="sgd", epochs=2)
    rows = plain_rows(100)
    named, _ = fitted(recipe, rows)
    by_torch, _ = fitted(replace(recipe, loss=torch.nn.functional.mse_loss), rows)
    np.testing.assert_allclose(named.parameters.values, by_torch.parameters.values, atol=1e-5)


def test_quantizers_of_torch_are_refused():
    start = random_start(2, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="quantizer='lsq' is trained by torch"):
        Descent(start, 4, "constant", Recipe(quantizer="lsq"), False, 0)


def test_a_tree_without_nodes_learns_its_leaf():
    rows = plain_rows(200, outputs=1)
    recipe = replace(SMALL, epochs=200, averaging=0.1)
    for leaf in ("constant", "linear"):
        descent, _ = fitted(recipe, rows, nodes=0, leaf=leaf)
        tree = descent.tree()
        assert tree.n_nodes == 0
        X = np.column_stack([np.ones(200), rows.X]) if leaf == "linear" else np.ones((200, 1))
        wanted = X @ np.linalg.lstsq(X, rows.y, rcond=None)[0]
        np.testing.assert_allclose(tree.predict(rows.X.astype(float)), wanted, atol=0.05)


def test_seeds_decide():
    rows = plain_rows(100)
    start = random_start(3, 2, np.random.default_rng(0))

    def trained(seed):
        descent = Descent(start, 4, "constant", RICH, False, seed)
        descent.begin(rows, RICH).advance().finish()
        return descent

    assert same(trained(1), trained(1))
    assert not same(trained(1), trained(2))


# How a recipe becomes numbers


def begun(recipe, rows=None, nodes=15):
    return any_descent(recipe, nodes).begin(rows or plain_rows(100), recipe)


def test_rates_fall_with_the_steps_of_all_epochs():
    run = begun(replace(SMALL, epochs=4, restarts=1))
    rates = np.concatenate([run._rates(epoch, 5)[0] for epoch in (1, 2, 3, 4)])
    done = np.arange(20) / 20
    np.testing.assert_allclose(rates, 1e-2 * 0.5 * (1 + np.cos(np.pi * (2 * done % 1))))
    leaf = run._rates(2, 5)[1]
    np.testing.assert_allclose(leaf, 5 * rates[5:10])


def test_decisions_grow_steeper_and_then_local():
    steeper = {"anneal_start": 2.0, "anneal_stop": 10.0, "anneal_schedule": "linear"}
    run = begun(replace(SMALL, epochs=5, local_after=0.6, **steeper))
    told = [run._settings(epoch).decisions for epoch in range(1, 6)]
    np.testing.assert_allclose([how.half_steepness for how in told], [1, 2, 3, 4, 5])
    assert [how.form for how in told] == [gradient.FORMS["sum"]] * 3 + [gradient.LOCAL] * 2


@pytest.mark.parametrize(("quantizer", "window"), [("sign", 0.5), ("scaled_sign", 1.0)])
def test_the_slope_of_the_sign_is_its_size_unless_that_changes(quantizer, window):
    how = begun(replace(SMALL, quantizer=quantizer, softmax_scale=0.5))._settings(1).decisions
    assert (how.scale, how.window) == (0.5, window)


def test_decisions_are_never_larger_than_exp_can_bear():
    run = begun(replace(SMALL, softmax_scale=1e6), nodes=100)
    assert run._settings(1).decisions.scale == np.float32(78.0 / run.layout.depth)
    assert np.isfinite(run.advance().finish().history["loss"]).all()


def test_noise_is_within_the_pool_and_another_in_every_step_and_process():
    run = begun(replace(SMALL, input_noise=0.1))
    places = [tuple(run._noise_places(epoch, 50)) for epoch in (1, 2)]
    assert len(set(itertools.chain(*places))) > 90
    assert max(places[0]) + run.batch_size * 4 <= len(run.pool)
    assert places[0] == tuple(run._noise_places(1, 50))
    run.processes = type("Other", (Processes,), {"rank": 1})()
    assert tuple(run._noise_places(1, 50)) != places[0]


def test_a_pool_holds_the_noise_of_a_batch_of_any_size(monkeypatch):
    monkeypatch.setattr(runs, "_POOL_SIZE", 64)
    recipe = replace(SMALL, input_noise=0.1, batch_size=100)
    for rows in (16, 32, 33, 100):
        run = begun(recipe, plain_rows(rows))
        places = run._noise_places(1, 200)
        assert places.min() >= 0 and places.max() + run.batch_size * 4 <= len(run.pool)
    runs._noise_pool.cache_clear()


def test_blurred_rows_have_the_noise_that_was_asked_for():
    rows = Rows(np.full((5000, 4), 3.0, np.float32), np.zeros((5000, 1), np.float32))
    for size, relative in ((0.4, 0.0), (0.0, 0.1), (0.4, 0.1)):
        recipe = replace(SMALL, input_noise=size, relative_noise=relative, batch_size=5000)
        run = begun(recipe, rows)
        noise = run._blur(rows.X, 7) - rows.X
        assert noise.std() == pytest.approx(np.hypot(size, 3 * relative), rel=0.03)
        assert abs(noise.mean()) < 0.01
    assert begun(SMALL)._blur(rows.X, 7) is rows.X


def test_a_run_is_ended_by_its_epochs_or_by_a_callback():
    run = begun(SMALL)
    assert not run.ended
    assert run.advance(3).result.n_epochs == 3 and not run.ended
    assert run.advance().ended
    stopped = any_descent(SMALL).begin(plain_rows(100), SMALL, callbacks=(lambda *_: True,))
    assert isinstance(stopped, Run) and stopped.advance().ended
