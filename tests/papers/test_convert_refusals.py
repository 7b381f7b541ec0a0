"""What does not fit, is damaged or hostile gives one clear line, runs nothing and writes nothing."""

import builtins
import importlib
import io
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from planted.publishedfiles import (
    CONFIG,
    HEADS,
    SHIPPED,
    archive,
    jiang_file,
    jiang_state,
    schlag_file,
    schlag_state,
    vocabulary_file,
)

from tprpapers.published import containers
from tprpapers.published.pickles import read_vocabulary
from tprprobe.data.vocabularies.characters import characters
from tprprobe.errors import InputError
from tprprobe.models.convert import convert

QUERY = "encoder.layers.0.MHA.W_q.weight"


def refusal(tmp_path: Path, source: Any, config: Any = HEADS, vocab: Any = None) -> str:
    """The one line that conversion ends with, having written nothing."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        convert(source, tmp_path / "out", config=config, vocab=vocab)
    assert sorted(tmp_path.rglob("*")) == before
    line = str(caught.value)
    assert line
    assert "\n" not in line
    return line


def without(state: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != key}


def test_missing_and_extra_tensors_are_named(tmp_path):
    state = schlag_state()
    lacking = schlag_file(tmp_path / "a.pt", without(state, QUERY))
    assert f"lacks the tensor '{QUERY}'" in refusal(tmp_path, lacking)
    misspelt = without(state, QUERY) | {"encoder.layers.0.MHA.W_qq.weight": state[QUERY]}
    line = refusal(tmp_path, schlag_file(tmp_path / "b.pt", misspelt))
    assert "(the nearest name is 'encoder.layers.0.MHA.W_qq.weight'" in line
    extra = "encoder.layers.0.MHA.W_z.weight"
    file = schlag_file(tmp_path / "c.pt", state | {extra: state[QUERY]})
    assert repr(extra) in refusal(tmp_path, file)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"n_head": 2}, "did you mean 'n_heads'"),
        ({"n_heads": 3}, "3 heads"),
        ({"n_heads": "2"}, "n_heads = '2'"),
        ({"n_heads": 2, "d_model": 16}, "d_model = 16, the file's shapes 8"),
        ("{", "is not JSON"),
        ("nowhere.json", "nowhere.json"),
    ],
)
def test_configurations_of_schlag(tmp_path, config, says):
    assert says in refusal(tmp_path, schlag_file(tmp_path / "c.pt"), config)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"num_head": 4}, "did you mean 'num_heads'"),
        ({"num_heads": 2}, "num_heads = 2, the file's shapes 4"),
        ({"num_layers": 6}, "num_layers = (6, 6)"),
        ({"use_tp_dec": False}, "use_tp_enc, use_tp_dec = (True, False)"),
        ({"use_discrete_roles": False}, "use_discrete_roles = continuous"),
        ({"tpr_output_type": "concat"}, "tpr_output_type = concat"),
        ({"feed_forward_proj": "gated-gelu"}, "feed_forward_proj"),
        ({"relative_attention_max_distance": 64}, "relative_attention_max_distance"),
        ({"vocab_size": "many"}, "vocab_size = 'many'"),
    ],
)
def test_configurations_of_jiang(tmp_path, change, says):
    assert says in refusal(tmp_path, jiang_file(tmp_path / "c.ckpt"), SHIPPED | change)


def test_what_shapes_do_not_tell_is_asked_for(tmp_path):
    changes = {"roles_after_residual": False, "role_weights_input": "query"}
    config, file = CONFIG | changes, jiang_file(tmp_path / "c.ckpt", jiang_state(**changes))
    assert "role_weights_input: config needs one of query, v_bar_2" in refusal(tmp_path, file, {})
    convert(file, tmp_path / "out", config=config)


def test_untied_embeddings_and_other_position_tables_are_refused(tmp_path):
    untied = jiang_file(tmp_path / "c.ckpt", jiang_state() | {"lm_head.weight": torch.ones(19, 16)})
    assert "lm_head.weight differs" in refusal(tmp_path, untied, {})
    table = schlag_state() | {"embedding.pe": torch.ones(1, 40, 8)}
    assert "embedding.pe" in refusal(tmp_path, schlag_file(tmp_path / "c.pt", table))


def test_no_checkpoint_at_all(tmp_path):
    (tmp_path / "empty").mkdir()
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"model": {"weight": torch.ones(2)}}, tmp_path / "other.pt")
    torch.save({"model": {"embedding.pe": "text"}}, tmp_path / "text.pt")
    (tmp_path / "text.txt").write_text("no checkpoint")
    (tmp_path / "nothing.pt").write_bytes(b"")
    (tmp_path / "none.tar.gz").write_bytes(archive(tmp_path / "x.tar.gz").read_bytes())
    for name, says in {
        "empty": "pytorch_model.bin",
        "list.pt": "a list",
        "other.pt": "neither a TP-Transformer nor a T5",
        "text.pt": "is a str",
        "text.txt": "damaged",
        "nothing.pt": "damaged",
        "none.tar.gz": "holds 0 checkpoints",
        "absent.pt": "no file or folder",
    }.items():
        assert says in refusal(tmp_path, tmp_path / name), name


def test_vocabularies_that_do_not_belong(tmp_path):
    file, symbols = schlag_file(tmp_path / "c.pt"), list(characters().symbols)
    swapped = [symbols[1], symbols[0], *symbols[2:]]
    for content, says in (
        (symbols[:-1], "vocab_size 72, the model 73"),
        (swapped, "pad 0, the model 1"),
        (symbols[:-1] + symbols[-2:-1], "twice"),
        (["a"] * 73, "<unk>"),
    ):
        vocab = vocabulary_file(tmp_path / "v.pt", content)
        assert says in refusal(tmp_path, file, vocab=vocab)
    torch.save({"itos": symbols}, tmp_path / "d.pt")
    assert "no list itos" in refusal(tmp_path, file, vocab=tmp_path / "d.pt")
    assert "no file" in refusal(tmp_path, file, vocab=tmp_path / "absent.pt")


class Call:
    """Pickles as a call, which runs where the pickle is executed."""

    def __init__(self, function: Any, *arguments: Any):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile(marker: Path) -> list[Any]:
    """Objects whose unpickling would create the marker."""
    script = f"open({str(marker)!r}, 'w').close()"
    command = f"touch {marker}"
    return [
        Call(os.system, command),
        Call(builtins.eval, f"open({str(marker)!r}, 'w').close()"),
        Call(builtins.exec, script),
        Call(subprocess.call, ["touch", str(marker)]),
        Call(builtins.open, str(marker), "w"),
        Call(Path.touch, marker),
        Call(builtins.__import__, "antigravity"),
        Call(importlib.import_module, "antigravity"),
        Call(shutil.copy, __file__, str(marker)),
        Call(torch.save, {}, str(marker)),
    ]


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("protocol", [0, 4])
def test_hostile_pickles_run_nothing(tmp_path, number, protocol):
    marker, options = tmp_path / "marker", {"pickle_protocol": protocol}
    exploit = hostile(marker)[number]
    torch.save({"model": schlag_state(), "extra": exploit}, tmp_path / "zip.pt", **options)
    state = schlag_state() | {"x": exploit}
    schlag_file(tmp_path / "old.pt", state, _use_new_zipfile_serialization=False, **options)
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(exploit, protocol))
    torch.save(exploit, tmp_path / "vocab.pt", **options)
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "config.json").write_text("{}")
    torch.save(jiang_state() | {"x": exploit}, tmp_path / "hf" / "pytorch_model.bin", **options)
    archive(tmp_path / "a.tar.gz", tmp_path / "zip.pt")
    for name in ("zip.pt", "old.pt", "bare.pt", "hf", "a.tar.gz"):
        refusal(tmp_path, tmp_path / name)
    file = schlag_file(tmp_path / "c.pt")
    for name in ("vocab.pt", "bare.pt"):
        assert "no vocabulary" in refusal(tmp_path, file, vocab=tmp_path / name)
    assert "antigravity" not in sys.modules
    assert not marker.exists()


def test_a_pickle_cannot_change_what_later_files_say():
    """BUILD on a class sets its attributes: here ``itos`` of every later vocabulary."""
    symbols = list(characters().symbols)
    planted = (
        b"\x80\x02ctorchtext.vocab\nVocab\n(N}X\x04\x00\x00\x00itos"
        + pickle.dumps(symbols, 2)[2:-1]
        + b"stb."
    )
    assert read_vocabulary(planted, "planted.pt").symbols == tuple(symbols)  # its own file
    empty = b"\x80\x02ctorchtext.vocab\nVocab\n)\x81."
    with pytest.raises(InputError, match="no list itos"):
        read_vocabulary(empty, "empty.pt")


def test_archive_members_are_read_and_never_written(tmp_path):
    inner = schlag_file(tmp_path / "c.pt").read_bytes()
    tar = tmp_path / "a.tar.gz"
    with tarfile.open(tar, "w:gz") as archive:
        info = tarfile.TarInfo("../../escaped.pt")
        info.size = len(inner)
        archive.addfile(info, io.BytesIO(inner))
        link = tarfile.TarInfo("link.pt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    convert(tar, tmp_path / "deep" / "out", config=HEADS)
    assert not list(tmp_path.parent.rglob("escaped.pt"))
    assert "no member 'link.pt'" in refusal(tmp_path, f"{tar}:link.pt")


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "SMALL", 2**20)
    (tmp_path / "bomb.pt").write_bytes(bytes(4 * 2**20))
    packed = archive(tmp_path / "a.tar.gz", tmp_path / "bomb.pt")
    assert "unpacks to more than 100 times" in refusal(tmp_path, packed)


def test_a_zip_that_unpacks_to_far_more_is_refused(tmp_path):
    torch.save({"weights": torch.zeros(2**26 + 1)}, tmp_path / "w.pt")
    with (
        zipfile.ZipFile(tmp_path / "w.pt") as archive,
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for info in archive.infolist():
            packed.writestr(info.filename, archive.read(info))
    assert "unpacks to more than 100 times" in refusal(tmp_path, tmp_path / "bomb.pt")
