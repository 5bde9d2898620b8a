"""TrainableTree against the dense reference: outputs, gradients, hardening."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference_torch
from dgtrees import contributions, explain, export_text, load, plot_tree
from dgtrees.errors import ModelFileError
from dgtrees.learn import widths
from dgtrees.learn.recipe import RECIPES
from dgtrees.model import file
from dgtrees.nn import QUANTIZERS, TrainableTree
from dgtrees.nn.loop import make_layer

PLAIN = {"n_layers": 1, "quantizer": "sign", "softmax_scale": 1.0}
seeds = st.integers(0, 2**31 - 1)


def make(seed, **options):
    torch.manual_seed(seed)
    tree = TrainableTree(
        **({"in_features": 5, "out_features": 3, "max_depth": 3} | PLAIN | options)
    )
    with torch.no_grad():  # biases and slopes start at zero: move them
        for parameter in tree.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return tree.double()


def gradients(tree, output, target):
    tree.zero_grad()
    torch.nn.functional.mse_loss(output, target).backward()
    return [p.grad.clone() for p in tree.parameters()]


@given(
    seed=seeds,
    height=st.integers(1, 5),
    n_layers=st.integers(1, 3),
    leaf=st.sampled_from(["constant", "linear"]),
    path=st.sampled_from(["sum", "product"]),
    scale=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_output_and_every_gradient_are_the_references(seed, height, n_layers, leaf, path, scale):
    scale = 1.0 if path == "product" else scale
    tree = make(
        seed,
        max_depth=height,
        n_layers=n_layers,
        hidden=7,
        leaf=leaf,
        path=path,
        softmax_scale=scale,
    )
    x, target = torch.randn(20, 5).double(), torch.randn(20, 3).double()
    leaves = tree.leaf_values
    if leaf == "linear":
        leaves = leaves + torch.einsum("lkd,bd->blk", tree.leaf_weights, x)
    expected = reference_torch.tree_output(tree.activations(x), leaves, scale, path)
    output = tree(x)
    torch.testing.assert_close(output, expected)
    wanted = gradients(tree, expected, target)
    for mine, other in zip(gradients(tree, output, target), wanted, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("n_layers", [1, 3])
def test_the_tree_predicts_as_the_layer_does(leaf, quantizer, n_layers):
    tree = make(1, n_layers=n_layers, hidden=6, quantizer=quantizer, leaf=leaf, max_depth=5).eval()
    x = torch.randn(300, 5).double()
    np.testing.assert_allclose(tree(x).detach().numpy(), tree.to_tree().predict(x.numpy()))


@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_tree_of_height_0_is_its_leaf(n_layers, quantizer):
    tree = TrainableTree(3, 2, 0, n_layers=n_layers, quantizer=quantizer)
    x = torch.randn(4, 3)
    tree(x).sum().backward()
    assert tree.leaf_values.grad.tolist() == [[4.0, 4.0]]
    assert tree.to_tree().predict(x.numpy()).shape == (4, 2)


def test_as_a_layer_it_passes_gradients_to_its_input():
    tree = TrainableTree(4, 2, 3)
    x = torch.randn(6, 4, requires_grad=True)
    tree(x).square().sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


@pytest.mark.parametrize("height", [2, 4, 6, 8, 10])
def test_hidden_widths_of_the_papers_table(height):
    width = {2: 240, 4: 600, 6: 1008, 8: 1530, 10: 2046}[height]
    assert widths.hidden_widths(height, 3) == (width, width)
    assert widths.hidden_widths(height, 1) == ()


def test_hidden_widths_between_and_beyond_the_table():
    assert widths.hidden_widths(3, 3) == (600, 600)
    assert widths.hidden_widths(12, 2) == (2046,)
    assert widths.hidden_widths(3, 3, (5, 6)) == (5, 6)
    for wrong in ((5,), -3, 0, 2.5, (5, 0), "wide"):
        with pytest.raises(ValueError, match="n_layers - 1 = 2 of them"):
            widths.hidden_widths(3, 3, wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth must be at least 0, got -1"),
        ({"path": "mean"}, "path must be one of sum, product, got 'mean'"),
        ({"leaf": "tree"}, "leaf must be one of constant, linear, got 'tree'"),
        ({"quantizer": "tanh"}, "quantizer must be one of"),
        ({"n_layers": 0}, "n_layers must be at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TrainableTree(**({"in_features": 2, "out_features": 1, "max_depth": 2} | options))


def test_the_defaults_are_those_of_the_estimators():
    plain = TrainableTree(5, 3, 4)
    recipe = make_layer(5, 3, 4, "constant", RECIPES["default"]["classification"])
    shapes = [[p.shape for p in tree.parameters()] for tree in (plain, recipe)]
    assert shapes[0] == shapes[1] and plain.path == recipe.path
    for fraction in (0.0, 0.4, 1.0):
        plain.set_progress(fraction)
        recipe.set_progress(fraction)
        assert vars(plain.quantizer) == vars(recipe.quantizer)
    assert plain.quantizer.steepness == pytest.approx(9.0)


@pytest.mark.parametrize("quantizer", sorted(QUANTIZERS))
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("shape", [(), (0,), (6,), (2, 3), (2, 0, 3)])
def test_inputs_may_have_any_number_of_axes(shape, leaf, quantizer):
    tree = TrainableTree(5, 3, 2, leaf=leaf, quantizer=quantizer)
    x = torch.randn(*shape, 5, requires_grad=True)
    output = tree(x)
    assert output.shape == (*shape, 3)
    output.sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad is None or p.grad.isfinite().all() for p in tree.parameters())
    assert all(p.isfinite().all() for p in tree.parameters())
    with torch.no_grad():
        torch.testing.assert_close(tree.eval()(x).reshape(-1, 3), tree(x.reshape(-1, 5)))


def test_inputs_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., 5\), got \(7, 4\)"):
        TrainableTree(5, 3, 2)(torch.randn(7, 4))


# The finished model


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_biases_of_all_layers_and_outputs_are_multiplied_out(leaf):
    sizes = {"n_layers": 3, "hidden": (7, 6), "leaf": leaf}
    tree = make(3, **sizes, layer_biases=True, output_bias=True)
    assert all(linear.bias is not None for linear in tree.linear_layers())
    x = torch.randn(40, 5, dtype=torch.float64)
    hard = tree.to_tree()
    np.testing.assert_allclose(tree(x).detach().numpy(), hard.predict(x.numpy()))
    tree.zero_grad()
    tree(x).sum().backward()
    assert tree.output_bias.grad.item() == pytest.approx(40 * 3)
    assert make(3, **sizes).linear_layers()[1].bias is None


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("classes", [None, ["wet", "dry", "icy"], [3, 1, 2]])
@pytest.mark.parametrize("names", [None, ["a", "b", "c", "d", "e"]])
def test_a_hardened_layer_is_a_model_that_is_saved_explained_and_drawn(
    leaf, classes, names, tmp_path
):
    tree = make(2, leaf=leaf, n_layers=3, hidden=6, quantizer="margin").eval()
    x = torch.randn(100, 5).double()
    X, output = x.numpy(), tree(x).detach().numpy()
    model = tree.harden(classes=classes, feature_names=names)
    model.save(tmp_path / "tree.dgt")
    again = load(tmp_path / "tree.dgt")
    for one in (model, again):
        if classes is None:
            np.testing.assert_allclose(one.predict(X), output)
        else:
            assert one.predict(X).tolist() == [classes[k] for k in output.argmax(axis=1)]
            assert one.answer.labels.tolist() == sorted(classes)
        assert one.names == (names or ["x0", "x1", "x2", "x3", "x4"])
        assert one.kind == "TrainableTree"
    assert str(explain(again, X[0], background=X)) == str(explain(model, X[0], background=X))
    assert (names or ["x0"])[0] in export_text(again)
    by_column = contributions(again, X[:3], background=X)
    total = by_column.base_values + by_column.values.sum(axis=1)
    if classes is None:
        np.testing.assert_allclose(total, output[:3])
    figure = plot_tree(again).figure
    assert any(text.get_gid() == "leaf 0" for text in figure.axes[0].texts)


def test_a_model_of_one_output_answers_with_numbers(tmp_path):
    tree = make(3, out_features=1)
    x = torch.randn(9, 5).double()
    tree.harden().save(tmp_path / "tree.dgt")
    found = load(tmp_path / "tree.dgt").predict(x.numpy())
    np.testing.assert_allclose(found, tree(x).detach().numpy()[:, 0])


def test_named_inputs_are_found_in_a_frame():
    import pandas as pd

    model = make(4).harden(feature_names=["a", "b", "c", "d", "e"])
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 5)), columns=list("abcde"))
    assert np.array_equal(model.predict(frame[list("edcba")]), model.predict(frame.to_numpy()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ["a", "b"]}, "classes must be as many as outputs, 3, got 2"),
        ({"classes": ["a", "b", "a"]}, "different classes must be as many as outputs, 3, got 2"),
        ({"feature_names": ["a"]}, "feature_names must be as many as inputs, 5, got 1"),
    ],
)
def test_names_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(0).harden(**options)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_features", 4),
        ("feature_names", ["a"]),
        ("single_output", True),
        ("outputs", 0),
        ("made_by", None),
        ("classes", ["a", "b", "c"]),
    ],
)
def test_a_file_whose_fields_do_not_fit_is_refused(field, value, tmp_path):
    make(0).harden().save(tmp_path / "tree.dgt")
    header, arrays = file.read(tmp_path / "tree.dgt")
    own = {"library_version", "arrays", "array_bytes"}
    changed = {name: header[name] for name in header if name not in own} | {field: value}
    file.write(tmp_path / "changed.dgt", changed, arrays)
    with pytest.raises(ModelFileError, match="not a valid Model"):
        load(tmp_path / "changed.dgt")
