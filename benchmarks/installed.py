"""What the core and each extra take on disk and to import, of the wheel in empty environments: a Markdown table.

    python benchmarks/installed.py [--only core app …]

The wheel is built and installed with the pins of constraints.txt into an environment of its own; every extra goes
into a copy of that one, alone. There `tprprobe --version`, `models` and `docs` must run in an empty folder. MB are those
of the installed packages (an extra's: what it adds), seconds are of a processor, medians of three processes in turn;
an extra's are those that its packages add to `tp.load_model, tp.extract, tp.cluster`, which load the core. Needs pip's index.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
COMMANDS = ("--version", "models", "docs")
CORE = "tprprobe.load_model, tprprobe.extract, tprprobe.cluster"  # `import tprprobe` alone imports next to nothing
ROUNDS = 3
IMPORTED = {  # where a package's module has another name
    "mathematics_dataset": "tprpapers.worlds.mathematics.generator",  # which mends it for today's sympy
    "pillow": "PIL",
    "rouge_score": "rouge_score.rouge_scorer",
    "umap_learn": "umap",
}


def read_extras() -> dict[str, list[str]]:
    """The extras that users install, each with the modules of its packages."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = table["project"]["optional-dependencies"]
    return {
        extra: [_module(package) for package in packages]
        for extra, packages in requirements.items()
        if extra not in ("all", "dev")
    }


def _module(requirement: str) -> str:
    name = re.split(r"[\[<>=~ ]", requirement)[0].lower().replace("-", "_")
    return IMPORTED.get(name, name)


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed; what it said is the message.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{process.stderr}")
    return process.stdout


def install(environment: Path, *packages: str) -> None:
    """Installs into an environment, pinned."""
    options = ["--quiet", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
    run(environment / "bin/python", "-m", "pip", "install", *options, *packages)


def megabytes(environment: Path) -> float:
    """The size of what is installed."""
    (packages,) = environment.glob("lib/python*/site-packages")
    return sum(path.lstat().st_size for path in packages.rglob("*")) / 1e6


def import_seconds(environment: Path, modules: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds of processes that load the core alone, and in turn the modules too."""
    rounds = []
    for _ in range(ROUNDS):
        for extra_modules in ([], modules):
            words = [
                "import tprprobe",
                CORE,
                *(f"import {module}" for module in extra_modules),
                "import os",
            ]
            code = "; ".join([*words, "print(sum(os.times()[:2]))"])
            rounds.append(
                float(run(environment / "bin/python", "-c", code, cwd=folder).split()[-1])
            )
    return median(rounds[::2]), median(rounds[1::2])


def check(environment: Path, folder: Path) -> None:
    """Commands of the wheel run in an empty folder."""
    for command in COMMANDS:
        run(environment / "bin/python", "-m", "tprprobe", command, cwd=folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", help="core and extras; all without it")
    extras, arguments = read_extras(), parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        core, empty = work / "core", work / "empty"
        empty.mkdir()
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(work), str(ROOT))
        (wheel,) = work.glob("*.whl")
        run(sys.executable, "-m", "venv", str(core))
        install(core, str(wheel))
        check(core, empty)
        base, (seconds, _) = megabytes(core), import_seconds(core, [], empty)
        print("| installed | MB | seconds to import |\n|---|---:|---:|")
        print(f"| core | {base:,.0f} | {seconds:.1f} |", flush=True)
        for extra, modules in extras.items():
            if arguments.only and extra not in arguments.only:
                continue
            copy = work / extra
            shutil.copytree(core, copy, symlinks=True, copy_function=os.link)
            install(copy, f"{wheel}[{extra}]")
            check(copy, empty)
            core_seconds, together = import_seconds(copy, modules, empty)
            cells = f"{megabytes(copy) - base:,.0f} | {max(0.0, together - core_seconds):.1f}"
            print(f"| {extra} | {cells} |", flush=True)
            shutil.rmtree(copy)


if __name__ == "__main__":
    main()
