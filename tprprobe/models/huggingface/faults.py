"""What reading a folder of transformers, and the first pass of its model, may raise: one line each.

Files of strangers make libraries raise errors of any kind, panic in Rust (which is no ``Exception``) and
write pages to the terminal. Here alone is decided what that becomes; sizes are checked before they are built.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, prod
from pathlib import Path

from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error, held_back, physical_memory
from tprprobe.files.jsonfiles import flatten
from tprprobe.models.huggingface import contradictions

SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size",
         "max_position_embeddings")  # fmt: skip
POSITIVE = ("_eps", "_epsilon", "rope_theta")  # endings of settings
BUCKETS = ("num_buckets", "max_distance")  # of relative positions
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
RANDOM_HEADS = {"pooler", "classifier", "score", "qa_outputs"}  # are random where a file lacks them
MIN_KNOWN = 0.9  # of a model's symbols, which a tokenizer made for it knows
SLACK = 2  # how many times fewer weights a file may hold than the least that its sizes ask for


@contextmanager
def refusing(prefix: str) -> Iterator[None]:
    """A block in which what libraries raise is an InputError after ``prefix``; :data:`VERBOSE` shows their output."""
    with as_input_error(prefix), held_back():
        yield


def check_sizes(path: str, config: PreTrainedConfig, fits: bool = True) -> None:
    """Checks the sizes of a configuration before anything is built of them, which has to fit into memory (``fits``)."""
    text = config.get_text_config()
    sizes = {name: getattr(text, name, 1) for name in SIZES}
    for name, value in sizes.items():
        if name == "intermediate_size" and isinstance(value, list):
            sizes[name] = 1  # one a layer
        elif (name, value) == ("max_position_embeddings", -1):  # XLNet's are without a limit
            sizes[name] = 1
        elif type(value) is not int or value < 1:
            setting = f"{path}: config.json has {name} {value!r}"
            raise InputError(f"{setting}, a whole number above 0 is needed")
    for name, value in flatten(text.to_dict()).items():
        if name.endswith(POSITIVE) and isinstance(value, int | float) and not 0 < value < inf:
            raise InputError(f"{path}: config.json has {name} {value!r}, a number above 0")
    buckets, far = (getattr(text, f"relative_attention_{name}", 0) for name in BUCKETS)
    if type(buckets) is type(far) is int and far and far <= buckets // 2:
        raise InputError(
            f"{path}: config.json has relative_attention_max_distance {far} for {buckets} buckets: it must be more "
            f"than {buckets // 2}"
        )
    width, layers, _, symbols, inner, positions = (sizes[name] for name in SIZES)
    layers = min(getattr(text, "num_hidden_groups", layers), layers)  # ALBERT's share weights
    narrow = getattr(text, "embedding_size", getattr(text, "word_embed_proj_dim", width))
    min_weights = layers * width**2 + width * inner + symbols * narrow
    memory = physical_memory()
    slices = contradictions.read_slices(Path(path))
    contradictions.check_scales(path, slices, config)
    file_weights = sum(prod(entry.shape) for entry in slices)
    if (fits and 2 * (min_weights + width * positions) > memory) or (
        file_weights and min_weights > SLACK * file_weights
    ):
        in_files = f"its files hold {file_weights:,}"
        where = in_files if file_weights else f"the memory here is {memory:,} bytes"
        raise InputError(
            f"{path}: config.json asks for at least {min_weights + width * positions:,} weights, {where}"
        )


def _check_types(path: str, slices: list[contradictions.Slice], module: PreTrainedModel) -> None:
    """Checks that no weights are whole numbers in the file and fractions in the model: their scale is not known."""
    fractions = {name for name, entry in module.named_parameters() if entry.is_floating_point()}
    for entry in slices:
        if entry.is_whole and any(
            name.endswith(entry.name) or entry.name.endswith(f".{name}") for name in fractions
        ):
            place = f"({entry.dtype}) for weights: {entry.name}"
            raise InputError(f"{path} has whole numbers {place}: get it again")


def compare_symbols(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> dict[str, str]:
    n_symbols, rows = len(tokenizer), config.get_text_config().vocab_size
    contradictions.check_vocabulary_lines(tokenizer, rows)
    if n_symbols > MIN_KNOWN * rows:
        return {}
    symbols = f"the tokenizer knows {n_symbols:,} of the model's {rows:,}"
    return {"symbols": f"{symbols}: is it this model's?"}


def read_report(path: str, module: PreTrainedModel, report: dict[str, set]) -> dict[str, str]:
    """What transformers reports of loading that is no fault, as notes, which go to every manifest."""
    missing = sorted(report["missing_keys"])
    random_keys = [key for key in missing if RANDOM_HEADS & {*key.split(".")}]
    lacking = [key for key in missing if key not in random_keys]
    if lacking:
        names = contradictions.list_names(lacking)
        raise InputError(f"{path} lacks {names}, which config.json asks for: get it again")
    if report["mismatched_keys"]:
        mismatched = sorted(report["mismatched_keys"])
        shapes = [f"{key} {tuple(has)} for {tuple(expected)}" for key, has, expected in mismatched]
        raise InputError(f"{path} has weights of other shapes: {contradictions.list_names(shapes)}")
    slices = contradictions.read_slices(Path(path))
    _check_types(path, slices, module)
    contradictions.check_ties(path, slices, module)
    contradictions.check_weights(path, module)
    notes = {}
    if random_keys:
        notes["new weights"] = (
            f"{contradictions.list_names(random_keys)}: the file lacks them, they are random"
        )
    if report["unexpected_keys"]:
        notes["unused weights"] = contradictions.list_names(sorted(report["unexpected_keys"]))
    return notes


def check_tokenizer(path: str, tokenizer: PreTrainedTokenizerBase) -> None:
    files = getattr(tokenizer, "vocab_files_names", {})
    names = sorted({*files.values(), TOKENIZER} if files else {TOKENIZER_CONFIG})
    if Path(path).is_dir() and not any((Path(path) / name).is_file() for name in names):
        raise InputError(
            f"{path} has no tokenizer: it lacks {' and '.join(names)}; put the tokenizer's files there"
        )
    if len(tokenizer.get_vocab()) <= len({*tokenizer.all_special_tokens}):
        raise InputError(f"the tokenizer of {path} has no symbols: get its files again")
