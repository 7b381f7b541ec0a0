"""Commands that ask whether vectors are sums of role–filler bindings, and of which roles."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

if TYPE_CHECKING:
    from tprprobe.store import Store

FUNCTION = "analyses.decomposition.decompositions:decompose"
Site = Annotated[str, typer.Option(help="A site or a pattern of sites; layer -1 is the last.")]
FITTED = {"family": "factored", "rank": "auto", "withheld": 0.1, "embedding": None}
N_SHOWN = 8  # schemes of a search
SHARED = ("fillers", "unit", "scope", "seed")


@options_of(FUNCTION, only=[*SHARED, "family", "withheld", "embedding", "rare"], every=True)
def decompose(
    store: common.StoreFolder,
    site: Site,
    roles: Annotated[
        list[str] | None,
        typer.Option(
            help="Role schemes: left right left*right offset wickel tree bag …, columns of the tokens, "
            "products a*b and sums a+b; default: left."
        ),
    ] = None,
    rank: Annotated[
        str, typer.Option(help="auto, a number, or fillers x roles such as 9x6.")
    ] = "auto",
    operations: Annotated[
        bool,
        typer.Option(
            "--operations", help="Instead, ask which operation binds: a table of operations."
        ),
    ] = False,
    out: common.Out = None,
    resume: common.Resume = False,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Measure how much of a site's vectors role–filler bindings explain, held out, and compare it with controls."""
    from tprprobe.analyses.decomposition import decompose_all, summarize, view_scores
    from tprprobe.console import track_stages
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    options["rank"] = rank
    if operations:
        with scheduled(scheduler):
            _compare(open_store(store), site, roles or ["left"], out, resume, as_json, options)
        return
    with scheduled(scheduler), track_stages("decomposing") as (progress, report):
        asked = (open_store(store), site, roles or ["left"], out, resume, progress, report)
        scores = view_scores(decompose_all(*asked, **options))
    common.show(as_json, scores, lambda: "\n".join(summarize(scores)))
    rest = f"next: tprprobe figure decomposition --ckpt {out or 'OUT'} --out table.md"
    common.say(f"{rest}{'' if out else ', after --out OUT'} ({len(scores)} rows, with controls)")


def _compare(
    store: "Store",
    site: str,
    roles: list[str],
    out: Path | None,
    resume: bool,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    from tprprobe.analyses.decomposition import compare_all, summarize_operations, view_operations
    from tprprobe.console import format_table, track

    for name, default in FITTED.items():
        if options.pop(name) != default:
            raise InputError(f"--operations takes no --{name}: leave it out")

    options["progress"] = lambda parts: track(parts, "comparing", len(parts))
    table = view_operations(compare_all(store, site, roles, out, resume, **options))
    lines = [*summarize_operations(table), format_table(table)]
    common.show(as_json, table, lambda: "\n".join(lines))


@options_of(FUNCTION, only=SHARED, every=True)
def roles(
    store: common.StoreFolder,
    site: Site,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            help="Fields that roles may combine; default: places, and labels or gold structure of tokens."
        ),
    ] = None,
    out: common.Out = None,
    resume: common.Resume = False,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Search for the simplest role scheme among those that describe vectors in the fewest bits, and compare it with controls."""
    from tprprobe.analyses.decomposition import search_all
    from tprprobe.console import format_table, track
    from tprprobe.store import open_store

    options |= {"fields": fields, "progress": lambda parts: track(parts, "searching", len(parts))}
    searches = search_all(open_store(store), site, out, resume, **options)
    columns = ["control", "roles", "n_roles", "pairs", "bits", "r2", "r2_low", "r2_high"]
    lines = []
    for search in searches:
        first = search.schemes.groupby("control", sort=False).cumcount() < N_SHOWN
        shown = search.schemes[first | search.schemes["is_found"]][[*columns, "stability"]]
        lines += [*search.lines, format_table(shown)]
    common.show(as_json, [search.as_dict() for search in searches], lambda: "\n".join(lines))
