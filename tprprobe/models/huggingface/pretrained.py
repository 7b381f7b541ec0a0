"""A model of transformers, loaded once, in its dtype, with its tokenizer; nothing of its folder is run."""

import inspect
import os
import weakref
from contextlib import ExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.models.checkpoint import TRANSFORMERS, UNTRAINED
from tprprobe.models.huggingface import faults
from tprprobe.models.huggingface.anatomy import explore
from tprprobe.models.huggingface.contradictions import check_symbols, find_gguf, read_once
from tprprobe.models.huggingface.language import TEXT, Pretrained
from tprprobe.models.huggingface.sentences import MODULES, Encoding, Folder
from tprprobe.models.huggingface.taps import EAGER, attending
from tprprobe.models.huggingface.tokenizer import (
    CAUSAL,
    MASKED,
    SEQ2SEQ,
    count_rows,
    has_two_stacks,
)
from tprprobe.models.placement import AUTO, Placement, input_device
from tprprobe.site.hooks import capture

PLAIN = Placement()
Options = dict[str, Any]  # of ``from_pretrained``
SHORT, LONG = 4, 9  # symbols of two texts that are read together
LAYER_SITES = ("self.query", "self.key", "self.value", "self.attention", "self.filler", "mlp")
HEADS = {  # transformers' mappings from configurations to the models with a head
    SEQ2SEQ: "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    MASKED: "MODEL_FOR_MASKED_LM_MAPPING",
    CAUSAL: "MODEL_FOR_CAUSAL_LM_MAPPING",
}


def read_transformers(
    path: str, local_files_only: bool, seed: int | None, placement: Placement = PLAIN
) -> Pretrained:
    """The attached model with its vocabulary, of a folder, file, hub ID or ID@REVISION; with a seed randomly initialized."""
    if seed is not None:
        placement.check_own(f"a model without weights ({path})")
    options: Options = {"local_files_only": local_files_only, "trust_remote_code": False}
    file, repo, revision = find_gguf(path), *path.partition("@")[::2]
    if revision and hub.is_plain_id(repo) and not os.path.exists(repo):
        options["revision"] = revision
    else:
        repo = path
    if file is None:
        options["local_files_only"] = check_place(repo, local_files_only, options.get("revision"))
    else:
        options["gguf_file"] = file.name
    with (
        faults.refusing(f"no transformers model {path!r} here or on the hub"),
        read_once(file) as weights,
        ExitStack() as opened,
    ):
        place = repo if file is None else str(file.parent)
        offload = TemporaryDirectory(prefix="tprprobe-") if placement.device_map else nullcontext()
        converted = opened.enter_context(offload)  # weights that are others than in the files
        module, tokenizer, notes, encoding = _read(place, options, seed, placement, converted)
        weakref.finalize(module, opened.pop_all().close)
    notes = weights | notes
    twin = UNTRAINED if seed is not None else ""
    name = f"{twin}{TRANSFORMERS}{os.path.basename(path.rstrip('/'))}"
    attached = attach_layers(module.eval(), tokenizer, name, path, encoding)
    attached.notes = notes = notes | attached.notes
    if placement.dtype is None and module.dtype != torch.float32:
        kind = str(module.dtype).removeprefix("torch.")
        note(f"{name}: weights in {kind}, the checkpoint's: --dtype has others")
    for kind, text in notes.items():
        note(f"{name}: {kind}: {text}")
    return attached


def _read(
    path: str, options: Options, seed: int | None, placement: Placement, converted: str | None
) -> tuple[
    PreTrainedModel,
    PreTrainedTokenizerBase,
    dict[str, str],
    Encoding | None,
]:
    """The model, its tokenizer, what there is to say of both, and what makes one vector of a text."""
    folder = None if "gguf_file" in options else Folder(path, options)
    if folder and folder.inside:
        inside = os.path.join(path, folder.inside)
        path, options = (inside, options) if os.path.isdir(path) else (path, {**options, "subfolder": folder.inside})  # fmt: skip
    config = transformers.AutoConfig.from_pretrained(path, **options)
    faults.check_sizes(path, config, fits=not placement.device_map)
    is_sentences = bool(folder and folder.modules)
    kind: Any = _model_class(path, config, folder is None, is_sentences)
    check_symbols(Path(path) / faults.TOKENIZER)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
    if folder:
        faults.check_tokenizer(path, tokenizer)
    notes = faults.compare_symbols(tokenizer, config)
    encoding = None
    if folder and is_sentences:
        notes |= folder.prepare(tokenizer)
        steps = [folder.read_step(module) for module in folder.modules[1:]]
        encoding = Encoding(steps) if steps else None
    if seed is not None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            dtype = placement.dtype or config.dtype or torch.float32
            module = kind._from_config(config, dtype=dtype, **_attending(kind))
    else:
        module, report = kind.from_pretrained(
            path, config=config, dtype=placement.dtype or (AUTO if folder else torch.float32),
            output_loading_info=True, ignore_mismatched_sizes=True,
            **options, **_attending(kind), **placement.options(converted),
        )  # fmt: skip
        notes |= faults.read_report(path, module, report)
    if not placement.is_dispatched:
        module.to(placement.device)
    return module, tokenizer, notes, encoding and encoding.to(input_device(module), module.dtype)


def check_place(path: str, local_files_only: bool, revision: str | None = None) -> bool:
    """Whether only this machine is asked, which has a folder, or the hub cannot be."""
    folder = Path(path)
    if folder.is_dir():
        if not any((folder / name).is_file() for name in (hub.CONFIG, MODULES)):
            raise InputError(
                f"{path} has no {hub.CONFIG} and no .gguf file: give a folder of transformers; {hub.OWN_MODULE}"
            )
        return True
    if not hub.is_plain_id(path) or folder.exists():
        near = hub.near_folders(path)
        raise InputError(f"no folder {path!r} here{near}: give hf:FOLDER, hf:FILE.gguf or a hub id")
    if local_files_only or not hub.is_offline():
        return local_files_only
    if hub.find_in_cache(path, revision):
        return True
    place = f"no folder {path!r} here{hub.near_folders(path)}, it is not in the hub's cache"
    raise InputError(f"{place}, and the hub cannot be reached: give hf:FOLDER")


def attach_layers(
    module: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    name: str,
    source: str | None = None,
    encoding: Encoding | None = None,
) -> Pretrained:
    has_decoder = has_two_stacks(module)
    module.config.is_encoder_decoder = has_decoder
    for submodule in module.modules():
        if getattr(submodule, "chunk_size_feed_forward", 0):  # whole, it returns the same
            vars(submodule)["chunk_size_feed_forward"] = 0
    parameters = inspect.signature(module.forward).parameters

    def run(ids: Tensor, target: Tensor, **options: bool) -> object:
        arguments = {TEXT: ids, **({"decoder_input_ids": target} if has_decoder else {}), **options}
        return module(**arguments, **({"use_cache": False} if "use_cache" in parameters else {}))

    computes_attention = not module._can_set_attn_implementation()
    with faults.refusing(f"{name} does not run on text alone"), attending(module, EAGER) if computes_attention else nullcontext():  # fmt: skip
        anatomy = explore(module, run, has_decoder)
    if not anatomy.stacks:
        raise InputError(
            f"{name}: {type(module).__name__} has no list of layers that return one vector for every token: "
            "name its sites with tp.attach"
        )
    with faults.refusing(f"the tokenizer of {name} cannot be used"):
        attached = Pretrained(module, tokenizer, anatomy, head_of(module), encoding)
    attached.name, attached.source = name, source
    attached.attach_again = lambda twin: attach_layers(twin, tokenizer, name, source, encoding)
    attached.eval()
    with faults.refusing(f"{name} does not run on texts of two lengths"):
        settle(attached)
    return attached


@torch.no_grad()
def settle(model: Pretrained) -> None:
    """Removes the sites that no run reaches and tests whether padding changes states; notes on both."""
    pad = model.config.pad
    symbols = [i for i in range(1, min(count_rows(model.module), 30)) if i != pad]
    ids = torch.tensor([(symbols * LONG)[:LONG]] * 2, device=model.device).roll(1, 0)
    ids[1, SHORT:] = pad
    target = ids[:, :SHORT].clamp(min=0)
    with capture(model, "*") as padded:
        model.run(ids, target)
    model.taps.drop(model, [name for name in model.taps.sites if name not in padded])
    states = [name for name in padded if name.endswith(".hidden")]
    with capture(model, states) as unpadded:
        model.run(ids[1:, :SHORT], target[1:])
    model.compare_padded((padded[n][1:, : v.shape[1]], v) for n, v in unpadded.items())
    layers = [name.removesuffix(".hidden") for name in states]
    lacking = {
        site: sum(f"{layer}.{site}" not in padded for layer in layers) for site in LAYER_SITES
    }
    if any(lacking.values()):
        listing = ", ".join(f"{site} in {n}" for site, n in lacking.items() if n)
        model.notes["no sites"] = f"{listing} of {len(layers)} layers"


def head_of(module: PreTrainedModel) -> str | None:
    config = module.config
    return next((head for head in HEADS if type(module) in _classes(HEADS[head], config)), None)


def _classes(mapping: str, config: PreTrainedConfig) -> tuple[type[PreTrainedModel], ...]:
    """The classes of models that a mapping of transformers has for a configuration."""
    classes = getattr(transformers, mapping).get(type(config), ())
    return classes if isinstance(classes, tuple) else (classes,)


def _model_class(
    path: str, config: PreTrainedConfig, is_gguf: bool, is_sentences: bool
) -> type[PreTrainedModel]:
    """The class that config.json names, without heads of other tasks; unnamed, encoder-decoders and GGUF files have a head."""
    saved, classes = config.architectures or (), ()
    if is_sentences:
        if config.is_encoder_decoder:
            classes = _classes("MODEL_FOR_TEXT_ENCODING_MAPPING", config)
    elif saved:
        classes = [kind for name in saved if (kind := _named_class(name, config)) is not None]
    elif config.is_encoder_decoder or is_gguf:
        classes = _classes(HEADS[SEQ2SEQ if config.is_encoder_decoder else CAUSAL], config)
    classes = classes or _classes("MODEL_MAPPING", config)
    if not classes:
        raise InputError(f"{path} is of type {config.model_type!r}, which transformers lacks")
    kind = classes[0]
    if kind.main_input_name != TEXT:
        raise InputError(
            f"{path} is of type {config.model_type!r}, which reads {kind.main_input_name}: hf: reads "
            "models of text"
        )
    return kind


def _named_class(name: str, config: PreTrainedConfig) -> type[PreTrainedModel] | None:
    """The class of this name; None for another task's or library's. A pretraining class gives its masked head, if that is part of it."""
    kind = getattr(transformers, name, object)
    config_class = getattr(kind, "config_class", None)
    if config_class is None or not issubclass(kind, PreTrainedModel):
        return None
    if config_class is not type(config):
        raise InputError(
            f"{config.name_or_path}: config.json has model_type {config.model_type!r}, and architectures {name}, which "
            f"is of type {config_class.model_type!r}: correct one of them"
        )
    if "For" not in name or any(kind in _classes(mapping, config) for mapping in HEADS.values()):
        return kind
    masked = next(iter(_classes(HEADS[MASKED], config)), None)
    tied = getattr(masked, "_tied_weights_keys", None)
    is_same = tied and tied == getattr(kind, "_tied_weights_keys", None)
    is_part = name.endswith("ForPreTraining") and is_same
    return masked if is_part else None


def _attending(kind: type[PreTrainedModel]) -> dict[str, str]:
    """Options by which a model that does not call the common attention has maps of attention."""
    return {} if kind._can_set_attn_implementation() else {"attn_implementation": "eager"}
