"""``python -m studies.architectures [TYPE]…``: architectures are compared, all by default, and their rows of the table written."""

import sys
from collections.abc import Sequence

import pandas as pd

from studies.architectures.comparison import Comparison, compare
from studies.architectures.tiny_models import list_types
from studies.book.architectures_page import TABLE, read_table


def main(names: Sequence[str]) -> None:
    rows = []
    for name in names or list_types():
        rows.append(compare(name))
        print(*rows[-1], sep=" | ", flush=True)
    table = pd.DataFrame(rows, columns=list(Comparison._fields))
    if names:
        kept_rows = read_table()
        table = pd.concat([kept_rows[~kept_rows["architecture"].isin(names)], table])
    table.sort_values("architecture").to_csv(TABLE, index=False)


if __name__ == "__main__":
    main(sys.argv[1:])
