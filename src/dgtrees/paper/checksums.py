"""sha256 of the uncompressed content of published files, where the content was at hand."""

from __future__ import annotations

__all__ = ["SHA256"]

SHA256 = {
    "connect_4.tsv": "8209a4bca4de6c0073d781d31751dc07b57a38d5c75196ef5b69f2c87374c1a9",
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "letter.scale.tr": "701e46fa614770d41849b5df32268515df49559463887d50f00d6e1aeeaee7b9",
    "letter.scale.val": "41ba072c4aff700179b1e2686b3a5ae60e9239dba7c337babd2586ff4ad9eeaa",
    "letter.scale.t": "07522ccbf54187fae6d560d1712b88c41ea1f7e8d19491c5adcc22ee37a075da",
    "pendigits.tra": "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3",
    "pendigits.tes": "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",
    "sat.trn": "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
    "sat.tst": "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
    "segment.dat.comma-header": "4c12a52bedaa41f619a8a8625fcd9944f36c685d8d0d1f45838684a4b0a6dcac",
    "covtype.data": "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
    "train.fgp2048.csv": "b7427ee89d7d6bbe1cace9a4a13f0dffc1bb69a7df1caa19e22c99f305f41c74",
    "valid.fgp2048.csv": "cff541803acb6cb0986f5929f178193c89253aadfb160343f28faf729ce83325",
    "test.fgp2048.csv": "ed5aae76ae497a891c8511399a526ebd663585dac4d1b6e95166b741f4e6c5ef",
    "HIV.csv": "b72f0cf00cd1f45ae5c415f21aef10e69187e30dd24029ddb345fbca35b0d798",
    "scaffold_split_idx.derived.npz": (
        "0caf319d93cadcc2befbc49c8a80bb3746f68010cc06713647fb14ed48da9d2d"
    ),
    "ailerons.data": "a8f6d9fdbebe86c2f1cbd46216e123205f491329ab1ae2068b84c7d0d489edcc",
    "ailerons.test": "dde7f67d21485ee2b8c60d660a4ebc479b4264a30e9afd2fc3607ba31f5b17f5",
    "abalone.data": "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    "cpu_act.arff": "31c4adcefafaef48d89a285602c5f6df3d9463e176bacdaf9df82c249fb0ed9b",
}
"""By file name; HIV.csv without carriage returns and empty lines, in which copies differ."""
