"""The network of the package g2p_en as a module of torch: a GRU reads letters, another writes phonemes.

The decoder gets the state of the encoder after the end of the word and nothing else. Letters and
phonemes are one vocabulary here (letters first), so that whatever handles a model with one vocabulary
handles this one.
Source: github.com/Kyubyong/g2p (Apache-2.0), whose weights are read as arrays.
"""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

import tprprobe as tp
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.site.attachment import Attached

FILE, ENCODING = "checkpoint20.npz", "encoding"
LETTERS = ("<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz")
NAMES = """AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH EH0 EH1 EH2
ER0 ER1 ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG OW0 OW1 OW2 OY0 OY1 OY2 P R S SH T TH
UH0 UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH"""
PHONEMES = ("<pad>", "<unk>", "<s>", "</s>", *NAMES.split())
FIRST_PHONEME = len(LETTERS)  # the id of the first phoneme
MAX_PHONEMES = 20  # phonemes of a word


class Spelling(Codec):
    """Letters and phonemes as ids: ``cat`` is three letters, ``K AE1 T`` three phonemes."""

    symbols = (*LETTERS, *(p if p not in LETTERS else f"phoneme {p}" for p in PHONEMES))
    pad, sos, eos = 0, FIRST_PHONEME + 2, FIRST_PHONEME + 3

    def __init__(self):
        phonemes = {name: FIRST_PHONEME + i for i, name in enumerate(PHONEMES) if i > 3}
        self._ids = {name: i for i, name in enumerate(LETTERS) if i > 2} | phonemes

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Nothing: the network ends a word itself."""
        return (), ()

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each letter or phoneme in the text, in characters."""
        places, end = [], 0
        for symbol in text.split():
            start = text.index(symbol, end)
            end = start + len(symbol)
            step = len(symbol) if symbol in self._ids else 1
            places += [(i, i + step) for i in range(start, end, step)]
        return places

    def encode(self, text: str) -> list[int]:
        """The ids of letters or phonemes; no start or end symbol is added.

        Raises:
            InputError: something else than letters a to z and phonemes.
        """
        symbols = [text[start:end] for start, end in self.offsets(text)]
        try:
            return [self._ids[symbol] for symbol in symbols]
        except KeyError as error:
            raise InputError(
                f"{text!r}: {error.args[0]!r} is neither a letter from a to z nor a phoneme"
            ) from None

    def spell(self, ids: list[int]) -> str:
        """The symbols of these ids with blanks between."""
        return " ".join(self.symbols[i] for i in ids)

    def files(self) -> dict[str, str]:
        """Nothing: the vocabulary is that of the module."""
        return {}


class Pronouncer(nn.Module):
    """Phonemes of a word: an embedding and a GRU for letters, the same for phonemes, one readout."""

    def __init__(self, d_embedding: int, d_model: int):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), d_embedding)
        self.encoder = nn.GRU(d_embedding, d_model, batch_first=True)
        self.state = nn.Identity()  # of the whole word, [batch, d_model]: all that the decoder gets
        self.phonemes = nn.Embedding(len(PHONEMES), d_embedding)
        self.decoder = nn.GRU(d_embedding, d_model, batch_first=True)
        self.readout = nn.Linear(d_model, len(PHONEMES))

    def encode(self, source: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch d_model"]:
        """The state after the end symbol, which follows the last letter; 0 fills up."""
        states, _ = self.encoder(self.letters(source))  # [batch, seq, d_model], of the letters
        end_index = (source != 0).sum(1) - 1
        at_end = states[torch.arange(len(source), device=source.device), end_index]
        end = self.letters(torch.full_like(source[:, :1], LETTERS.index("</s>")))
        return self.state(self._step(end, at_end))

    def _step(self, symbol: Float[Tensor, "batch 1 d"], state: Tensor) -> Tensor:
        """The encoder's state after one more symbol (not as a call of the module, whose states are
        those of letters)."""
        weights = [w for w, _ in self.encoder.named_parameters()]
        ih, hh, b_ih, b_hh = (getattr(self.encoder, name) for name in weights)
        return torch.gru_cell(symbol[:, 0], state, ih, hh, b_ih, b_hh)

    def forward(
        self, source: Int[Tensor, "batch seq"], target: Int[Tensor, "batch target_seq"]
    ) -> Float[Tensor, "batch target_seq vocab"]:
        """Logits of the phoneme (or letter, which is impossible) after each one of ``target``."""
        return self.decode(self.encode(source), target)

    def decode(
        self, state: Float[Tensor, "batch d_model"], target: Int[Tensor, "batch target_seq"]
    ) -> Float[Tensor, "batch target_seq vocab"]:
        """Logits of what follows each phoneme of ``target`` where the decoder starts from a state."""
        embedded = self.phonemes((target - FIRST_PHONEME).clamp_min(0))
        states, _ = self.decoder(embedded, state[None])
        logits = self.readout(states)
        return torch.cat([logits.new_full((*logits.shape[:2], FIRST_PHONEME), -1e4), logits], -1)

    @torch.no_grad()
    def write(self, state: Float[Tensor, "batch d_model"]) -> Int[Tensor, "batch target_seq"]:
        """The phonemes that the decoder writes greedily from states; the end symbol fills up."""
        end = FIRST_PHONEME + PHONEMES.index("</s>")
        symbol = torch.full(
            (len(state), 1), FIRST_PHONEME + PHONEMES.index("<s>"), device=state.device
        )
        hidden, symbols = state[None].contiguous(), []
        is_done = torch.zeros(len(state), dtype=torch.bool, device=state.device)
        for _ in range(MAX_PHONEMES):
            out, hidden = self.decoder(self.phonemes(symbol - FIRST_PHONEME), hidden)
            symbol = self.readout(out).argmax(-1) + FIRST_PHONEME
            is_done |= symbol[:, 0] == end
            symbols.append(torch.where(is_done[:, None], end, symbol))
            if is_done.all():
                break
        return torch.cat(symbols, 1)

    def generate(self, source: Int[Tensor, "batch seq"]) -> Int[Tensor, "batch target_seq"]:
        """The phonemes of words, written greedily; the end symbol fills up."""
        return self.write(self.encode(source))


def read_pronouncer(folder: str | Path) -> Pronouncer:
    """The network with the weights of a folder.

    Raises:
        InputError: the folder has none.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError(f"no {FILE} in {folder}: python -m studies.real fetch g2p")
    arrays = dict(np.load(path, allow_pickle=False))
    module = Pronouncer(arrays["enc_emb"].shape[1], arrays["enc_w_hh"].shape[1])
    names = {"letters.weight": "enc_emb", "phonemes.weight": "dec_emb"}
    names |= {"readout.weight": "fc_w", "readout.bias": "fc_b"}
    for side, short in (("encoder", "enc"), ("decoder", "dec")):
        names |= {
            f"{side}.{kind}_{side_weights}_l0": f"{short}_{kind[0]}_{side_weights}"
            for kind in ("weight", "bias")
            for side_weights in ("ih", "hh")
        }
    module.load_state_dict({name: torch.as_tensor(arrays[key]) for name, key in names.items()})
    return module.eval()


def attach_pronouncer(module: Pronouncer, name: str = "g2p") -> Attached:
    """The network with sites: ``encoding``, one vector a word, and ``encoder.0.hidden``, one a letter."""
    model = tp.attach(module, {ENCODING: "state", "encoder.0.hidden": "encoder"})
    model.name, model.vocabulary = name, Spelling()
    return model


def pronounce(model: Pronouncer, words: list[str], batch: int = 512) -> list[str]:
    """The phonemes of words, with blanks between."""
    return speak(model, encode_words(model, words, batch))


@torch.no_grad()
def encode_words(
    model: Pronouncer, words: list[str], batch: int = 512
) -> Float[np.ndarray, "word d_model"]:
    """The encoder's state of every word."""
    spelling, states = Spelling(), []
    for start in range(0, len(words), batch):
        ids = [torch.tensor(spelling.encode(word)) for word in words[start : start + batch]]
        states.append(model.encode(nn.utils.rnn.pad_sequence(ids, batch_first=True)).numpy())
    return np.concatenate(states)


def speak(model: Pronouncer, states: Float[np.ndarray, "word d_model"]) -> list[str]:
    """The phonemes that the decoder writes from states, with blanks between."""
    spelling = Spelling()
    symbols = model.write(torch.as_tensor(states, dtype=torch.float32))
    return [spelling.decode(row) for row in symbols.tolist()]
