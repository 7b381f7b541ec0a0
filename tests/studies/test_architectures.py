"""Architectures of transformers, built tiny: a seeded sample is compared with the library, all of them in `make soak`."""

import random

import pytest

from studies.architectures.comparison import compare
from studies.architectures.tiny_models import list_types
from studies.book.architectures_page import read_table

pytestmark = pytest.mark.filterwarnings("ignore")  # strangers' classes warn of anything

TABLE = read_table().set_index("architecture")
READABLE = TABLE.index[TABLE["reason"] == ""]
HARD = ["bloom", "fnet", "longformer", "mpt", "xlnet"]
SAMPLE = sorted({*random.Random(0).sample([*READABLE], 2), *HARD})


def check(name: str) -> None:
    """The row of an architecture is that of the table, which the book shows."""
    row = compare(name)._asdict()
    row.pop("architecture")
    assert row == TABLE.loc[name].to_dict()


@pytest.mark.parametrize("name", SAMPLE)
def test_an_architecture_is_read_as_the_table_says(name):
    check(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted({*READABLE} - {*SAMPLE}))
def test_every_other_architecture_is_read_as_the_table_says(name):
    check(name)


@pytest.mark.soak
def test_the_table_has_every_architecture_that_reads_ids():
    """The table is about the installed version of transformers; newer versions may have more types."""
    assert {*TABLE.index} & {*list_types()} >= {*READABLE}
