"""``python -m studies.architectures [TYPE]…``: every architecture is compared, and the table written."""

import sys

import pandas as pd

from studies.architectures.comparison import Comparison, compare
from studies.architectures.tiny_models import list_types
from studies.book.architectures_page import TABLE


def main(names: list[str]) -> None:
    rows = []
    for name in names or list_types():
        rows.append(compare(name))
        print(*rows[-1], sep=" | ", flush=True)
    if not names:
        pd.DataFrame(rows, columns=list(Comparison._fields)).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
