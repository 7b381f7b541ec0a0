"""Processor seconds and peak memory of the flagship commands, before and after: a Markdown table.

    git worktree add /tmp/before COMMIT
    python benchmarks/commands.py --before /tmp/before [--rounds 1] [--only probe report …] [--reports 500]

Every command runs as a user would type it, in a process of its own, with the package of this checkout and in turn
with that of another; both read what the other made first (a store of generated reports, the folder of the demo).
Seconds are of the process and its children, user and system, imports included; of several rounds the median. The
span convolution, and the README's sweep, which take longest, are last.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "benchmarks/interventions/ablation.toml"
N_SPAN_CONV = (
    40  # reports whose grid of span convolutions is trained, with codelengths and all controls
)
MODELS = {"english": "tpt-d-english", "arithmetic": "tpt-c-arithmetic"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
ROLE = "encoder.2.self.role"


def commands(work: Path) -> dict[str, list[str]]:
    """The commands by what the table calls them; ``{out}`` is a new folder of each run."""
    demo, reports, few_reports = (str(work / name) for name in ("demo", "reports", "few"))
    store = f"{demo}/store"
    return {
        "models": ["models"],
        "figure (the list)": ["figure"],
        "inspect": ["inspect", store],
        "cluster one head": ["cluster", store, "--site", ROLE, "--head", "0", "--k", "20"],
        "report": ["report", demo, "--out", "{out}/report.html"],
        "name": ["name", store, "--out", "{out}/names"],
        "demo": ["demo", "--out", "{out}/demo"],
        "binding": ["binding", "--ckpt", MODELS["arithmetic"]],
        "probe pos": ["probe", "pos", reports, "--out", "{out}/pos"],
        f"probe pos --probe span-conv ({N_SPAN_CONV} reports)": [
            *("probe", "pos", few_reports, "--probe", "span-conv", "--out", "{out}/conv")
        ],
        "intervene ablation.toml": [
            *("intervene", str(RECIPE), "--ckpt", MODELS["arithmetic"], "--out", "{out}/sweep")
        ],
    }


def run(package: Path, command: list[str], folder: Path) -> tuple[float, float, float]:
    """Processor seconds, seconds by the clock and peak MB of a command.

    Raises:
        SystemExit: the command failed; what it said is the message.
    """
    with tempfile.TemporaryDirectory(dir=folder) as out, tempfile.TemporaryFile() as output:
        words = [word.format(out=out) for word in command]
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "tprprobe", *words],
            env=os.environ | ONE_THREAD | {"PYTHONPATH": str(package)},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=output,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(words)} with {package}:\n{output.read().decode()}")
        seconds = time.perf_counter() - began
    return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024


def prepare(package: Path, work: Path, reports: int) -> None:
    """Makes the folder of the demo, and the stores of reports."""
    run(package, ["demo", "--out", str(work / "demo")], work)
    for name, n in (("reports", reports), ("few", N_SPAN_CONV)):
        source = ["--ckpt", MODELS["english"], "--data", "english", "--split", "test"]
        run(package, ["extract", *source, "-n", str(n), "--out", str(work / name)], work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--before", type=Path, help="another checkout; without it only this one")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--reports", type=int, default=500)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the commands' names")
    arguments = parser.parse_args()
    packages = [ROOT] if arguments.before is None else [arguments.before.resolve(), ROOT]
    names = ["after"] if arguments.before is None else ["before", "after"]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        prepare(packages[0], work, arguments.reports)
        heads = [f"{name}, {unit}" for unit in ("s", "s by the clock", "MB") for name in names]
        print(f"| command | {' | '.join(heads)} | ratio |")
        print("|---|" + "---:|" * (len(heads) + 1), flush=True)
        for title, command in commands(work).items():
            if not any(text in title for text in arguments.only):
                continue
            rounds = [
                [run(package, command, work) for package in packages]
                for _ in range(arguments.rounds)
            ]
            measures = [
                [median(unit) for unit in zip(*side, strict=True)]
                for side in zip(*rounds, strict=True)
            ]
            cells = [
                f"{side[unit]:,.{digits}f}"
                for unit, digits in enumerate((2, 2, 0))
                for side in measures
            ]
            ratio = f"{measures[0][0] / measures[-1][0]:.2f}×" if arguments.before else ""
            print(f"| `{title}` | {' | '.join(cells)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
