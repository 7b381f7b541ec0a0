"""Settings of a run: which probes, beside which controls, trained how."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from tprprobe import plugins
from tprprobe.errors import InputError, unknown

SpanMode = Literal["first_state", "all_states", "last_state"]
Loss = Literal["sigmoid", "softmax"]
Kind = Literal["span-conv", "linear"]

CONTROLS = (  # what each is: docs/probing.md
    "control", "prefix", "shuffled", "permuted", "untrained", "rescaled", "static", "previous"
)  # fmt: skip
BASELINES = ("majority", "identity")  # need no vector
HIDDEN = 256
SCREENED = 8192  # targets that a linear probe learns from: layers then rank as with all
SITES = ("*.role", "*.filler", "*.tpr", "*.hidden")


@dataclass(frozen=True)
class Schedule:
    """Adam (AMSGrad) on batches of whole samples, validated after ``every`` batches (None: an epoch).

    The learning rate is halved when ``patience`` + 1 validations in a row are no better, and a probe
    is done after ``stop`` such validations. It keeps its best weights. ``limit`` validations are a
    bound of time: a probe that it ends is not trained to its end, and a run says how many are not.
    """

    learning_rate: float = 5e-3
    batch: int = 16
    every: int | None = None
    patience: int = 0
    stop: int = 3
    limit: int = 100
    watch: Literal["loss", "f1"] = "loss"
    clip: float = 5.0
    smallest_rate: float = 1e-6
    standardize: bool = True


SCHEDULES = {
    "short": Schedule(),
    # Source: Tenney et al. 2019, jiant/config/defaults.conf
    "tenney": Schedule(1e-4, 32, 1000, 5, 20, 250, "f1", standardize=False),
}


@dataclass(frozen=True)
class ProbeSettings:
    """The settings of a run of probes.

    Args:
        probe: ``linear`` (the default) is multinomial logistic regression on the mean of a span's
            states, whose L2 penalty is chosen on held-out documents. It is optimal, so that it has one
            seed, no schedule, and the loss ``softmax``; probes of documents that are divided by chance
            are cross-fitted. ``span-conv`` (Tenney et al. 2019) is the default where seeds, a schedule
            or the loss ``sigmoid`` are set.
        sites: Sites to probe, as shell globs; by default roles, fillers, tprs and hidden states.
        heads: One probe per head, instead of one for all heads side by side.
        seeds: How many probes with different initialization and dropout; ``seed`` is the first.
        controls: ``control``, ``prefix``, ``shuffled``, ``permuted``, ``untrained``, ``rescaled``,
            ``static``, ``previous``, ``dictionary``; by default all that apply. Majority and identity need no training.
        span_mode: Which states of a span are read: ``all_states`` (default of an encoder),
            ``first_state`` (default of a decoder, where later states have read a part of the span)
            or ``last_state``.
        kernel: Width of the span convolution.
        causal: Whether a kernel looks back only (default in a decoder) or to both sides.
        schedule: Training schedule: ``short``, ``tenney`` (Tenney et al. 2019) or a Schedule.
        loss: ``sigmoid`` (every label by itself, default of span-conv) or ``softmax`` (linear has no
            other).
        information: Also codelengths and usable information, from further probes with softmax;
            by default of span-conv only.
        most: How many targets a probe learns from, at most (whole samples, drawn by chance; 0: all);
            by default 8192 of linear probes, and all of others.
        budget: Bytes of memory for probes and vectors; vectors that do not fit are read in every epoch.
        seed: Seed of random choices.
    """

    probe: str | None = None
    sites: tuple[str, ...] = SITES
    heads: bool = False
    seeds: int = 1
    controls: tuple[str, ...] | None = None
    span_mode: str | None = None
    kernel: int = 1
    causal: bool | None = None
    schedule: str | Schedule = "short"
    loss: str | None = None
    information: bool | None = None
    most: int | None = None
    budget: int = 2 * 2**30
    seed: int = 0

    def __post_init__(self):
        schedule = self.schedule if isinstance(self.schedule, str) else None
        known = [*CONTROLS, *plugins.find("controls")]
        choices: list[tuple[str, str | None, Collection[str]]] = [
            *(("control", control, known) for control in self.controls or ()),
            ("span mode", self.span_mode, get_args(SpanMode)),
            ("loss", self.loss, get_args(Loss)),
            ("probe", self.probe, get_args(Kind)),
            ("schedule", schedule, SCHEDULES),
        ]
        for name, value, accepted in choices:
            if value is not None and value not in accepted:
                raise unknown(name, value, accepted)
        if self.most is not None and self.most < 0:
            raise InputError("most is at least 1, or 0 for all targets")
        if self.kernel < 1 or self.seeds < 1 or self.budget < 1:
            raise InputError("kernel, seeds and budget are at least 1")
        if self.kernel % 2 == 0 and self.causal is False:
            raise InputError(f"a kernel of {self.kernel} has no middle: give an odd one, or causal")
        if self.probe == "linear" and (strange := self._trained_by_steps()):
            raise InputError(
                f"{', '.join(strange)}: a linear probe is the one optimum of its softmax loss, without "
                "seeds or schedule; leave it out, or train --probe span-conv"
            )

    def _trained_by_steps(self) -> list[str]:
        """The chosen settings that only span-conv has."""
        others = {"seeds": self.seeds > 1, "loss": self.loss == "sigmoid"}
        others["schedule"] = self.schedule != ProbeSettings.schedule
        return [name for name, other in others.items() if other]

    @property
    def kind(self) -> Kind:
        """The kind of the probes."""
        return cast(Kind, self.probe or ("span-conv" if self._trained_by_steps() else "linear"))

    @property
    def is_linear(self) -> bool:
        """True of probes without hidden units."""
        return self.kind == "linear"

    @property
    def loss_of_probes(self) -> Loss:
        """The loss that is used; the kind's default where none is chosen."""
        return cast(Loss, self.loss or ("softmax" if self.is_linear else "sigmoid"))

    @property
    def training(self) -> Schedule:
        """The schedule itself."""
        return SCHEDULES[self.schedule] if isinstance(self.schedule, str) else self.schedule

    @property
    def informs(self) -> bool:
        """True if codelengths and usable information are asked for."""
        return not self.is_linear if self.information is None else self.information

    @property
    def targets(self) -> int | None:
        """How many targets a probe learns from, at most; None for all."""
        if self.most is None:
            return SCREENED if self.is_linear else None
        return self.most or None

    @classmethod
    def of(cls, **settings: Any) -> "ProbeSettings":
        """The settings of keyword arguments; lists and single globs become tuples."""
        for key in ("sites", "controls"):
            value = settings.pop(key, None)
            if value is not None:
                settings[key] = (value,) if isinstance(value, str) else tuple(value)
        return cls(**settings)

    def mode(self, side: str) -> SpanMode:
        """Which states of a span are read on a side."""
        default = "first_state" if side == "target" else "all_states"
        return cast(SpanMode, self.span_mode or default)

    def window(self, side: str) -> range:
        """The rows around a state that the span convolution sees."""
        causal = self.causal if self.causal is not None else side == "target"
        behind = 0 if causal else self.kernel // 2
        return range(behind + 1 - self.kernel, behind + 1)

    def has(self, control: str) -> bool:
        """True if a control is asked for."""
        return self.controls is None or control in self.controls

    def as_dict(self) -> dict[str, Any]:
        """The settings in JSON types."""
        meant = {"schedule": asdict(self.training), "loss": self.loss_of_probes}
        meant |= {"probe": self.kind, "information": self.informs, "most": self.targets}
        return asdict(self) | meant
