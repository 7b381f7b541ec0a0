"""Runs every benchmark, keeps what each prints in `results/`, and writes their ratios over commits.

    python benchmarks/record.py [NAME…] [--tpdn PATH] [--page docs/benchmarks.md]

Without names all scripts of this folder run, one after another, on one thread, of the SIZES below. `results/NAME.csv` has a row for
every cell of the Markdown tables that NAME printed, with the commit, the day, the machine, its load
when the script began (above the number of cores it was shared), and the script's own processor time and
peak memory; what the same commit printed before is replaced. PATH is a checkout of github.com/tommccoy1/tpdn, for
`decomposition`, which then fits their encodings and measures their training beside.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
N_COMMITS = 6  # commits
SIZES = {  # smaller than the scripts' own, so that all of them take some 10 minutes
    "capture": ["--reports", "300"],
    "decomposition": ["--tokens", "100000"],
    "installed": ["--only", "app"],
}
ENCODINGS = "data/example.data_from_dev"  # of a checkout of tpdn
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
HEAD = """# Benchmarks over commits

This page lists the ratios that the scripts of `benchmarks/` print, by commit: how many times as fast (or as
slow, if the script says so) one side is as the other, both in one run on one machine. `make bench` writes
this page from `benchmarks/results/`. [How benchmarks are measured](../benchmarks/README.md) has conditions and limits.
"""


def scripts() -> list[str]:
    """The names of all benchmarks."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != Path(__file__).stem)


def cells(printed: str) -> Iterator[dict[str, str]]:
    """Every cell of the Markdown tables in a text: of which row and column, and what it says."""
    header: list[str] = []
    for line in printed.splitlines():
        if not line.startswith("|"):
            header = []
            continue
        row_cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not header:
            header = row_cells
        elif set("".join(row_cells)) - set("-: "):
            for column, value in zip(header[1:], row_cells[1:], strict=False):
                row = f"{header[0]}: {row_cells[0]}".removeprefix(": ")
                yield {"row": row, "column": column, "value": value}


def conditions() -> dict[str, object]:
    """The commit (with + where files differ from it), the day and the machine."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=FOLDER, capture_output=True, text=True)
        return run.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", ":!results")
    models = [
        line.partition(":")[2].strip()
        for line in (Path("/proc/cpuinfo").read_text().splitlines() if os.name == "posix" else [])
        if line.startswith("model name")
    ]
    return {
        "commit": git("rev-parse", "--short", "HEAD") + ("+" if changed else ""),
        "date": date.today().isoformat(),
        "machine": f"{(models or [platform.machine()])[0]}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
    }


def run(name: str, *arguments: str) -> bool:
    """Runs a benchmark, shows and keeps what it prints; false if it failed."""
    facts = conditions()
    command = [sys.executable, FOLDER / f"{name}.py", *arguments]
    roots = os.pathsep.join(filter(None, [str(FOLDER.parent), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        child = subprocess.Popen(
            command, stdout=out, env={**os.environ, **ONE_THREAD, "PYTHONPATH": roots}
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read()
    print(f"## {name}\n\n{printed}", flush=True)
    if child.returncode:
        return False
    facts |= {"processor_s": round(usage.ru_utime + usage.ru_stime, 1)}
    facts |= {"peak_mb": round(usage.ru_maxrss / 1024)}
    keep(name, [facts | cell for cell in cells(printed)])
    return True


def keep(name: str, rows: list[dict[str, object]]) -> None:
    """Adds rows to those of other commits."""
    if rows:
        file, table = RESULTS / f"{name}.csv", pd.DataFrame(rows).astype(str)
        if file.is_file():
            before = pd.read_csv(file, dtype=str, keep_default_na=False)
            table = pd.concat([before[before["commit"] != rows[0]["commit"]], table])
        RESULTS.mkdir(exist_ok=True)
        table.to_csv(file, index=False)


def page() -> str:
    """The page: a table of ratios each benchmark, a column each commit."""
    lines = [HEAD]
    for file in sorted(RESULTS.glob("*.csv")):
        results = pd.read_csv(file, dtype=str, keep_default_na=False)
        is_ratio = results["value"].str.fullmatch(r"[\d.,]+ ?×") | (
            results["column"].str.contains("ratio|times")
            & results["value"].str.fullmatch(r"[\d.,]+")
        )
        ratios = results[is_ratio].copy()
        if ratios.empty:
            continue
        commits = list(dict.fromkeys(results["commit"]))[-N_COMMITS:]
        latest = results[results["commit"] == commits[-1]].iloc[0]
        heads = [
            f"{commit} ({results[results['commit'] == commit]['date'].iloc[0]})"
            for commit in commits
        ]
        lines.append(
            f"\n## {file.stem}\n\n| | {' | '.join(heads)} |\n|---|{'---:|' * len(commits)}"
        )
        for (row, column), rows in ratios.groupby(["row", "column"], sort=False):
            by_commit = dict(zip(rows["commit"], rows["value"], strict=True))
            label = f"{row}, {column}" if column and column != "ratio" else row
            values = [by_commit.get(commit, "") for commit in commits]
            lines.append(f"| {label} | {' | '.join(values)} |")
        lines.append(
            f"\nLast: {latest['machine']}, load {latest['load']}; the script took {latest['processor_s']} s of "
            f"processor time and {latest['peak_mb']} MB."
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the benchmarks; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tpdn", metavar="PATH")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    if unknown := {*arguments.names} - {*scripts()}:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(scripts())}")
    sizes = {**SIZES}
    if arguments.tpdn:
        encodings = str(Path(arguments.tpdn) / ENCODINGS)
        sizes["decomposition"] = [encodings, "--authors", arguments.tpdn, *SIZES["decomposition"]]
    failed = [name for name in arguments.names or scripts() if not run(name, *sizes.get(name, []))]
    arguments.page.write_text(page(), encoding="utf-8")
    print(f"failed: {', '.join(failed)}" if failed else f"written: {arguments.page}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
