"""A table of characters that was accepted never leads the library out of it, whatever the text."""

import json
import random
import subprocess
import sys

import pytest

from tprprobe.data.vocabularies.spiece import check_charsmap, check_charsmaps
from tprprobe.errors import InputError

pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
TRIES = 120
USE = """
import random, sys
from pathlib import Path
from tokenizers import normalizers
rng = random.Random(0)
every = [chr(i) for i in range(1, 0x30000) if not 0xD800 <= i < 0xE000]
text = "".join(every) + "".join(rng.choice(every) + chr(rng.randrange(0x300, 0x370)) for _ in every[::9])
for file in sorted(Path(sys.argv[1]).iterdir()):
    try:
        table = normalizers.Precompiled(file.read_bytes())
    except Exception:
        continue
    table.normalize_str(text)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The table that SentencePiece gives every model (nmt_nfkc)."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as schema

    folder = tmp_path_factory.mktemp("spiece")
    (folder / "texts").write_text("".join(f"the coin of {i} cats\n" for i in range(30)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts"), model_prefix=str(folder / "m"), vocab_size=28, minloglevel=2
    )
    model = schema.ModelProto.FromString((folder / "m.model").read_bytes())  # type: ignore[attr-defined]
    return model.normalizer_spec.precompiled_charsmap


def _damaged(table: bytes, rng: random.Random) -> bytes:
    size = int.from_bytes(table[:4], "little")
    content = bytearray(table)
    way = rng.randrange(6)
    if way == 0:
        return bytes(content[: rng.randrange(len(content))])
    if way == 1:
        content[:4] = rng.choice([0, 4, size - 4, size + 4, size + 400, 2**31, 2**32 - 4]).to_bytes(
            4, "little"
        )
    elif way == 2:
        del content[4 + size + rng.randrange(len(content) - size - 4) :]
    else:
        start, stop = ((4, 4 + size), (4 + size, len(content)))[way == 3]
        for _ in range(rng.choice([1, 1, 3, 50])):
            offset = rng.randrange(start, stop)
            content[offset : offset + rng.choice([1, 4])] = rng.randbytes(1)
    return bytes(content)


def test_no_text_leads_out_of_an_accepted_table(table, tmp_path):
    check_charsmap(table)
    refused = 0
    (tmp_path / "accepted").mkdir()
    for seed in range(TRIES):
        damaged = _damaged(table, random.Random(seed))
        try:
            check_charsmap(damaged)
        except InputError:
            refused += 1
        else:
            (tmp_path / "accepted" / str(seed)).write_bytes(damaged)
    assert TRIES / 4 < refused < TRIES
    command = [sys.executable, "-c", USE, str(tmp_path / "accepted")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-500:]


@pytest.mark.parametrize("table", ["AAAA", "no base64", "////fwAAAAA="])
def test_tables_in_a_tokenizer_are_checked_wherever_they_stand(table):
    settings = {"normalizer": {"normalizers": [{"precompiled_charsmap": table}]}}
    with pytest.raises(InputError, match="table of characters"):
        check_charsmaps(json.loads(json.dumps(settings)))
