"""Commands that ask whether vectors are sums of role–filler bindings, and of which roles."""

from typing import Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of

FUNCTION = "analyses.decomposition.decompositions:decompose"
Site = Annotated[str, typer.Option(help="A site or a pattern of sites; layer -1 is the last.")]
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
    out: common.Out = None,
    resume: common.Resume = False,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Measure how much of a site's vectors role–filler bindings explain, held out, and compare it with controls."""
    from tprprobe.analyses.decomposition import decompose_all, summarize
    from tprprobe.console import track_stages
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    options["rank"] = rank
    with scheduled(scheduler), track_stages("decomposing") as (progress, report):
        asked = (open_store(store), site, roles or ["left"], out, resume, progress, report)
        scores = decompose_all(*asked, **options)
    columns = ["site", "roles", "family", "control", "rank", "r2", "r2_low", "r2_high", "over"]
    columns += ["gain", "gain_low", "gain_high", "learnt", "rank_withheld", "r2_withheld", "groups"]
    shown = (
        scores[columns]
        .rename(columns={"groups": "documents"})
        .round(3)
        .to_string(index=False, na_rep="–")
    )
    common.show(as_json, scores, lambda: "\n".join([*summarize(scores), shown]))


@options_of(FUNCTION, only=SHARED, every=True)
def roles(
    store: common.StoreFolder,
    site: Site,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            help="Fields that roles may combine; default: places, and the columns of the tokens."
        ),
    ] = None,
    out: common.Out = None,
    resume: common.Resume = False,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Search for the role scheme that describes vectors in the fewest bits, and compare it with controls."""
    from tprprobe.analyses.decomposition import search_all
    from tprprobe.console import track
    from tprprobe.store import open_store

    options |= {"fields": fields, "progress": lambda parts: track(parts, "searching", len(parts))}
    found = search_all(open_store(store), site, out, resume, **options)
    columns = ["control", "roles", "n_roles", "pairs", "bits", "r2", "r2_low", "r2_high"]
    lines = []
    for each in found:
        shown = each.schemes.groupby("control", sort=False).head(8)[[*columns, "stability"]]
        lines += [*each.lines, shown.round(3).to_string(index=False)]
    common.show(as_json, [each.as_dict() for each in found], lambda: "\n".join(lines))
