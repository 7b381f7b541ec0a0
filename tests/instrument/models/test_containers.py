"""HDF5 and GGUF files whose parts contradict one another, or that lead out of the file, are refused in a line."""

import h5py
import numpy as np
import pytest
from planted.foreign import save_gguf

import tprprobe as tp
from tprpapers.huang.image_features import open_features
from tprprobe.errors import InputError

VECTORS = np.ones((3, 4), np.float32)


def _beside(file):
    """The vectors in another file, which lies beside."""
    with h5py.File(file.parent / "beside.h5", "w") as linked:
        linked["features"] = VECTORS
    return "beside.h5"


def _view(group, file):
    layout = h5py.VirtualLayout((3, 4), "f4")
    layout[:] = h5py.VirtualSource(_beside(file), "features", (3, 4))
    group.create_virtual_dataset("features", layout)


NOT_IN_THE_FILE = {
    "a link": lambda group, file: group.update(
        features=h5py.ExternalLink(_beside(file), "features")
    ),
    "a link to itself": lambda group, _: group.update(features=h5py.SoftLink("/features")),
    "another file's bytes": lambda group, _: group.create_dataset(
        "features", (1, 3), "u1", external=[("/etc/hostname", 0, 3)]
    ),
    "a view": _view,
    "a group": lambda group, _: group.create_group("features"),
    "empty": lambda group, _: group.update(features=h5py.Empty("f4")),
}


@pytest.mark.parametrize("kind", NOT_IN_THE_FILE)
def test_features_that_are_not_in_the_file_are_refused(kind, tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as group:
        NOT_IN_THE_FILE[kind](group, tmp_path / "f.h5")
    with pytest.raises(InputError, match=r"f\.h5(: | has no data set )features"):
        open_features(tmp_path / "f.h5")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf") / "tiny"
    save_gguf(folder)
    return (folder / "tiny.gguf").read_bytes()


def _exchange(reader):
    """What is said of the places of two tensors of different sizes."""
    places = {tensor.name: tensor.field.parts[-1] for tensor in reader.tensors}
    embedding, norm = places["token_embd.weight"], places["output_norm.weight"]
    embedding[:], norm[:] = norm.copy(), embedding.copy()


def _retype(reader):
    """Numbers of 18 bytes for 32, of which the file holds 128."""
    next(t for t in reader.tensors if t.name == "blk.1.attn_q.weight").field.parts[-2][:] = 2


def _set(name, value):
    def change(reader):
        reader.fields[name].parts[-1][:] = value

    return change


def _rename(name):
    """A field whose name is another."""

    def change(reader):
        reader.fields[name].parts[1][-1] ^= 1

    return change


CONTRADICTIONS = {
    "places": (_exchange, "lies at byte .*, where the tensors before it end at"),
    "a type": (_retype, "lies at byte .*, where the tensors before it end at"),
    "a rotation": (_set("llama.rope.freq_base", np.nan), "rope_theta nan, a number above 0"),
    "an epsilon": (_set("llama.attention.layer_norm_rms_epsilon", -1), "rms_norm_eps -1.0, a number"),
    "no epsilon": (_rename("llama.attention.layer_norm_rms_epsilon"), "names no epsilon of its norms"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of libraries about what they read
@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_a_gguf_file_that_contradicts_itself_is_refused(kind, sound, tmp_path):
    from gguf import GGUFReader

    file = tmp_path / "tiny.gguf"
    file.write_bytes(sound)
    change, message = CONTRADICTIONS[kind]
    reader = GGUFReader(file, "r+")
    change(reader)
    reader.data.flush()
    with pytest.raises(InputError, match=message):
        tp.load_model(f"hf:{file}")
