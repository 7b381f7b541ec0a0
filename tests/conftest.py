"""Fixtures of the whole suite."""

import gc
import os
import random
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from hypothesis import settings
from jaxtyped import begin_test, check

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers have two cores
jaxtyping.jaxtyped = check  # which its import hook puts around every function
ROOT = Path(__file__).parent.parent
LONG = (  # a quarter of a minute or more
    *("browser", "catalogue", "dask_workers", "workers", "faults", "probing", "shipped", "demo"),
    *("paper", "decomposition", "store", "operations", "language", "readme", "resuming"),
)
settings.register_profile("tprprobe", deadline=None)  # a shared core may be slow, not wrong
settings.load_profile("tprprobe")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the suite: an order at random, and how much, and which inputs, the long runs try."""
    parser.addoption(
        "--shuffle", metavar="SEED", help="modules, and the tests in each, in an order of this seed"
    )
    parser.addoption(
        "--soak-seed", type=int, default=0, help="other inputs in `-m soak` (default 0)"
    )
    parser.addoption("--soak-inputs", type=int, help="inputs of each target in `-m soak`")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long modules first, so that no worker waits for another at the end; with ``--shuffle``, modules and the
    tests in each at random.
    """
    if seed := config.getoption("--shuffle"):
        rng = random.Random(seed)
        modules = {item.path: rng.random() for item in items}
        items.sort(key=lambda item: (modules[item.path], rng.random()))
    else:
        long = {f"test_{name}.py": place for place, name in enumerate(LONG)}
        items.sort(key=lambda item: long.get(item.path.name, len(long)))


def pytest_sessionstart() -> None:
    """What is imported while tests are collected stays: no pass of the garbage collector looks at it."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def soaking(pytestconfig: pytest.Config) -> Callable[[int], tuple[int, int]]:
    """The number of inputs of a target, whose usual one is given, and their seed."""
    n_inputs, seed = (pytestconfig.getoption(f"--soak-{name}") for name in ("inputs", "seed"))
    return lambda usual: (n_inputs or usual, seed)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a test draws, and the fixtures made for it, does not hang on the tests before it."""
    import torch  # which reads the variables set above

    begin_test()
    torch.manual_seed(zlib.crc32(item.nodeid.encode()))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch, root: Path) -> Callable[..., Any]:
    """Opens a page of the dashboard over a folder, with an address's parameters; no browser."""
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    monkeypatch.syspath_prepend(str(root / "app"))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # AppTest replaces it

    def opened(folder: Path, name: str = "overview", **address: str) -> Any:
        monkeypatch.setattr("sys.argv", ["main.py", str(folder)])
        app = testing.AppTest.from_file(str(root / "app" / "main.py"), default_timeout=120)
        for key, value in address.items():
            app.query_params[key] = value
        app.run()
        return app if name == "overview" else app.switch_page(f"pages/{name}.py").run()

    return opened


@pytest.fixture(scope="session")
def shared() -> Path:
    """Optional local fixtures and corpora beside the checkout."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the parity fixtures and corpora beside the checkout are absent")
    return path


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """A tiny random TP-Transformer (or what ``options`` make of it) that knows its vocabulary.

    A ``fluent`` one writes different answers of any length to different questions, and ends most.
    """
    from torch import nn

    from tprprobe.data.vocabularies.characters import characters
    from tprprobe.models import build

    def make(seed: int = 0, fluent: bool = False, **options: Any) -> Any:
        sizes = {"d_model": 16, "n_heads": 2, "n_layers": (2, 1), "d_ff": 24}
        model: Any = build({"architecture": "tp-transformer", **sizes, **options}, seed=seed)
        model.vocabulary = characters()
        if fluent:
            for linear in (module for module in model.modules() if isinstance(module, nn.Linear)):
                linear.weight.data.mul_(6)
            end = model.embedding.token.weight.data[model.config.eos]
            model.decoder[-1].norm4.bias.data.add_(0.5 * end / end.norm())
        return model.eval()

    return make


@pytest.fixture(scope="session")
def fluent(make_model) -> Any:
    """A model that writes different answers, called ``tiny``."""
    model = make_model(fluent=True, seed=4)
    model.name = "tiny"
    return model


@pytest.fixture(scope="session")
def make_data() -> Callable[..., Any]:
    """A data set of given (question, answer) pairs, one module."""
    from tprpapers.worlds.mathematics.questions import Question
    from tprprobe.data.dataset import Dataset

    @dataclass(frozen=True)
    class Listed(Dataset[Question]):
        examples_: tuple[Question, ...]

        def read(self, rows: Sequence[int]) -> Iterator[Question]:
            return (self.examples_[row] for row in rows)

    def make(pairs: Iterable[tuple[str, str]], module: str = "sums") -> Listed:
        examples = tuple(Question(question, answer, module) for question, answer in pairs)
        return Listed("listed", "interpolate", 0, range(len(examples)), examples)

    return make


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """A folder of transformers: a tiny random GPT-2 with its head."""
    from planted.foreign import save_foreign

    return save_foreign("gpt2", tmp_path_factory.mktemp("hf") / "tiny", "causal")


@pytest.fixture(scope="session")
def divisions(make_data) -> Any:
    """18 divisions, whose answers are 1 or 2."""
    pairs = [(f"{a}/{b} - {b}", "1" if a % 2 else "2") for a in range(1, 7) for b in range(2, 5)]
    return make_data(pairs, "arithmetic__mixed")


@pytest.fixture(scope="session")
def frame(tmp_path_factory) -> str:
    """Minimal pairs of who sees whom."""
    from planted.word_models import FRAME

    path = tmp_path_factory.mktemp("frames") / "seeing.toml"
    path.write_text(FRAME)
    return f"pairs:{path}"


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Any:
    """Eight questions whose roles have known clusters, for modules that plant no store of their own."""
    from planted.questions import plant

    return plant(tmp_path_factory.mktemp("planted") / "store", 8)


@pytest.fixture(scope="session")
def checkpoint(make_model, tmp_path_factory) -> Path:
    """The folder of a tiny random TP-Transformer whose card names no data."""
    from tprprobe.models.checkpoint import save_pretrained

    return save_pretrained(make_model(), tmp_path_factory.mktemp("checkpoints") / "tiny")


@pytest.fixture(scope="session")
def questions(tmp_path_factory) -> str:
    """A folder of published files: sums of two digits, 40 to train on and 24 of ``interpolate``."""
    folder = tmp_path_factory.mktemp("questions")
    for split, start, n in (("train-easy", 0, 40), ("interpolate", 40, 24)):
        (folder / split).mkdir()
        for module, ask in (
            ("arithmetic__add_or_sub", "What is {a} plus {b}?"),
            ("arithmetic__mixed", "Let {a}*{b}."),
        ):
            pairs = [(7 * i % 10, i // 10) for i in range(start, start + n)]
            lines = [f"{ask.format(a=a, b=b)}\n{a + b}\n" for a, b in pairs]
            (folder / split / f"{module}.txt").write_text("".join(lines))
    return str(folder)
