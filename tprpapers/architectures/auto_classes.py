"""Our checkpoints in transformers' Auto classes; to import this module registers them.

``AutoConfig``, ``AutoTokenizer``, ``AutoModel`` (the encoder) and ``AutoModelForSeq2SeqLM`` read
checkpoint folders and hub ids without remote code; what ``save_pretrained`` writes, ``load_model``
reads. ``pipeline("seq2seq", MODEL)`` writes texts.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    GenerationMixin,
    Pipeline,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.pipelines import PIPELINE_REGISTRY

from tprprobe import plugins
from tprprobe.data.vocabularies.characters import Vocabulary
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.files.writing import write_file
from tprprobe.models.architectures import build, find_architecture
from tprprobe.models.checkpoint import SEQ2SEQ, TYPED, checkpoint_files, read_checkpoint
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import CaptionModel, Model
from tprprobe.site.hooks import capture

OPTIONS = {  # theirs → ours
    "num_beams": "beam",
    "min_new_tokens": "min_length",
    "no_repeat_ngram_size": "no_repeat",
    "length_penalty": "length_penalty",
    "early_stopping": "early_stopping",
}
IGNORED = ("use_cache", "return_dict_in_generate", "pad_token_id", "eos_token_id", "bos_token_id",
           "decoder_start_token_id", "tokenizer", "output_attentions", "output_hidden_states",
           "transformers_version")  # fmt: skip
NEW_TOKENS = 32  # that are written where nobody says how many


class TPRConfig(PreTrainedConfig):
    """The settings of a checkpoint's config.json: ``settings["architecture"]`` and its options."""

    model_type = TYPED["model_type"]
    settings: dict | None = None

    def __post_init__(self, **kwargs: Any):
        own = self.settings or {}
        self.is_encoder_decoder = True
        self.vocab_size, self.pad_token_id = own.get("vocab_size"), own.get("pad")
        self.bos_token_id = self.decoder_start_token_id = own.get("sos")
        self.eos_token_id = own.get("eos")
        super().__post_init__(**kwargs)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        name, known = config_dict.get("architecture"), {"architecture"}
        if name in plugins.find("models"):
            options = dataclasses.fields(find_architecture(name)[0].config_class)
            known |= {option.name for option in options}
        settings = {k: v for k, v in config_dict.items() if k in known}
        others = {k: v for k, v in config_dict.items() if k not in settings}
        return super().from_dict({**others, "settings": settings}, **kwargs)

    def to_diff_dict(self) -> dict[str, Any]:
        """What a folder's config.json says, flat, as :func:`tprprobe.models.load_model` reads it."""
        return {**TYPED, "architectures": self.architectures, **(self.settings or {})}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), **self.to_diff_dict()}


class TPRModel(PreTrainedModel):
    """A model of ours; called with a source it returns the states of its encoder's last layer."""

    config_class = TPRConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    model: Model

    def __init__(self, config: TPRConfig, model: Model | None = None):
        super().__init__(config)
        self.model = model if model is not None else build(dict(config.settings or {}), seed=0)
        if isinstance(self.model, CaptionModel):
            raise InputError(
                f"{self.model.name} reads features of images, which no Auto class does: tprprobe.load_model"
            )
        self.post_init()

    def _init_weights(self, module: Any) -> None:
        """Nothing: a model of ours comes initialized."""

    @classmethod
    def from_pretrained(cls, name: Any, *_: Any, **options: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The model of a shipped name, folder or hub id; ``dtype`` and ``local_files_only`` are heeded."""
        model = read_checkpoint(name, bool(options.get("local_files_only")))
        folder = cast(Path, model.folder)
        own = cls(TPRConfig.from_dict(json.loads((folder / hub.CONFIG).read_text("utf-8"))), model)
        own.config._name_or_path = str(name)
        dtype = options.get("dtype") or options.get("torch_dtype") or "auto"
        if dtype != "auto":
            own.to(getattr(torch, dtype) if isinstance(dtype, str) else dtype)
        return own.eval()

    def save_pretrained(self, save_directory: str | os.PathLike[str], **_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for name, content in checkpoint_files(self.model).items():
            write_file(Path(save_directory) / name, content)

    def get_input_embeddings(self) -> Any:
        return next(each for each in self.model.modules() if isinstance(each, torch.nn.Embedding))

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        attention_mask: Tensor | None = None,
        **_: Any,
    ) -> Any:
        source = self._padded(input_ids, attention_mask)
        with capture(self.model, "encoder.-1.hidden") as acts:
            self.model.encode(source)
        (states,) = acts.values()
        return BaseModelOutput(last_hidden_state=cast(Any, states))

    def _padded(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The ids with the model's own padding where the mask is zero."""
        return ids if mask is None else ids.where(mask.bool(), self.model.config.pad)


class TPRForSeq2SeqLM(TPRModel, GenerationMixin):
    """A model of ours that writes: logits of the targets, and ``generate``."""

    def __init__(self, config: TPRConfig, model: Model | None = None):
        super().__init__(config, model)
        own = self.model.config
        self.generation_config = GenerationConfig(
            pad_token_id=own.pad, bos_token_id=own.sos, eos_token_id=own.eos,
            decoder_start_token_id=own.sos, max_new_tokens=NEW_TOKENS,
        )  # fmt: skip

    def forward(
        self,
        input_ids: Int[Tensor, "batch seq"],
        attention_mask: Tensor | None = None,
        decoder_input_ids: Int[Tensor, "batch target"] | None = None,
        labels: Int[Tensor, "batch target"] | None = None,
        **_: Any,
    ) -> Any:
        """Logits of the symbol behind each of ``decoder_input_ids``, or of ``labels`` moved by one.

        The loss is the mean over labels that are not −100.
        """
        own = self.model.config
        if decoder_input_ids is None:
            if labels is None:
                raise InputError("give decoder_input_ids or labels")
            start = torch.full_like(labels[:, :1], own.sos)
            before = labels[:, :-1].where(labels[:, :-1] >= 0, own.pad)
            decoder_input_ids = torch.cat([start, before], 1)
        logits = self.model(self._padded(input_ids, attention_mask), decoder_input_ids)
        loss = None if labels is None else F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return Seq2SeqLMOutput(loss=cast(Any, loss), logits=logits)

    @torch.no_grad()
    def generate(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        inputs: Int[Tensor, "batch seq"] | None = None,
        generation_config: GenerationConfig | None = None,
        *,
        input_ids: Int[Tensor, "batch seq"] | None = None,
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> Int[Tensor, "batch out"]:
        """The start symbol and what the model writes, token for token as our ``generate`` does.

        Raises:
            InputError: an option that our decoding does not have, such as ``do_sample``.
        """
        source = inputs if inputs is not None else input_ids
        if source is None:
            raise InputError("give input_ids to generate from")
        given = {} if generation_config is None else generation_config.to_diff_dict()
        asked = {k: v for k, v in {**given, **options}.items() if v is not None}
        most = asked.pop("max_new_tokens", None)
        longest = asked.pop("max_length", None)
        most = most or (longest - 1 if longest else NEW_TOKENS)
        own = {ours: asked.pop(theirs) for theirs, ours in OPTIONS.items() if theirs in asked}
        if unknown := [k for k, v in asked.items() if v and k[0] != "_" and k not in IGNORED]:
            raise InputError(
                f"generate does not have {', '.join(unknown)}; it has max_new_tokens, {', '.join(OPTIONS)}"
            )
        written = generate(self.model, self._padded(source, attention_mask), most, **own)
        return torch.cat([torch.full_like(written[:, :1], self.model.config.sos), written], 1)


class CharacterTokenizer(PreTrainedTokenizerFast):
    """The characters of a checkpoint's vocabulary, between start and end symbols."""

    @classmethod
    def from_pretrained(cls, name: Any, *_: Any, **options: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

        folder = hub.locate("models", name, bool(options.get("local_files_only")))
        symbols = Vocabulary.load(folder).symbols
        ids = {symbol: number for number, symbol in enumerate(symbols)}
        backend = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        backend.decoder = decoders.Fuse()
        backend.post_processor = processors.TemplateProcessing(
            single="<sos> $A <eos>",
            special_tokens=[(symbol, ids[symbol]) for symbol in ("<sos>", "<eos>")],
        )
        return cls(
            tokenizer_object=backend,
            bos_token="<sos>",
            eos_token="<eos>",
            pad_token="<pad>",
            unk_token="<unk>",
        )


class TextToText(Pipeline):
    """Texts for texts: ``[{"generated_text": …}]``."""

    _load_tokenizer = True

    def _sanitize_parameters(self, **options: Any) -> Any:
        return {}, options, {}

    def preprocess(self, input_: Any, **_: Any) -> Any:
        return cast(Any, self.tokenizer)(
            input_, return_tensors="pt", return_token_type_ids=False, truncation=True
        )

    def _forward(self, input_tensors: Any, **options: Any) -> Any:
        return {"written": cast(Any, self.model).generate(**input_tensors, **options)}

    def postprocess(self, model_outputs: Any, **_: Any) -> Any:
        tokenizer = cast(Any, self.tokenizer)
        texts = tokenizer.batch_decode(model_outputs["written"], skip_special_tokens=True)
        return [{"generated_text": text.strip()} for text in texts]


TASK = "seq2seq"  # transformers 5 has no task of texts for texts, and refuses their old names
assert TPRForSeq2SeqLM.__name__ == SEQ2SEQ
AutoConfig.register(TPRConfig.model_type, TPRConfig, exist_ok=True)
AutoModel.register(TPRConfig, TPRModel, exist_ok=True)
AutoModelForSeq2SeqLM.register(TPRConfig, TPRForSeq2SeqLM, exist_ok=True)
AutoTokenizer.register(TPRConfig, fast_tokenizer_class=CharacterTokenizer, exist_ok=True)
if TASK not in PIPELINE_REGISTRY.get_supported_tasks():
    PIPELINE_REGISTRY.register_pipeline(TASK, TextToText, pt_model=(AutoModelForSeq2SeqLM,))
