"""A model as C: one source file without dependencies, its header, and an example main in it.

Numbers are written with all their digits and added in the order of `tree.dot`, so that leaves
and values are the same as in Python, bit for bit. `c_source` holds the code that numbers go into.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dgtrees.model import c_encoding
from dgtrees.model import c_source as source
from dgtrees.model.c_arrays import array_text, strings, wrapped
from dgtrees.model.model import Model, ModelLike, model_of
from dgtrees.model.text import on_one_line
from dgtrees.tables.encoding import CATEGORY, DATE, UNUSED
from dgtrees.tables.frames import MISSING
from dgtrees.writing import check_target, whole_file

__all__ = ["c_name", "c_texts", "export_c"]

_REMARKS = {DATE: ": seconds since 1970-01-01 00:00", UNUSED: ": not used"}
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


def export_c(
    model: ModelLike, path: str | os.PathLike[str] | None = None, *, name: str | None = None
) -> tuple[str, str]:
    """A fitted model as C99 that allocates nothing and depends on nothing.

    The functions are ``NAME_apply`` (leaf), ``NAME_predict`` (probabilities, scores or values),
    ``NAME_label`` (number of the class, action or cluster) and the same for many rows; the header
    explains them and the columns of a row. With ``-DNAME_MAIN`` the source is a program that reads
    rows from standard input. Only bent columns and probabilities of linear leaves need the
    mathematical library (``-lm``); the latter may differ from Python's in the last digit.

    Parameters
    ----------
    model : fitted estimator, policy or ObliqueTree
    path : path, optional
        Source file to write, ending in .c; the header goes beside it.
    name : str, optional
        What names in C begin with; made from the file's name if not given.

    Returns
    -------
    source, header : str

    Examples
    --------
    >>> from dgtrees import ObliqueTree
    >>> tree = ObliqueTree.complete([[1.0, -1.0]], [0.0], [[10.0], [20.0]])
    >>> source, header = export_c(tree, name="tiny")
    >>> "int tiny_apply(const double *x);" in header
    True
    """
    if path is not None and Path(path).suffix != ".c":
        raise ValueError(f"path must end in .c, got {str(path)!r}: the header goes beside it")
    file = "model" if path is None else Path(path).stem
    name = c_name(file) if name is None else name
    texts = c_texts(model, name, name if path is None else file)
    if path is not None:
        files = Path(path), Path(path).with_suffix(".h")
        for target in files:  # both, or none
            check_target(target)
        for target, text in zip(files, texts, strict=True):
            with whole_file(target, text=True) as stream:
                stream.write(text)
    return texts


def c_texts(model: ModelLike, name: str, file: str) -> tuple[str, str]:
    """Source and header, for files called `file` .c and .h."""
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(
            f"name must be letters, digits and _ as C has it, got {name!r}: try {c_name(name)!r}"
        )
    if not file.isprintable() or set(file) & set('"\\'):
        raise ValueError(f"a file to be included must have a plain name, got {file!r}: rename it")
    parts = model_of(model)
    return _source(parts, name, file), _header(parts, name, file)


def c_name(text: str) -> str:
    """A name that C accepts, as near to `text` as can be."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).lstrip("_") or "model"
    return name if name[0].isalpha() else f"model_{name}"


def _needs_softmax(parts: Model) -> bool:
    if parts.linear and parts.forest.combine == "softmax":
        return True
    return parts.scores_to_shares and not parts.shares_by_leaf


def _needs_exp(parts: Model) -> bool:
    return parts.answer.logarithms or _sharpens(parts) or _needs_softmax(parts)


def _sharpens(parts: Model) -> bool:
    return parts.answer.exponent != 1.0


def _has_categories(parts: Model) -> bool:
    return any(column.kind == CATEGORY for column in parts.columns)


# Header


def _header(parts: Model, name: str, file: str) -> str:
    guard = f"{name}_H"
    trees = len(parts.forest)
    same = "the leaves and values that Python gives, bit for bit."
    if _needs_exp(parts):
        same = (
            "the leaves that\nPython gives, and outputs that may differ in the last digit, "
            "because exp() does.\nLink with -lm."
        )
    elif c_encoding.has_bent(parts.columns):
        same = f"{same} Link with\n-lm, for sqrt()."
    about = [
        f"{file}.h: {parts.kind}, written by dgtrees.",
        "",
        *f"Without -ffast-math you get {same}".split("\n"),
        f"{file}.c turns fused multiply-adds off for GCC, Clang and MSVC; give other compilers the",
        "option that does (such as -ffp-contract=off).",
    ]
    lines = [_comment(about), f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n"]
    lines.append('#ifdef __cplusplus\nextern "C" {\n#endif\n')
    sizes = {"COLUMNS": len(parts.names), "OUTPUTS": parts.forest.n_outputs, "TREES": trees}
    lines += [f"#define {name}_{size} {number}" for size, number in sizes.items()]
    lines += ["", _comment(_column_list(parts, name))]
    if _has_categories(parts):
        lines.append(f"int {name}_category(int column, const char *text);\n")
    if parts.alone:
        lines += ["/* Leaf of a row. */", f"int {name}_apply(const double *x);\n"]
    else:
        lines += [f"/* Leaf of a row in each of {trees} trees. */"]
        lines += [f"void {name}_apply(const double *x, int *leaves);\n"]
    outputs = "1 number" if parts.answer.numbered else f"{name}_OUTPUTS numbers"
    lines.append(f"/* {parts.answer.c_outputs}: {outputs}. */")
    lines.append(f"void {name}_predict(const double *x, double *out);\n")
    if parts.answer.labels is not None:
        lines.append(f"/* Number of the {parts.answer.c_best}; {name}_labels has its name. */")
        lines.append(f"int {name}_label(const double *x);")
        lines.append(f"extern const char *const {name}_labels[{name}_OUTPUTS];\n")
    elif parts.answer.numbered:
        lines.append(f"/* Number of the {parts.answer.c_best}. */")
        lines.append(f"int {name}_label(const double *x);\n")
    each = "" if parts.alone else f" * {name}_TREES"
    lines.append(f"/* The same for many rows, one after the other: rows{each} leaves, rows *")
    lines.append(f"   {name}_OUTPUTS numbers. */")
    lines.append(f"void {name}_apply_rows(const double *X, size_t rows, int *leaves);")
    lines.append(f"void {name}_predict_rows(const double *X, size_t rows, double *out);\n")
    lines.append("#ifdef __cplusplus\n}\n#endif\n\n#endif")
    return "\n".join(lines) + "\n"


def _column_list(parts: Model, name: str) -> list[str]:
    """What the numbers of a row are."""
    if not parts.columns:
        return [f"A row is {name}_COLUMNS numbers, the tree's own features."]
    lines = [f"A row is {name}_COLUMNS numbers, in this order; NaN is a missing value."]
    for number, column in enumerate(parts.columns):
        entry = f"  {number}  {on_one_line(column.name)}"
        if column.kind == CATEGORY:
            named = [f"{k} {on_one_line(text)}" for k, text in enumerate(column.labels)]
            entry += f": {wrapped(named, ' ' * 5, 80)}"
        entry += _REMARKS.get(column.kind, "")
        lines += entry.split("\n")
    if _has_categories(parts):
        lines += [
            "",
            f"A category is the number that {name}_category gives for its text, -1 for a text that",
            "was not seen in training.",
        ]
    return lines


def _comment(lines: Iterable[str]) -> str:
    text = "\n".join(f"   {line}".rstrip() for line in lines)
    # Nothing that a name contains may end the comment, or continue its line. The backslash first:
    # its replacement must not complete one of the other marks.
    for mark, harmless in (("\\", "/"), ("*/", "* /"), ("/*", "/ *"), ("??", "? ?")):
        text = text.replace(mark, harmless)
    return f"/* {text.lstrip()} */"


# Source


def _source(parts: Model, name: str, file: str) -> str:
    code = [f'#include "{file}.h"', "#include <float.h>", "#include <string.h>"]
    roots = c_encoding.has_bent(parts.columns)
    code += ["#include <math.h>"] if roots or _needs_exp(parts) else []
    code += ["", source.FLAGS, f"#define @_WIDTH {parts.forest.n_features}", ""]
    pieces = "\n".join(_functions(parts))
    text = "\n".join([*code, "$numbers", pieces])
    # Numbers and names go in last: no @ of theirs may be taken for the model's name.
    return text.replace("@", name).replace("$numbers", _numbers(parts, name, pieces))


def _functions(parts: Model) -> list[str]:
    columns = parts.columns
    if not columns:
        encode = source.AS_THEY_ARE
    elif c_encoding.does_with_less(columns):
        encode = source.FILL
    else:
        encode = c_encoding.encoder_code(columns)
    code = [source.DOT, encode]
    code += [source.CATEGORY] if _has_categories(parts) else []
    votes = parts.linear and parts.forest.combine == "vote"
    if parts.answer.labels is not None or votes or _needs_softmax(parts):
        code.append(source.BEST)
    code += [source.SOFTMAX] if _needs_softmax(parts) else []
    code += [source.SHARPEN] if _sharpens(parts) else []
    code += [_adding(parts), source.OUTPUTS.replace("$end", _ending(parts))]
    code.append(source.APPLY_TREE if parts.alone else source.APPLY_FOREST)
    if parts.shares_by_leaf:
        code.append(source.SHARES_BY_LEAF)
    else:
        then = "    @_softmax(out);\n" if parts.scores_to_shares else ""
        then = "    @_sharpen(out);\n" if _sharpens(parts) else then
        then = source.EXP if parts.answer.logarithms else then
        code.append(source.PREDICT.replace("$then", then))
    if parts.answer.labels is not None:
        code.append(source.LABEL.replace("$weigh", _weighing(parts)))
    elif parts.answer.numbered:
        code.append(source.LABEL_OF_LEAF)
    row = "X + i * @_COLUMNS"
    apply = f"        leaves[i] = @_apply({row});\n"
    if not parts.alone:
        apply = f"        @_apply({row}, leaves + i * @_TREES);\n"
    code.append(source.MANY_ROWS.replace("$apply", apply))
    return [*code, _main(parts)]


def _weighing(parts: Model) -> str:
    """What class weights do to outputs before the largest is taken."""
    if parts.answer.weighing is None:
        return ""
    sign, _ = parts.answer.weighing
    return f"    for (int k = 0; k < @_OUTPUTS; k++)\n        out[k] {sign}= @_emphasis[k];\n"


def _adding(parts: Model) -> str:
    if not parts.linear:
        return source.ADD_CONSTANT
    if parts.forest.combine == "sum":
        return source.ADD_MIXED
    said = source.CLIP if parts.forest.bounds is not None else ""
    if parts.forest.combine != "mean":
        said = source.VOTE if parts.forest.combine == "vote" else "    @_softmax(said);\n"
    return source.ADD_LINEAR.replace("$said", said)


def _ending(parts: Model) -> str:
    """What makes the sum over trees the answer."""
    forest = parts.forest
    if forest.combine != "sum":
        return source.DIVIDE
    base, added = forest.base, ""
    if base is not None:
        added = source.ADD_LINEAR_BASE if base.linear else source.ADD_BASE
    return added + (source.CLIP.replace("said", "out") if forest.bounds is not None else "")


def _main(parts: Model) -> str:
    category, what = "", "" if parts.alone else " in every tree"
    if _has_categories(parts):
        category = c_encoding.READ_CATEGORY
    if parts.alone:
        show = '        printf("%d", @_apply(x));\n'
    else:
        show = (
            "        {\n            int leaves[@_TREES];\n            @_apply(x, leaves);\n"
            "            for (i = 0; i < @_TREES; i++)\n"
            '                printf(i ? " %d" : "%d", leaves[i]);\n        }\n'
        )
    if parts.answer.labels is not None:
        what += ", its label"
        show += '        printf(",%s", @_labels[@_label(x)]);\n'
    what += " and its outputs."
    text = source.MAIN.replace("$category", category).replace("$print", show)
    return text.replace("$what", what)


def _numbers(parts: Model, name: str, code: str) -> str:
    """The model's arrays, as far as the code speaks of them."""
    forest = parts.forest
    roots, weights, bias, left, right = forest.joined()
    if not len(bias):  # C has no empty arrays
        weights, bias = np.zeros((1, forest.n_features)), np.zeros(1)
        left = right = np.array([~0])
    answers = forest._linear_leaves.values if parts.linear else forest._answers
    arrays: dict[str, Any] = {
        "weights": weights,
        "bias": bias,
        "child": np.stack([left, right], axis=1),
        "root": roots,
        "first_leaf": forest._first_leaf,
        "values": answers,
    }
    if parts.linear:
        leaves = forest._linear_leaves
        arrays["slopes"], arrays["slope_of"] = leaves.slopes, leaves.slope_of
    elif parts.shares_by_leaf:
        arrays["shares"] = parts.leaf_shares
    if forest.base is not None:
        arrays["base"] = forest.base.leaf_values[0]
        slopes = forest.base.leaf_weights
        arrays["base_slopes"] = np.zeros(0) if slopes is None else slopes[0]
    if parts.answer.weighing is not None:
        arrays["emphasis"] = parts.answer.weighing[1]
    if _sharpens(parts):
        arrays["exponent"] = np.array([parts.answer.exponent])
    if forest.bounds is not None:
        arrays["low"], arrays["high"] = forest.bounds
    columns = parts.columns
    arrays["median"] = np.array([column.median for column in columns])
    arrays["width"] = np.array([column.width for column in columns])
    counts = [len(c.labels) if c.kind == CATEGORY else -1 for c in columns]
    arrays["categories"] = np.array(counts)
    arrays["missing"] = np.array(
        [
            column.labels.index(MISSING) if MISSING in column.labels else max(count, 0)
            for column, count in zip(columns, counts, strict=True)
        ]
    )
    if columns:
        arrays |= c_encoding.encoding_arrays(columns)
    text = [
        array_text(f"{name}_{key}", np.asarray(array))
        for key, array in arrays.items()
        if f"@_{key}[" in code
    ]
    if _has_categories(parts):
        names = [category for column in columns for category in column.labels]
        text.append(strings(f"static const char *const {name}_category_names[]", names))
    if parts.answer.labels is not None:
        labels = [str(label) for label in np.asarray(parts.answer.labels).tolist()]
        text.append(strings(f"const char *const {name}_labels[{name}_OUTPUTS]", labels))
    return "\n".join(text)
