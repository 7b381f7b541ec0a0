"""Settings of a run: which estimator, on which vectors, beside which controls."""

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from tprprobe import plugins
from tprprobe.errors import InputError, unknown

SpanMode = Literal["first_state", "all_states", "last_state"]

CONTROLS = (  # what each is: docs/probing.md
    "control", "prefix", "shuffled", "permuted", "untrained", "rescaled", "static", "previous"
)  # fmt: skip
SCREENED = 8192  # targets that a probe of one optimum learns from: layers then rank as with all
SITES = ("*.role", "*.filler", "*.tpr", "*.hidden")
LINEAR, SPAN_CONV = "linear", "span-conv"
SEQUENCE = "sequence"  # read as a whole, by estimators that need sequences
OF_LINEAR = {"schedule": "short", "loss": "softmax"}  # what linear probes do, too


@dataclass(frozen=True)
class ProbeSettings:
    """The settings of a run of probes.

    Args:
        estimator: What is fitted: an object with ``fit`` and ``predict``.
        sites: Sites to probe, as shell globs; by default roles, fillers, tprs and hidden states.
        heads: One probe per head, instead of one for all heads side by side.
        seeds: How many probes with different initialization and dropout; ``seed`` is the first.
        controls: ``control``, ``prefix``, ``shuffled``, ``permuted``, ``untrained``, ``rescaled``,
            ``static``, ``previous``, ``dictionary``; by default all that apply. Majority and identity need no training.
        span_mode: Which states of a span are read: ``all_states`` (default of an encoder, and of a causal model that only reads),
            ``first_state`` (default of sites ``decoder.…``, where later states have read a part of the span; own labels
            of its tokens are read at these tokens in any case)
            or ``last_state`` (default where the sample's one vector is read).
        kernel: Width of the span convolution.
        causal: Whether a kernel looks back only (default in a decoder) or to both sides.
        information: Also codelengths and usable information, from further probes;
            by default of span-conv only.
        most: How many targets a probe learns from, at most (whole samples, drawn by chance; 0: all);
            by default 8192, and of span-conv probes all.
        budget: Bytes of memory for probes and vectors; vectors that do not fit are read in every epoch.
        seed: Seed of random choices.
    """

    estimator: Any = None
    sites: tuple[str, ...] = SITES
    heads: bool = False
    seeds: int = 1
    controls: tuple[str, ...] | None = None
    span_mode: str | None = None
    kernel: int = 1
    causal: bool | None = None
    information: bool | None = None
    most: int | None = None
    budget: int = 2 * 2**30
    seed: int = 0

    def __post_init__(self):
        controls = [*CONTROLS, *plugins.find("controls")]
        for control in self.controls or ():
            if control not in controls:
                raise unknown("control", control, controls)
        if self.span_mode is not None and self.span_mode not in get_args(SpanMode):
            raise unknown("span mode", self.span_mode, get_args(SpanMode))
        if self.most is not None and self.most < 0:
            raise InputError("most is at least 1, or 0 for all targets")
        if self.kernel < 1 or self.seeds < 1 or self.budget < 1:
            raise InputError("kernel, seeds and budget are at least 1")
        if self.kernel % 2 == 0 and self.causal is False:
            raise InputError(f"a kernel of {self.kernel} has no middle: give an odd one, or causal")
        if self.seeds > 1 and "random_state" not in self.estimator.get_params():
            raise InputError(
                "seeds: these probes have no seed, each is the one optimum of its loss; leave it out, or train "
                "--probe span-conv"
            )

    @property
    def is_iterative(self) -> bool:
        return getattr(self.estimator, "iterative", False)

    @property
    def needs(self) -> str:
        """What the estimator reads of a target: its vectors, the states of its spans, or one vector of its sequence."""
        return getattr(self.estimator, "needs", "vectors")

    @property
    def with_codelength(self) -> bool:
        """True if codelengths and usable information are asked for."""
        is_asked = self.is_iterative if self.information is None else self.information
        return is_asked and self.has_predictions

    @property
    def has_predictions(self) -> bool:
        return hasattr(self.estimator, "predict")

    @property
    def metric(self) -> str:
        return "f1" if self.has_predictions else "score"

    @property
    def max_train_targets(self) -> int | None:
        """How many targets a probe learns from, at most; None for all."""
        if self.most is None:
            return None if self.is_iterative else SCREENED
        return self.most or None

    @classmethod
    def of(cls, estimator: Any = None, **settings: Any) -> "ProbeSettings":
        """The settings of keyword arguments; lists and single globs become tuples. What is no setting is a parameter of
        the estimator that is named.
        """
        from tprprobe.evaluation.runner import check_estimator, find_estimator

        if "probe" in settings:
            warnings.warn(
                "probe= is now estimator=; the old name works until 2027-06-01",
                FutureWarning,
                stacklevel=4,
            )
            estimator = settings.pop("probe")
        for key in ("sites", "controls"):
            value = settings.pop(key, None)
            if value is not None:
                settings[key] = (value,) if isinstance(value, str) else tuple(value)
        fields = {field.name for field in dataclasses.fields(cls)}
        parameters = {name: settings.pop(name) for name in [*settings] if name not in fields}
        if estimator is None or isinstance(estimator, str):
            schedule, loss = parameters.get("schedule", "short"), parameters.get("loss")
            is_trained = settings.get("seeds", 1) > 1 or schedule != "short" or loss == "sigmoid"
            name = estimator or (SPAN_CONV if is_trained else LINEAR)
            if name == LINEAR:
                parameters = dict(parameters.items() - OF_LINEAR.items())
            return cls(find_estimator(name, parameters), **settings)
        if parameters:
            names = ", ".join(sorted(parameters))
            raise InputError(f"{names}: no settings of a run; give an estimator its own parameters")
        return cls(check_estimator(estimator), **settings)

    def mode(self, side: str, predicts: bool) -> SpanMode:
        """Which states of a span are read on a side, and whether they predict it."""
        default = {SEQUENCE: "last_state"}.get(side, "first_state" if predicts else "all_states")
        return cast(SpanMode, self.span_mode or default)

    def window(self, side: str) -> range:
        """The rows around a state that the span convolution sees."""
        causal = self.causal if self.causal is not None else side == "target"
        behind = 0 if causal else self.kernel // 2
        return range(behind + 1 - self.kernel, behind + 1)

    def has(self, control: str) -> bool:
        return self.controls is None or control in self.controls

    def as_dict(self) -> dict[str, object]:
        from tprprobe.evaluation.runner import describe_estimator

        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields |= {"estimator": describe_estimator(self.estimator)}
        return fields | {"information": self.with_codelength, "most": self.max_train_targets}
