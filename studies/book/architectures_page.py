"""The page of architectures that are read, made of the table that ``python -m studies.architectures`` measures."""

from pathlib import Path

import pandas as pd

from studies.templates import fill

TABLE = Path(__file__).parents[1] / "architectures/architectures.csv"
VERSION = "5.23.0"  # of transformers, by which the table was measured


def read_table() -> pd.DataFrame:
    """One row an architecture, as :class:`studies.architectures.comparison.Comparison` names its columns."""
    return pd.read_csv(TABLE, keep_default_na=False)


def write_architectures() -> str:
    """The page: counts, the complete ones, what the others lack, and why some are not read."""
    table = read_table()
    readable, unread = table[table["reason"] == ""], table[table["reason"] != ""]
    is_unbuilt = unread["reason"].str.startswith("not built")
    complete = readable[
        (readable["states"] == "equal") & (readable["maps"] == "equal") & (readable["parts"] == "all")
        & (readable["mlp"] == "all") & (readable["padded"] == "equal")
    ]  # fmt: skip
    names = ", ".join(f"`{name}`" for name in complete["architecture"])
    columns = ["architecture", "states", "maps", "parts", "mlp", "padded"]
    incomplete = readable.drop(complete.index)[columns].replace("some layers", "some")
    reasons = unread["reason"].str.partition("\n")[0].str[:120]
    return fill(
        Path(__file__).parent,
        "architectures.md.j2",
        version=VERSION,
        total=len(table),
        read=len(readable),
        states=(readable["states"] == "equal").sum(),
        parts=(readable["parts"] == "all").sum(),
        one_length=(readable["padded"] == "one length").sum(),
        refused=(~is_unbuilt).sum(),
        unbuilt=is_unbuilt.sum(),
        n=len(complete),
        names=names,
        incomplete=_rows(incomplete),
        unread=_rows(unread[["architecture"]].assign(reason=reasons)),
    )


def _rows(table: pd.DataFrame) -> str:
    return "".join(
        f"| `{name}` | {' | '.join(map(str, cells))} |\n" for name, *cells in table.itertuples(index=False)
    )  # fmt: skip
