"""The twenty data sets of the paper: what they are, where they come from, how they are split.

Facts only. `published` opens the files, `publishers` parses them, `catalog` puts it together.
Counts are those of the paper's appendix "Datasets Description"; where the paper leaves a number
open or contradicts itself, `note` says what is done here. A sha256 is that of the uncompressed
content and stands only where the content was at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgtrees.paper import parsers as publishers
from dgtrees.paper.archives import DataFile, FileSource
from dgtrees.paper.checksums import SHA256
from dgtrees.paper.parsers import Parts

__all__ = ["CATALOG", "DataSet"]


@dataclass(frozen=True)
class DataSet:
    """One data set of the paper.

    Attributes
    ----------
    name, title : str
        The key here, which is also the name of the folder; the paper's name.
    n_features : int
        Columns after encoding.
    rows : tuple of three int
        Rows of the training, validation and test part; 0 where nobody has stated the count.
    split : str
        How the parts are made, in a sentence.
    n_classes : int
        0 for regression.
    shuffles : int
        How many splits the paper averages over: `load(name, shuffle)` takes 0 to shuffles - 1.
    metric : str
        "accuracy", "auc" or "rmse".
    paper_height : int or None
        The height the paper reports, None where it names none.
    publisher, page, licence : str
        Who publishes it, the page that describes it, and the terms as far as they are known.
    files : tuple of DataFile
    parse : callable
    by_hand : str
        For sets that no program may download: how to come by the files.
    note : str
    """

    name: str
    title: str
    n_features: int
    rows: tuple[int, int, int]
    split: str
    metric: str
    paper_height: int | None
    publisher: str
    page: str
    licence: str
    files: tuple[DataFile, ...]
    parse: Callable[[FileSource], Parts]
    n_classes: int = 0
    shuffles: int = 1
    by_hand: str = ""
    note: str = ""

    @property
    def task(self) -> str:
        """ "classification" or "regression"."""
        return "classification" if self.n_classes else "regression"


def _file(name: str, url: str | None = None, **other: Any) -> DataFile:
    return DataFile(name, url, SHA256.get(name), **other)


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_LIBSVM_PAGE = _LIBSVM + ".html"
_LCN = "https://raw.githubusercontent.com/guanghelee/iclr20-lcn/master/data"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_GIVEN = "given"
_CUT_TRAIN = "given test part; shuffled training part, {} rows of it train"
_CUT_ALL = "shuffled, then cut"

_SETS = (
    DataSet(
        "connect4",
        "Connect-4",
        n_features=126,
        n_classes=3,
        rows=(43_236, 10_809, 13_512),
        split=_CUT_ALL,
        metric="accuracy",
        paper_height=8,
        publisher="UCI, by way of PMLB",
        page="https://archive.ics.uci.edu/dataset/26/connect+4",
        licence="CC BY 4.0",
        files=(
            _file(
                "connect_4.tsv",
                "https://github.com/EpistasisLab/pmlb/raw/master/datasets/connect_4/connect_4.tsv.gz",
            ),
        ),
        parse=publishers.connect4,
        note="The rows are in the order of UCI and LIBSVM; classes 0 draw, 1 loss, 2 win.",
    ),
    DataSet(
        "mnist",
        "MNIST",
        n_features=780,
        n_classes=10,
        rows=(48_000, 12_000, 10_000),
        split=_CUT_TRAIN.format("48,000"),
        metric="accuracy",
        paper_height=8,
        publisher="LeCun, Cortes, Burges; copy kept by PyTorch",
        page="http://yann.lecun.com/exdb/mnist/",
        licence="CC BY-SA 3.0, as commonly listed",
        files=(
            _file("train-images-idx3-ubyte", f"{_MNIST}/train-images-idx3-ubyte.gz"),
            _file("train-labels-idx1-ubyte", f"{_MNIST}/train-labels-idx1-ubyte.gz"),
            _file("t10k-images-idx3-ubyte", f"{_MNIST}/t10k-images-idx3-ubyte.gz"),
            _file("t10k-labels-idx1-ubyte", f"{_MNIST}/t10k-labels-idx1-ubyte.gz"),
        ),
        parse=publishers.mnist,
        note="The first 780 of 784 pixels, as in LIBSVM's copy; the last four are always blank.",
    ),
    DataSet(
        "protein",
        "Protein",
        n_features=357,
        n_classes=3,
        rows=(14_895, 2_871, 6_621),
        split=_GIVEN,
        metric="accuracy",
        paper_height=4,
        publisher="LIBSVM",
        page=_LIBSVM_PAGE,
        licence="none stated",
        files=(
            _file("protein.tr", f"{_LIBSVM}/protein.tr.bz2"),
            _file("protein.val", f"{_LIBSVM}/protein.val.bz2"),
            _file("protein.t", f"{_LIBSVM}/protein.t.bz2"),
        ),
        parse=publishers.protein,
        note="Rows are overlapping windows of sequences: a split of one's own would leak.",
    ),
    DataSet(
        "sensit",
        "SensIT",
        n_features=100,
        n_classes=3,
        rows=(63_058, 15_765, 19_705),
        split=_CUT_TRAIN.format("63,058"),
        metric="accuracy",
        paper_height=10,
        publisher="LIBSVM",
        page=_LIBSVM_PAGE,
        licence="none stated",
        files=(
            _file("combined", f"{_LIBSVM}/vehicle/combined.bz2"),
            _file("combined.t", f"{_LIBSVM}/vehicle/combined.t.bz2"),
        ),
        parse=publishers.sensit,
    ),
    DataSet(
        "letter",
        "Letter",
        n_features=16,
        n_classes=26,
        rows=(10_500, 4_500, 5_000),
        split=_GIVEN,
        metric="accuracy",
        paper_height=10,
        publisher="LIBSVM",
        page=_LIBSVM_PAGE,
        licence="CC BY 4.0 (UCI)",
        files=(
            _file("letter.scale.tr", f"{_LIBSVM}/letter.scale.tr"),
            _file("letter.scale.val", f"{_LIBSVM}/letter.scale.val"),
            _file("letter.scale.t", f"{_LIBSVM}/letter.scale.t"),
        ),
        parse=publishers.letter,
        note="UCI's file has other rows in its first 15,000.",
    ),
    DataSet(
        "pendigits",
        "PenDigits",
        n_features=16,
        n_classes=10,
        rows=(5_995, 1_499, 3_498),
        split=_CUT_TRAIN.format("5,995"),
        metric="accuracy",
        paper_height=8,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/81/pen+based+recognition+of+handwritten+digits",
        licence="CC BY 4.0",
        files=(
            _file("pendigits.tra", f"{_UCI}/pendigits/pendigits.tra"),
            _file("pendigits.tes", f"{_UCI}/pendigits/pendigits.tes"),
        ),
        parse=publishers.pendigits,
    ),
    DataSet(
        "satimage",
        "SatImages",
        n_features=36,
        n_classes=6,
        rows=(3_104, 1_331, 2_000),
        split=_CUT_TRAIN.format("3,104"),
        metric="accuracy",
        paper_height=6,
        publisher="UCI (Statlog)",
        page="https://archive.ics.uci.edu/dataset/146/statlog+landsat+satellite",
        licence="CC BY 4.0",
        files=(
            _file("sat.trn", f"{_UCI}/statlog/satimage/sat.trn"),
            _file("sat.tst", f"{_UCI}/statlog/satimage/sat.tst"),
        ),
        parse=publishers.satimage,
        note="Classes 1 to 5 and 7: there is no 6.",
    ),
    DataSet(
        "segment",
        "Segment",
        n_features=19,
        n_classes=7,
        rows=(1_478, 370, 462),
        split=_CUT_ALL,
        metric="accuracy",
        paper_height=8,
        publisher="UCI (Statlog)",
        page="https://archive.ics.uci.edu/dataset/147/statlog+image+segmentation",
        licence="CC BY 4.0",
        files=(
            _file(
                "segment.dat",
                f"{_UCI}/statlog/segment/segment.dat",
                instead="segment.dat.comma-header",
            ),
            _file("segment.dat.comma-header", optional=True),
        ),
        parse=publishers.segment,
    ),
    DataSet(
        "covtype",
        "CovType",
        n_features=54,
        n_classes=7,
        rows=(371_846, 92_963, 116_203),
        split=_CUT_ALL,
        metric="accuracy",
        paper_height=10,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/31/covertype",
        licence="CC BY 4.0; copyright Jock A. Blackard and Colorado State University",
        files=(_file("covtype.data", f"{_UCI}/covtype/covtype.data.gz"),),
        parse=publishers.covtype,
    ),
    DataSet(
        "census1990",
        "Census1990",
        n_features=68,
        n_classes=18,
        rows=(1_573_301, 393_327, 491_657),
        split=_CUT_ALL,
        metric="accuracy",
        paper_height=8,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/116/us+census+data+1990",
        licence="CC BY 4.0",
        files=(
            _file(
                "USCensus1990.data.txt",
                "https://archive.ics.uci.edu/static/public/116/us+census+data+1990.zip",
                archive="us+census+data+1990.zip",
            ),
        ),
        parse=publishers.census1990,
        note="The file has 69 columns: the 68 besides the class include the number of the case.",
    ),
    DataSet(
        "bace",
        "Bace",
        n_features=2_048,
        n_classes=2,
        rows=(1_210, 151, 152),
        split=_GIVEN,
        metric="auc",
        paper_height=None,
        publisher="MoleculeNet, as prepared for LCN",
        page="https://github.com/guanghelee/iclr20-lcn",
        licence="none stated; MoleculeNet's is MIT",
        files=(
            _file("train.fgp2048.csv", f"{_LCN}/bace_split/train.fgp2048.csv"),
            _file("valid.fgp2048.csv", f"{_LCN}/bace_split/valid.fgp2048.csv"),
            _file("test.fgp2048.csv", f"{_LCN}/bace_split/test.fgp2048.csv"),
        ),
        parse=publishers.bace,
    ),
    DataSet(
        "hiv",
        "HIV",
        n_features=2_048,
        n_classes=2,
        rows=(32_901, 4_113, 4_113),
        split="by scaffold: no Bemis-Murcko scaffold in two parts",
        metric="auc",
        paper_height=None,
        publisher="MoleculeNet",
        page="https://moleculenet.org/datasets-1",
        licence="MIT",
        files=(
            _file(
                "HIV.csv",
                "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/HIV.csv",
                ignore_line_ends=True,
            ),
            _file(publishers.HIV_SPLIT, optional=True),
        ),
        parse=publishers.hiv,
        note="Needs RDKit: pip install 'dgtrees[chem]'.",
    ),
    DataSet(
        "ailerons",
        "Ailerons",
        n_features=40,
        rows=(5_723, 1_431, 6_596),
        split=_CUT_TRAIN.format("5,723"),
        metric="rmse",
        paper_height=6,
        publisher="LIACC (Torgo)",
        page="https://www.dcc.fc.up.pt/~ltorgo/Regression/DataSets.html",
        licence="none stated",
        files=(
            _file(
                "ailerons.data",
                "https://www.dcc.fc.up.pt/~ltorgo/Regression/ailerons.tgz",
                archive="ailerons.tgz",
            ),
            _file(
                "ailerons.test",
                "https://www.dcc.fc.up.pt/~ltorgo/Regression/ailerons.tgz",
                archive="ailerons.tgz",
            ),
        ),
        parse=publishers.ailerons,
        note="The target is in units of 1e-4.",
    ),
    DataSet(
        "abalone",
        "Abalone",
        n_features=10,
        rows=(2_004, 502, 1_671),
        split=_CUT_ALL,
        metric="rmse",
        paper_height=6,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/1/abalone",
        licence="CC BY 4.0",
        files=(_file("abalone.data", f"{_UCI}/abalone/abalone.data"),),
        parse=publishers.abalone,
        shuffles=5,
    ),
    DataSet(
        "compactiv",
        "Comp-Activ",
        n_features=21,
        rows=(3_932, 983, 3_277),
        split=_CUT_ALL,
        metric="rmse",
        paper_height=6,
        publisher="Delve, as ARFF",
        page="http://www.cs.toronto.edu/~delve/data/comp-activ/desc.html",
        licence="http://www.cs.toronto.edu/~delve/copyright.html",
        files=(
            _file(
                "cpu_act.arff",
                "https://raw.githubusercontent.com/genyang/datasets/9cf25ea6e5b376a5a2a98092cb6ab8b03f05adcf/cpu_act.arff",
            ),
        ),
        parse=publishers.compactiv,
        shuffles=5,
    ),
    DataSet(
        "ctslice",
        "CtSlice",
        n_features=384,
        rows=(34_240, 8_560, 10_700),
        split=_CUT_ALL,
        metric="rmse",
        paper_height=10,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/206/relative+location+of+ct+slices+on+axial+axis",
        licence="CC BY 4.0",
        files=(
            _file(
                "slice_localization_data.csv",
                f"{_UCI}/00206/slice_localization_data.zip",
                archive="slice_localization_data.zip",
            ),
        ),
        parse=publishers.ctslice,
        shuffles=5,
        note=(
            "The paper writes 0.5:0.1:0.4, but its 34,240 training rows are 0.64 of the 53,500; "
            "the count is followed. Slices of one patient fall into all parts."
        ),
    ),
    DataSet(
        "pdbbind",
        "PdbBind",
        n_features=2_052,
        rows=(9_013, 0, 0),
        split=_GIVEN,
        metric="rmse",
        paper_height=6,
        publisher="MoleculeNet, as prepared for LCN",
        page="https://github.com/guanghelee/iclr20-lcn",
        licence="none stated; MoleculeNet's is MIT",
        files=(_file("PDBbind.npz"),),
        parse=publishers.pdbbind,
        by_hand=(
            f"download {_LCN}/PDBbind.pkl.gz and, if you trust it as you would a program, turn it "
            "into an npz file (the page on data has the lines)"
        ),
        note="The paper does not give the sizes of the validation and test part.",
    ),
    DataSet(
        "yearpred",
        "YearPred",
        n_features=90,
        rows=(370_972, 92_743, 51_630),
        split=_CUT_TRAIN.format("370,972"),
        metric="rmse",
        paper_height=8,
        publisher="UCI",
        page="https://archive.ics.uci.edu/dataset/203/yearpredictionmsd",
        licence="CC BY 4.0",
        files=(
            _file(
                "YearPredictionMSD.txt",
                f"{_UCI}/00203/YearPredictionMSD.txt.zip",
                archive="YearPredictionMSD.txt.zip",
            ),
        ),
        parse=publishers.yearpred,
        note="The last 51,630 rows are the test part, as the publisher asks.",
    ),
    DataSet(
        "mslr",
        "Microsoft",
        n_features=136,
        rows=(578_729, 144_683, 241_521),
        split=_CUT_TRAIN.format("578,729"),
        metric="rmse",
        paper_height=8,
        publisher="Microsoft Research (MSLR-WEB10K)",
        page="https://www.microsoft.com/en-us/research/project/mslr/",
        licence="on the publisher's terms",
        files=(
            _file("Fold1/train.txt", archive="MSLR-WEB10K.zip"),
            _file("Fold1/test.txt", archive="MSLR-WEB10K.zip"),
        ),
        parse=publishers.mslr,
        by_hand="agree to the terms on {page} and download MSLR-WEB10K.zip",
        note=(
            "Fold 1. The paper's 578,729 training rows are 0.8 of Fold1/train.txt, so the "
            "validation part is cut from it and Fold1/vali.txt is not used."
        ),
    ),
    DataSet(
        "yahoo",
        "Yahoo",
        n_features=699,
        rows=(473_134, 71_083, 165_660),
        split=_GIVEN,
        metric="rmse",
        paper_height=8,
        publisher="Yahoo Webscope (C14B, learning to rank challenge)",
        page="https://webscope.sandbox.yahoo.com/catalog.php?datatype=c",
        licence="on application, for research",
        files=(
            _file("set1.train.txt", archive="ltrc_yahoo.tgz"),
            _file("set1.valid.txt", archive="ltrc_yahoo.tgz"),
            _file("set1.test.txt", archive="ltrc_yahoo.tgz"),
        ),
        parse=publishers.yahoo,
        by_hand="apply for data set C14B at {page}",
        note="Set 1 of the challenge. The relevance, 0 to 4, is predicted as a number.",
    ),
)

CATALOG: dict[str, DataSet] = {data_set.name: data_set for data_set in _SETS}
"""Every data set of the paper by name, in the order of its two tables."""
