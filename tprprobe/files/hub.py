"""Folders and the Hugging Face hub: checkpoints are model repositories as they are, stores and runs dataset repositories."""

import contextlib
import difflib
import glob
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from tprprobe.errors import InputError
from tprprobe.files import assets
from tprprobe.files.jsonfiles import read_json

HUB = "hub:"  # before the id of a dataset repository
ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
PATIENCE = 5  # seconds until the hub answers
SWITCHED_ON = ("1", "TRUE", "YES", "ON")  # an environment's variable
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
STATE, OF_RUN = "state.pt", "model"  # of a training, and its model, which is there at the end
OWN_MODULE = "weights of a module of one's own: tp.attach (`tprprobe docs tutorials/own-model`)"
RECIPE, EXPECTED = "recipe.toml", "expected.json"
NOT_KEPT = "it is not in the hub's cache, which alone was asked"


def locate(kind: str, name: str | os.PathLike[str], local_files_only: bool = False) -> Path:
    """The folder of a checkpoint or probe: a path, a shipped name, or a hub id ``owner/name``."""
    text = str(name)
    for folder in (Path(text), Path(text).parent):
        if (folder / STATE).is_file() and not (folder / OF_RUN).is_dir():
            raise InputError(
                f"the training in {folder} is not finished: run its `tprprobe train` again with --resume"
            )
    if not is_id(text):
        try:
            return assets.find(kind, name)
        except InputError as error:
            raise (_hinted(text, error) if kind == "models" else error) from None
    message = f"no folder {text!r} here{near_folders(text)}, and the hub did not give it"
    return _download(text, "model", message, local_files_only)


def _download(repo_id: str, kind: str, message: str, local_files_only: bool = False) -> Path:
    from huggingface_hub import snapshot_download

    offline = local_files_only or is_offline()
    with _hub_errors(message, NOT_KEPT if offline else ""):
        return Path(snapshot_download(repo_id, repo_type=kind, local_files_only=offline))


def is_foreign(folder: Path) -> bool:
    config = folder / CONFIG
    if not config.is_file():
        return folder.is_dir() and any(folder.glob("*.gguf"))
    with contextlib.suppress(InputError):
        return read_json(config).get("model_type") not in (None, "tprprobe")
    return False


def _hinted(text: str, error: InputError) -> InputError:
    if not Path(text).is_file():
        hint = f"; a model of transformers is hf:{text}" if ID.fullmatch(text) else ""
        return InputError(f"{error}{hint}")
    if text.endswith(".gguf"):
        return InputError(f"{text} is a GGUF file: say hf:{text}")
    return InputError(
        f"{text} is a file, a checkpoint is a folder: `tprprobe convert {text} OUT` makes one of a published "
        "checkpoint (.pt), `tprprobe import` a store of another tool's activations"
    )


def locate_dataset(name: str | os.PathLike[str]) -> Path:
    """The folder of a store or a run: a path, or ``hub:owner/name``, a dataset repository."""
    text = str(name)
    if not text.startswith(HUB):
        return Path(name)
    repo_id = text.removeprefix(HUB)
    if repo_id.count("/") != 1:
        raise InputError(f"{text}: give {HUB}owner/name")
    return _download(repo_id, "dataset", f"the hub did not give the dataset {repo_id!r}")


def upload(
    folder: Path,
    repo_id: str,
    kind: str,
    private: bool,
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> str:
    """The address of the repository (model or dataset) that got a folder; ``files`` stand in place of those of these names."""
    from huggingface_hub import HfApi

    if is_offline():
        raise InputError(f"the hub did not take {folder}: it cannot be reached")
    api = HfApi()
    with _hub_errors(f"the hub did not take {folder}"):
        url = api.create_repo(repo_id, repo_type=kind, private=private, exist_ok=True)
        replaced = [glob.escape(name) for name in files]
        api.upload_folder(
            repo_id=repo_id, folder_path=str(folder), repo_type=kind, ignore_patterns=replaced
        )
        for name, content in files.items():
            api.upload_file(
                repo_id=repo_id, repo_type=kind, path_or_fileobj=content, path_in_repo=name
            )
    return str(url)


@contextlib.contextmanager
def _hub_errors(message: str, reason: str = "") -> Iterator[None]:
    """A block in which an error of the hub's client, whose kinds are dozens, is its first line, or the reason."""
    try:
        yield
    except Exception as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{message}: {reason or line}") from error


def is_offline() -> bool:
    """True where the hub is not to be asked (HF_HUB_OFFLINE), or does not answer within seconds."""
    from huggingface_hub import constants  # which takes a while
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "0").upper() in SWITCHED_ON:
        return True
    try:  # its client would try for minutes
        get_session().head(constants.ENDPOINT, timeout=PATIENCE)
    except Exception:  # no answer, no address, or no HTTP
        return True
    return False


def find_in_cache(repo_id: str, revision: str | None = None) -> Path | None:
    """The folder of a model's revision in the hub's cache; None if its configuration does not lie there."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repo_id, CONFIG, revision=revision)
    return Path(config).parent if isinstance(config, str) else None


def is_plain_id(text: str) -> bool:
    return ID.fullmatch(text) is not None


def near_folders(text: str) -> str:
    parent = Path(text).parent
    names = [str(child) for child in parent.iterdir() if child.is_dir()] if parent.is_dir() else []
    near = difflib.get_close_matches(str(Path(text)), names, n=1, cutoff=0.6)
    return f" (there is {near[0]!r})" if near else ""


def is_id(text: str) -> bool:
    """True if a name is a hub repository's, ``owner/name``; what is here of that name goes first."""
    return text.count("/") == 1 and not text.startswith((".", "/", "~")) and not Path(text).exists()
