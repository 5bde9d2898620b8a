"""Losses by name, in NumPy and compiled, and losses of one's own."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.learn._losses import LOSSES, loss_gradient
from dgtrees.learn.losses import LOSS_NAMES, differentiated, gradient_of_rows, loss_of_rows

ROWS = 23


def some_rows(name, outputs=3, spread=2.0, seed=0):
    rng = np.random.default_rng(seed)
    prediction = spread * rng.normal(size=(ROWS, outputs))
    if name == "cross_entropy":
        return prediction, rng.integers(outputs, size=ROWS)
    if name == "shares":
        return prediction, rng.dirichlet(np.ones(outputs), size=ROWS)
    return prediction, rng.normal(size=(ROWS, outputs))


def test_both_tables_know_the_same_losses():
    assert set(LOSSES) == set(LOSS_NAMES)


# By name, in NumPy


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_gradients_are_those_of_the_losses(name, smoothing):
    prediction, target = some_rows(name)
    gradient = gradient_of_rows(name, prediction, target, smoothing)
    step = 1e-6
    for k in range(prediction.shape[1]):
        moved = np.zeros_like(prediction)
        moved[:, k] = step
        up, down = (
            loss_of_rows(name, prediction + sign * moved, target, smoothing) for sign in (1, -1)
        )
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2 * step), atol=1e-7)


def test_a_few_losses_by_hand():
    prediction, target = np.array([[3.0, 0.5]]), np.array([[0.5, 0.0]])
    assert loss_of_rows("squared", prediction, target) == pytest.approx([(6.25 + 0.25) / 2])
    assert loss_of_rows("absolute", prediction, target) == pytest.approx([1.5])
    assert loss_of_rows("huber", prediction, target) == pytest.approx([(2.0 + 0.125) / 2])
    even = np.zeros((1, 4))
    assert loss_of_rows("cross_entropy", even, np.array([2])) == pytest.approx([np.log(4)])


def test_smoothed_labels_are_shares_of_all_classes():
    prediction, target = some_rows("cross_entropy")
    smoothed = loss_of_rows("cross_entropy", prediction, target, 0.3)
    each = [loss_of_rows("cross_entropy", prediction, np.full(ROWS, k)) for k in range(3)]
    plain = loss_of_rows("cross_entropy", prediction, target)
    np.testing.assert_allclose(smoothed, 0.7 * plain + 0.3 * np.mean(each, axis=0))


def test_shares_of_one_class_are_that_class():
    prediction, classes = some_rows("cross_entropy")
    shares = np.eye(3)[classes]
    for measure in (loss_of_rows, gradient_of_rows):
        np.testing.assert_allclose(
            measure("shares", prediction, shares),
            measure("cross_entropy", prediction, classes),
            atol=1e-12,
        )


# The same, compiled


def compiled(name, prediction, target, weights, smoothing=0.0, first=0, rows=ROWS, batch=ROWS):
    K = prediction.shape[1]
    outputs = prediction.astype(np.float32).reshape(-1)
    gradient = np.full(outputs.size, np.nan, np.float32)
    classes, values = np.zeros(ROWS, np.int64), np.zeros(outputs.size, np.float32)
    if name == "cross_entropy":
        classes = target
    else:
        values = target.astype(np.float32).reshape(-1)
    told = classes, values, weights.astype(np.float32), batch, smoothing, gradient
    total = loss_gradient(LOSSES[name], outputs, first, rows, K, *told)
    return total, gradient.reshape(-1, K)


@pytest.mark.parametrize("name", LOSS_NAMES)
@given(
    seed=st.integers(0, 2**32 - 1),
    outputs=st.integers(1, 5),
    spread=st.sampled_from([0.1, 2.0, 40.0]),
    smoothing=st.sampled_from([0.0, 0.1, 0.9]),
)
def test_the_compiled_losses_are_the_same(name, seed, outputs, spread, smoothing):
    prediction, target = some_rows(name, outputs, spread, seed)
    prediction = prediction.astype(np.float32).astype(float)
    weights = np.random.default_rng(seed).uniform(0, 3, ROWS)
    smoothing = smoothing if name == "cross_entropy" else 0.0
    total, gradient = compiled(name, prediction, target, weights, smoothing)
    losses = loss_of_rows(name, prediction, target, smoothing)
    assert total == pytest.approx((weights * losses).sum(), rel=1e-5, abs=1e-5)
    wanted = gradient_of_rows(name, prediction, target, smoothing) * weights[:, None] / ROWS
    np.testing.assert_allclose(gradient, wanted, atol=1e-6 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_a_block_of_rows_is_its_own(name):
    prediction, target = some_rows(name)
    whole = compiled(name, prediction, target, np.ones(ROWS))
    blocks = [compiled(name, prediction, target, np.ones(ROWS), 0, *b) for b in ((0, 10), (10, 13))]
    assert whole[0] == pytest.approx(sum(total for total, _ in blocks))
    for (_, gradient), rows in zip(blocks, (slice(0, 10), slice(10, ROWS)), strict=True):
        assert np.array_equal(gradient[rows], whole[1][rows])
        assert np.isnan(np.delete(gradient, np.arange(ROWS)[rows], axis=0)).all()


def test_small_probabilities_are_right_relative_to_their_size():
    """AdamW makes full steps of small gradients: those of unlikely classes are to be exact."""
    apart = np.linspace(0, 60, ROWS)
    prediction = np.stack([np.zeros(ROWS), -apart], axis=1).astype(np.float32)
    _, gradient = compiled("cross_entropy", prediction, np.zeros(ROWS, int), np.ones(ROWS))
    wanted = 1 / (1 + np.exp(-prediction[:, 1].astype(float))) / ROWS
    np.testing.assert_allclose(gradient[:, 1], wanted, rtol=1e-5)


def test_far_apart_outputs_overflow_nothing():
    prediction = np.tile([1e4, -1e4, 0.0], (ROWS, 1))
    for k, wanted in ((0, 0.0), (1, 2e4), (2, 1e4)):
        total, gradient = compiled("cross_entropy", prediction, np.full(ROWS, k), np.ones(ROWS))
        assert total == pytest.approx(ROWS * wanted)
        np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-7)


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("output", [0, 1, 2])
def test_an_output_that_is_no_number_shows_in_the_loss(name, bad, output):
    prediction, target = some_rows(name)
    prediction[4, output] = bad
    assert not np.isfinite(compiled(name, prediction, target, np.ones(ROWS))[0])


# Of one's own


def prediction_and_target():
    rng = np.random.default_rng(1)
    return rng.normal(size=(2, 6, 3)).astype(np.float32)


def in_numpy(prediction, target):
    error = prediction - target
    return np.square(error).mean(axis=1), 2 * error / 3


def in_torch(prediction, target):
    return (prediction - target).square().mean(dim=1)


OWN = {
    "arrays": in_numpy,
    "arrays, (rows, outputs)": lambda p, t: (np.square(p - t), 2 * (p - t) / 3),
    "tensors": in_torch,
    "tensors, (rows, outputs)": lambda p, t: (p - t).square(),
    "operators of both": lambda p, t: (p - t) ** 2,
}


@pytest.mark.parametrize("form", OWN)
def test_every_form_gives_losses_and_their_gradient(form):
    if "arrays" not in form:
        pytest.importorskip("torch")
    prediction, target = prediction_and_target()
    loss = differentiated(OWN[form])
    for _ in range(2):  # the form is found out once
        losses, gradient = loss(prediction.copy(), target)
        np.testing.assert_allclose(losses, loss_of_rows("squared", prediction, target), rtol=1e-5)
        wanted = gradient_of_rows("squared", prediction, target)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-5)
        assert gradient.shape == prediction.shape


def test_one_tensor_for_the_batch():
    pytest.importorskip("torch")
    prediction, target = prediction_and_target()
    loss, gradient = differentiated(lambda p, t: in_torch(p, t).mean())(prediction.copy(), target)
    assert np.ndim(loss) == 0
    assert loss == pytest.approx(loss_of_rows("squared", prediction, target).mean(), rel=1e-5)
    np.testing.assert_allclose(gradient, gradient_of_rows("squared", prediction, target), rtol=1e-5)


def test_classes_reach_a_loss_of_tensors_as_torch_takes_them():
    functional = pytest.importorskip("torch.nn.functional")
    prediction, target = prediction_and_target()[0], np.array([0, 2, 1, 1, 0, 2])

    def loss(p, t):
        return functional.cross_entropy(p, t, reduction="none")

    losses, gradient = differentiated(loss)(prediction.copy(), target)
    wanted = loss_of_rows("cross_entropy", prediction, target)
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    wanted = gradient_of_rows("cross_entropy", prediction, target)
    np.testing.assert_allclose(gradient, wanted, atol=1e-6)


def test_a_loss_of_tensors_works_where_gradients_are_switched_off():
    torch = pytest.importorskip("torch")
    prediction, target = prediction_and_target()
    with torch.no_grad():
        _, gradient = differentiated(in_torch)(prediction.copy(), target)
    assert (gradient != 0).all()


def fails(loss, message):
    with pytest.raises(ValueError, match=message) as found:
        differentiated(loss)(*prediction_and_target())
    assert "\n" not in str(found.value)


def test_arrays_of_wrong_shapes_are_refused():
    rule = r"a loss must return one number per row, \(6,\), got shape "
    fails(lambda p, t: (np.zeros(5), p), rule + r"\(5,\)")
    fails(lambda p, t: (np.float32(1), p), rule + r"\(\)")
    fails(lambda p, t: (np.zeros((6, 3, 1)), p), rule + r"\(6, 3, 1\)")
    shape = r"must have the shape of the predictions, \(6, 3\), got "
    fails(lambda p, t: (np.zeros(6), np.zeros(6)), shape + r"\(6,\)")
    fails(lambda p, t: (np.zeros(6), p.T), shape + r"\(3, 6\)")


def test_tensors_of_wrong_shapes_are_refused():
    pytest.importorskip("torch")
    rule = r"a loss must return one number per row, \(6,\), got shape "
    fails(lambda p, t: (p - t).square().mean(dim=0), rule + r"\(3,\)")
    fails(lambda p, t: (p - t).square()[:, :, None], rule + r"\(6, 3, 1\)")


@pytest.mark.parametrize(
    ("found", "kind"), [(1.5, "float"), (None, "NoneType"), ([1.0] * 6, "list"), ((1,), "tuple")]
)
def test_anything_else_is_refused(found, kind):
    pytest.importorskip("torch")
    rule = r"a loss must return \(losses, gradient\) as arrays, or losses as a torch tensor"
    fails(lambda p, t: found, f"{rule}, got {kind}")


@pytest.fixture
def imports(monkeypatch):
    """Names of what is imported; torch cannot be."""
    names, ordinary = [], builtins.__import__

    def watched(name, *args, **options):
        names.append(name)
        if name.split(".")[0] == "torch":
            raise ImportError("there is no torch here")
        return ordinary(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", watched)
    return names


def test_arrays_need_no_torch(imports):
    differentiated(in_numpy)(*prediction_and_target())
    assert "torch" not in imports


@pytest.mark.usefixtures("imports")
def test_tensors_without_torch_are_one_line_and_the_next_step():
    fails(in_torch, r'which needs torch: .* pip install "dgtrees\[torch\]"')
    fails(OWN["operators of both"], "which needs torch: return")


@pytest.mark.usefixtures("imports")
def test_without_torch_a_mistake_in_a_loss_of_arrays_is_still_seen():
    def mistaken(prediction, target):
        return np.square(prediction - target[:, :2]).mean(axis=1), prediction

    with pytest.raises(ValueError, match="needs torch") as found:
        differentiated(mistaken)(*prediction_and_target())
    assert "could not be broadcast" in str(found.value.__cause__)


def test_with_torch_a_mistake_in_a_loss_of_arrays_is_still_seen():
    pytest.importorskip("torch")

    def mistaken(prediction, target):
        return np.square(prediction - target[:, :2]).mean(axis=1), prediction

    with pytest.raises(Exception) as found:  # noqa: PT011 (whatever NumPy says of tensors)
        differentiated(mistaken)(*prediction_and_target())
    assert "could not be broadcast" in str(found.value.__cause__)
