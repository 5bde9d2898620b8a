"""The C of exported models: pieces of code, in which @ stands for the model's name.

`c` chooses the pieces that a model needs and puts its numbers before them. C99, no allocation, no
library but, where a piece says so, the mathematical one.
"""

from __future__ import annotations

__all__ = [
    "ADD_BASE",
    "ADD_CONSTANT",
    "ADD_LINEAR",
    "ADD_LINEAR_BASE",
    "ADD_MIXED",
    "APPLY_FOREST",
    "APPLY_TREE",
    "AS_THEY_ARE",
    "BEST",
    "CATEGORY",
    "CLIP",
    "DIVIDE",
    "DOT",
    "FILL",
    "FLAGS",
    "LABEL",
    "LABEL_OF_LEAF",
    "MAIN",
    "MANY_ROWS",
    "OUTPUTS",
    "PREDICT",
    "SHARES_BY_LEAF",
    "SOFTMAX",
    "VOTE",
]

FLAGS = """\
/* Sums must be added as they are written: no fused multiply-adds, no reordering. */
#if defined(__FAST_MATH__)
#error "compile without -ffast-math: it reorders sums and ignores missing values"
#endif
#if FLT_EVAL_METHOD == 2
#error "compile for a processor with double arithmetic (GCC on x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off") /* GCC does not know the standard's pragma */
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""

DOT = """\
/* Eight running sums, folded by halves, then the remaining features one by one. */
static double @_dot(const double *w, const double *x)
{
    double sum[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    int i, j;
    for (i = 0; i + 8 <= @_WIDTH; i += 8)
        for (j = 0; j < 8; j++)
            sum[j] += w[i + j] * x[i + j];
    for (j = 0; j < 4; j++)
        sum[j] += sum[j + 4];
    sum[0] += sum[2];
    sum[1] += sum[3];
    sum[0] += sum[1];
    for (; i < @_WIDTH; i++)
        sum[0] += w[i] * x[i];
    return sum[0];
}

/* From a node to a leaf: right where w.x + b >= 0. */
static int @_route(int node, const double *x)
{
    while (node >= 0)
        node = @_child[node][@_dot(@_weights[node], x) + @_bias[node] >= 0.0];
    return ~node;
}
"""

AS_THEY_ARE = """\
static const double *@_encoded(const double *x, double *room)
{
    (void)room;
    return x;
}
"""

FILL = """\
/* Missing values become the column's median; a row without any is used as it is. */
static const double *@_encoded(const double *x, double *room)
{
    int i, missing = 0;
    for (i = 0; i < @_COLUMNS; i++)
        missing |= x[i] != x[i];
    if (!missing)
        return x;
    for (i = 0; i < @_COLUMNS; i++)
        room[i] = x[i] != x[i] ? @_median[i] : x[i];
    return room;
}
"""

CATEGORY = """\
int @_category(int column, const char *text)
{
    int i, first = 0;
    if (column < 0 || column >= @_COLUMNS)
        return -1;
    for (i = 0; i < column; i++)
        first += @_categories[i] < 0 ? 0 : @_categories[i];
    for (i = 0; i < @_categories[column]; i++)
        if (strcmp(text, @_category_names[first + i]) == 0)
            return i;
    return -1;
}
"""

BEST = """\
/* The largest of the outputs, the first of equal ones. */
static int @_best(const double *out)
{
    int k, best = 0;
    for (k = 1; k < @_OUTPUTS; k++)
        if (out[k] > out[best])
            best = k;
    return best;
}
"""

SOFTMAX = """\
static void @_softmax(double *out)
{
    double largest = out[@_best(out)], total = 0.0;
    int k;
    for (k = 0; k < @_OUTPUTS; k++)
        total += out[k] = exp(out[k] - largest);
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] /= total;
}
"""

SHARPEN = """\
/* Probabilities from shares: their powers, divided by the sum of these. */
static void @_sharpen(double *out)
{
    double largest = out[@_best(out)], total = 0.0;
    int k;
    for (k = 0; k < @_OUTPUTS; k++)
        total += out[k] = exp(@_exponent[0] * log(out[k] / largest));
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] /= total;
}
"""

ADD_CONSTANT = """\
static void @_add(int leaf, const double *x, double *out)
{
    int k;
    (void)x;
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] += @_values[leaf][k];
}
"""

ADD_LINEAR = """\
static void @_add(int leaf, const double *x, double *out)
{
    double said[@_OUTPUTS];
    int k;
    for (k = 0; k < @_OUTPUTS; k++)
        said[k] = @_values[leaf][k] + @_dot(@_slopes[leaf][k], x);
$said    for (k = 0; k < @_OUTPUTS; k++)
        out[k] += said[k];
}
"""

ADD_MIXED = """\
static void @_add(int leaf, const double *x, double *out)
{
    int k, at = @_slope_of[leaf];
    for (k = 0; k < @_OUTPUTS; k++) {
        double said = @_values[leaf][k];
        if (at >= 0)
            said += @_dot(@_slopes[at][k], x);
        out[k] += said;
    }
}
"""

CLIP = """\
    for (k = 0; k < @_OUTPUTS; k++) {
        said[k] = said[k] < @_low[k] ? @_low[k] : said[k];
        said[k] = said[k] > @_high[k] ? @_high[k] : said[k];
    }
"""

VOTE = """\
    {
        int best = @_best(said);
        for (k = 0; k < @_OUTPUTS; k++)
            said[k] = k == best;
    }
"""

OUTPUTS = """\
/* The mean or the sum over all trees, added in their order, of an encoded row. */
static void @_outputs(const double *x, double *out)
{
    int k, tree;
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] = 0.0;
    for (tree = 0; tree < @_TREES; tree++)
        @_add(@_route(@_root[tree], x), x, out);
$end}
"""

DIVIDE = """\
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] /= @_TREES;
"""

ADD_BASE = """\
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] += @_base[k];
"""

ADD_LINEAR_BASE = """\
    for (k = 0; k < @_OUTPUTS; k++)
        out[k] += @_base[k] + @_dot(@_base_slopes[k], x);
"""

APPLY_TREE = """\
int @_apply(const double *x)
{
    double room[@_WIDTH];
    return @_route(@_root[0], @_encoded(x, room));
}
"""

APPLY_FOREST = """\
void @_apply(const double *x, int *leaves)
{
    double room[@_WIDTH];
    const double *row = @_encoded(x, room);
    int tree;
    for (tree = 0; tree < @_TREES; tree++)
        leaves[tree] = @_route(@_root[tree], row) - @_first_leaf[tree];
}
"""

PREDICT = """\
void @_predict(const double *x, double *out)
{
    double room[@_WIDTH];
    @_outputs(@_encoded(x, room), out);
$then}
"""

EXP = """\
    for (int k = 0; k < @_OUTPUTS; k++)
        out[k] = exp(out[k]);
"""

SHARES_BY_LEAF = """\
void @_predict(const double *x, double *out)
{
    memcpy(out, @_shares[@_apply(x)], sizeof @_shares[0]);
}
"""

LABEL = """\
int @_label(const double *x)
{
    double room[@_WIDTH], out[@_OUTPUTS];
    @_outputs(@_encoded(x, room), out);
$weigh    return @_best(out);
}
"""

LABEL_OF_LEAF = """\
int @_label(const double *x)
{
    return @_apply(x);
}
"""

MANY_ROWS = """\
void @_apply_rows(const double *X, size_t rows, int *leaves)
{
    size_t i;
    for (i = 0; i < rows; i++)
$apply}

void @_predict_rows(const double *X, size_t rows, double *out)
{
    size_t i;
    for (i = 0; i < rows; i++)
        @_predict(X + i * @_COLUMNS, out + i * @_OUTPUTS);
}
"""

MAIN = """\
#ifdef @_MAIN
#include <stdio.h>
#include <stdlib.h>

static int @_is_gap(const char *text)
{
    static const char *const gaps[] = {"", "?", "NA", "nan"};
    size_t i;
    for (i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (strcmp(text, gaps[i]) == 0)
            return 1;
    return 0;
}

/* Reads rows of cells separated by commas, without quotes, and prints for each: its leaf$what
   Missing values are empty cells, ?, NA or nan, where they are no category that the model knows.
   Spaces around numbers are passed over, and those around categories that the model does not know
   with them. */
static char *@_trimmed(char *text)
{
    char *end = text + strlen(text);
    while (*text == ' ')
        text++;
    while (end > text && end[-1] == ' ')
        *--end = 0;
    return text;
}

static int @_cell(int column, char *text, double *value)
{
    char *end = text + strlen(text);
    while (end > text && strchr("\\r\\n", end[-1]))
        *--end = 0;
$category    (void)column;
    text = @_trimmed(text);
    *value = strtod(@_is_gap(text) ? "nan" : text, &end);
    return *end == 0;
}

int main(void)
{
    static char line[64 * @_COLUMNS + 4096];
    static double x[@_COLUMNS], out[@_OUTPUTS];
    long number;
    for (number = 1; fgets(line, sizeof line, stdin); number++) {
        char *cell = line;
        int i, good = 1;
        for (i = 0; good && i < @_COLUMNS; i++) {
            char *comma = strchr(cell, ',');
            int last = i == @_COLUMNS - 1;
            good = last == (comma == NULL);
            if (comma)
                *comma = 0;
            good = good && @_cell(i, cell, &x[i]);
            cell = comma ? comma + 1 : cell;
        }
        if (!good) {
            fprintf(stderr, "line %ld must have %d cells that the model knows how to read\\n",
                    number, @_COLUMNS);
            return 2;
        }
$print        @_predict(x, out);
        for (i = 0; i < @_OUTPUTS; i++)
            printf(",%.17g", out[i]);
        printf("\\n");
    }
    return 0;
}
#endif
"""
