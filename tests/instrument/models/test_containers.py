"""HDF5 files that lead out of the file are refused in a line."""

import h5py
import numpy as np
import pytest

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
