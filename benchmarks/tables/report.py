"""placeholder"""


def write(results, docs):
    return []
