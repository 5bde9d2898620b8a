"""Models as C, compiled with the system's compiler and all its warnings."""

import subprocess

import numpy as np
import pandas as pd
import pytest

from dgtrees import DGTClassifier, DGTRegressor, ObliqueForest, ObliqueTree, export_c
from dgtrees.errors import StateError
from dgtrees.model.c import c_name
from exported import COMPILER, STRICT, CModel, boundary_rows, compile_c, random_tree

compiled = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def program(model, folder, name):
    """The example main of a model, as a function from lines to lines of cells."""
    source = folder / f"{name}.c"
    export_c(model, source)
    compile_c(source, folder / name, *STRICT, f"-D{name}_MAIN")

    def run(lines, code=0):
        done = subprocess.run(
            [folder / name], input="\n".join(lines) + "\n", text=True, capture_output=True
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else [line.split(",") for line in done.stdout.splitlines()]

    return run


@compiled
@pytest.mark.parametrize("flags", [STRICT, ("-O3", "-march=native"), ("-O0",)])
def test_leaves_and_values_are_the_same_whatever_the_compiler_does(flags, tmp_path):
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 37, 5, outputs=2, linear=True)
    X = rng.normal(size=(2000, 37))
    rows = np.concatenate([X, boundary_rows(tree, X, 500, rng)])
    model = CModel(tree, tmp_path, flags)
    assert np.array_equal(model.apply(rows), tree.apply(rows))
    assert np.array_equal(model.predict(rows), tree.predict(rows))


@compiled
@pytest.mark.parametrize("linear", [False, True])
def test_a_sum_has_its_base_and_bounds(linear, tmp_path):
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, 10, height, 3) for height in (3, 0, 4)]
    base = random_tree(rng, 10, 0, 3, linear)
    forest = ObliqueForest(trees, "sum", ([-0.5] * 3, [0.5] * 3), base)
    X = rng.normal(size=(1000, 10))
    answers = CModel(forest, tmp_path).predict(X)
    assert np.array_equal(answers, forest.predict(X))
    assert np.array_equal(forest.predict_row(X[0]), answers[0])
    assert answers.max() == 0.5 and len(np.unique(answers)) > 20


@compiled
@pytest.mark.parametrize("combine", ["mean", "vote", "softmax"])
@pytest.mark.parametrize("linear", [False, True])
def test_forests_are_added_in_order(combine, linear, tmp_path):
    rng = np.random.default_rng(2)
    trees = [random_tree(rng, 10, height, 3, linear) for height in (3, 0, 4)]
    bounds = ([-0.5] * 3, [0.5] * 3) if combine == "mean" else None
    forest = ObliqueForest(trees, combine, bounds)
    X = rng.normal(size=(1000, 10))
    model = CModel(forest, tmp_path)
    assert np.array_equal(model.apply(X), forest.apply(X))
    tolerance = 1e-15 if linear and combine == "softmax" else 0.0  # C has its own exp
    assert np.abs(model.predict(X) - forest.predict(X)).max() <= tolerance


@compiled
def test_the_example_reads_a_table_with_categories_and_gaps(tmp_path):
    names = ["Oslo", 'New "York"', "what??/", "São@Paulo", "*/"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"town": rng.choice(names, 500), "age \\": rng.normal(40, 9, 500).round(2)}
    )
    frame.loc[::7, "age \\"] = np.nan
    frame.loc[::11, "town"] = None
    target = np.where(frame["town"].isin(names[:2]), "north", "south %d")
    model = DGTClassifier(3, max_epochs=3, random_state=0).fit(frame, target)
    new = frame.copy()
    new.loc[::13, "town"] = "never seen"
    lines = new.astype(object).where(new.notna(), "").astype(str).agg(",".join, axis=1)
    answers = program(model, tmp_path, "towns")(lines)
    assert [int(cells[0]) for cells in answers] == model.apply(new).tolist()
    assert [cells[1] for cells in answers] == model.predict(new).tolist()
    shares = np.array([cells[2:] for cells in answers], dtype=float)
    assert np.array_equal(shares, model.predict_proba(new))


@compiled
def test_categories_are_read_with_their_spaces_and_before_the_words_for_missing(tmp_path):
    names = [" sp", "sp", "sp ", "NA", "US", None]
    rng = np.random.default_rng(0)
    number = rng.integers(6, size=300)
    towns = np.array([*names, "US "], dtype=object)[[*number, 5, 6]]
    new = pd.DataFrame({"a*\\": pd.Categorical(towns), "n": rng.normal(size=302).round(2)})
    # Linear leaves: every category has an answer of its own.
    model = DGTRegressor(2, leaf="linear", max_epochs=3, random_state=0)
    model.fit(new[:300], number.astype(float))
    lines = [f"{town or ''}, {n} \r" for town, n in zip(towns, new["n"], strict=True)]
    lines[-2] = f"?{lines[-2]}"
    answers = program(model, tmp_path, "Spaces")(lines)
    assert [int(cells[0]) for cells in answers] == model.apply(new).tolist()
    assert [float(cells[1]) for cells in answers] == model.predict(new).tolist()
    assert len(set(model.predict(new.assign(n=0.0)))) > 5
    assert "#ifndef Spaces_H" in (tmp_path / "Spaces.h").read_text()


@compiled
def test_the_example_refuses_what_it_cannot_read(tmp_path):
    run = program(random_tree(np.random.default_rng(0), 3, 2, 1), tmp_path, "three")
    assert len(run(["1,2,3", " 1 , NA ,2e3", "1,?,"])) == 3
    for bad in ("1,2", "1,2,3,4", "1,two,3"):
        assert "line 2 must have 3 cells" in run(["1,2,3", bad], code=2)


@compiled
def test_two_models_fit_into_one_program(tmp_path):
    rng = np.random.default_rng(0)
    main = "#include <stdio.h>\n"
    for name in ("first", "second"):
        export_c(random_tree(rng, 4, 2, 1), tmp_path / f"{name}.c")
        main += f'#include "{name}.c"\n'
    main += "int main(void) { double x[4] = {0}; return first_apply(x) + second_apply(x) > 6; }\n"
    (tmp_path / "both.c").write_text(main)
    both = compile_c(tmp_path / "both.c", tmp_path / "both", *STRICT)
    assert subprocess.run([both]).returncode == 0


@compiled
def test_fast_math_is_refused_by_the_source_itself(tmp_path):
    export_c(random_tree(np.random.default_rng(0), 4, 2), tmp_path / "tree.c")
    with pytest.raises(AssertionError, match="without -ffast-math"):
        compile_c(tmp_path / "tree.c", tmp_path / "tree.o", "-c", "-ffast-math")


@compiled
def test_a_tree_of_one_leaf(tmp_path):
    tree = ObliqueTree(np.empty((0, 2)), [], [], [], [[0.1, -0.0]])
    model = CModel(tree, tmp_path)
    assert model.apply(np.ones((2, 2))).tolist() == [0, 0]
    assert model.predict(np.ones((1, 2))).tolist() == [[0.1, 0.0]]


def test_linear_leaves_of_classifiers_say_that_exp_may_differ():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = DGTClassifier(2, leaf="linear", max_epochs=1, random_state=0).fit(X, X[:, 0] > 0)
    source, header = export_c(model)
    assert "<math.h>" in source and "last digit" in header and "-lm" in header
    far = X + 300.0  # numbers whose logarithm says nothing else
    source, header = export_c(DGTRegressor(1, max_epochs=1, random_state=0).fit(far, X[:, 0]))
    assert "<math.h>" not in source and "bit for bit" in header


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("model", "model"),
        ("2nd try", "model_2nd_try"),
        ("für-x", "f_r_x"),
        ("int", "int"),  # names begin with it only
        ("_", "model"),
    ],
)
def test_names_become_identifiers(text, name):
    assert c_name(text) == name


def test_bad_names_paths_and_models_are_refused(tmp_path):
    tree = random_tree(np.random.default_rng(0), 2, 1)
    with pytest.raises(ValueError, match=r"got 'a-b': try 'a_b'"):
        export_c(tree, name="a-b")
    with pytest.raises(ValueError, match=r"must end in \.c"):
        export_c(tree, tmp_path / "tree.txt")
    with pytest.raises(ValueError, match="must have a plain name"):
        export_c(tree, tmp_path / 'a"b.c')
    with pytest.raises(StateError, match="call fit"):
        export_c(DGTRegressor())
