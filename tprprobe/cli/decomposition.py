"""Commands that ask whether vectors are sums of role–filler bindings, and of which roles."""

from typing import Annotated, Any

import typer

from tprprobe.cli import options as common

Site = Annotated[str, typer.Option(help="A site or a pattern of sites; layer -1 is the last.")]
Fillers = Annotated[str, typer.Option(help="The column of the tokens that fillers are.")]
Unit = Annotated[
    str | None,
    typer.Option(
        help="What a vector is of: token, sample, mean, first, last, or a mark such as .; default: what the "
        "site has."
    ),
]
Scope = Annotated[
    str,
    typer.Option(
        help="What a token's vector is made of: self, before (up to it), all, or context (itself "
        "and the mean of the others)."
    ),
]


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
    family: Annotated[
        str,
        typer.Option(
            help="roles, bag, additive, factored or saturated, nested; product, operator."
        ),
    ] = "factored",
    rank: Annotated[
        str, typer.Option(help="auto, a number, or fillers x roles such as 9x6.")
    ] = "auto",
    withheld: Annotated[float, typer.Option(help="The share of pairs to withhold.")] = 0.1,
    fillers: Fillers = "token",
    unit: Unit = None,
    scope: Scope = "self",
    embedding: Annotated[
        str | None,
        typer.Option(
            help="The site whose mean by filler is e(f) of the operator; default: the input embeddings."
        ),
    ] = None,
    rare: Annotated[
        int, typer.Option(help="Fillers that fewer groups of sequences have are joined.")
    ] = 2,
    seed: common.Seed = 0,
    out: common.Out = None,
    resume: common.Resume = False,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
) -> None:
    """Measure how much of a site's vectors role–filler bindings explain, held out, and compare it with controls."""
    from tprprobe.analyses.decomposition import decompose_all, summarize
    from tprprobe.console import track_stages
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    settings: Any = {"fillers": fillers, "unit": unit, "scope": scope, "family": family}
    settings |= {"rank": rank, "withheld": withheld, "embedding": embedding}
    settings |= {"rare": rare, "seed": seed}
    with scheduled(scheduler), track_stages("decomposing") as (progress, report):
        settings |= {"progress": progress, "report": report}
        asked = (open_store(store), site, roles or ["left"], out, resume)
        scores = decompose_all(*asked, **settings)
    columns = ["site", "roles", "family", "control", "rank", "r2", "r2_low", "r2_high", "over"]
    columns += ["gain", "gain_low", "gain_high", "learnt", "rank_withheld", "r2_withheld", "groups"]
    shown = scores[columns].round(3).to_string(index=False, na_rep="–")
    common.show(as_json, scores, lambda: "\n".join([*summarize(scores), shown]))


def roles(
    store: common.StoreFolder,
    site: Site,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            help="Fields that roles may combine; default: places, and the columns of the tokens."
        ),
    ] = None,
    fillers: Fillers = "token",
    unit: Unit = None,
    scope: Scope = "self",
    seed: common.Seed = 0,
    out: common.Out = None,
    resume: common.Resume = False,
    as_json: common.Json = False,
) -> None:
    """Search for the role scheme that describes vectors in the fewest bits, and compare it with controls."""
    from tprprobe.analyses.decomposition import search_all
    from tprprobe.console import track
    from tprprobe.store import open_store

    settings: Any = {"fields": fields, "fillers": fillers, "unit": unit, "scope": scope}
    settings |= {"seed": seed, "progress": lambda parts: track(parts, "searching", len(parts))}
    found = search_all(open_store(store), site, out, resume, **settings)
    columns = ["control", "roles", "n_roles", "pairs", "bits", "r2", "r2_low", "r2_high"]
    lines = []
    for each in found:
        shown = each.schemes.groupby("control", sort=False).head(8)[[*columns, "stability"]]
        lines += [*each.lines, shown.round(3).to_string(index=False)]
    common.show(as_json, [each.as_dict() for each in found], lambda: "\n".join(lines))
