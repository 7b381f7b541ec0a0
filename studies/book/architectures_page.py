"""The page of architectures that are read, made of the table that ``python -m studies.architectures`` measures."""

from pathlib import Path

import pandas as pd

TABLE = Path(__file__).parents[1] / "architectures/architectures.csv"
VERSION = "5.23.0"  # of transformers, by which the table was measured
HEAD = """# Architectures of transformers

This page says which models of the library transformers `hf:PATH` reads, and which sites each of them has. `python -m studies.architectures` builds every
architecture that reads text with two random layers and compares it with transformers {version}: hidden states with
`output_hidden_states`, attention maps with `output_attentions`, and a text beside a longer one with the text alone.

| of {total} types of models that take ids | number |
| --- | --- |
| read | {read} |
| hidden states equal those of transformers | {states} |
| queries, keys, values, maps and fillers in every layer | {parts} |
| batches hold texts of one length, since padding changes the states | {one_length} |
| do not read text alone, or have no list of layers | {refused} |
| not built by this script | {unbuilt} |

"""
FULL = """## Complete

These {n} have every [site](probing.md#models-of-the-library-transformers), and all states and maps are equal: {names}.

"""
OTHERS_HEAD = """## Others that are read

*Some* means some layers: a hybrid has layers without attention. Where states differ, the library returns states of other places (Funnel pools them).

| architecture | states | maps | query, key, value, filler | mlp | beside a longer text |
| --- | --- | --- | --- | --- | --- |
"""
REFUSED = """
## Not read

| architecture | reason |
| --- | --- |
"""


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
    head = HEAD.format(
        version=VERSION,
        total=len(table),
        read=len(readable),
        states=(readable["states"] == "equal").sum(),
        parts=(readable["parts"] == "all").sum(),
        one_length=(readable["padded"] == "one length").sum(),
        refused=(~is_unbuilt).sum(),
        unbuilt=is_unbuilt.sum(),
    )
    names = ", ".join(f"`{name}`" for name in complete["architecture"])
    columns = ["architecture", "states", "maps", "parts", "mlp", "padded"]
    incomplete = readable.drop(complete.index)[columns].replace("some layers", "some")
    refused = unread[["architecture", "reason"]]
    return (
        head
        + FULL.format(n=len(complete), names=names)
        + OTHERS_HEAD
        + _rows(incomplete)
        + REFUSED
        + _rows(refused.assign(reason=refused["reason"].str.partition("\n")[0].str[:120]))
    )


def _rows(table: pd.DataFrame) -> str:
    return "".join(
        f"| `{name}` | {' | '.join(map(str, cells))} |\n" for name, *cells in table.itertuples(index=False)
    )  # fmt: skip
