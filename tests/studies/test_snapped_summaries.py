"""The page's table of summaries that are scored while roles are snapped."""

from studies.pages import snapping_section as snapped


def test_summaries_are_scored_while_roles_are_snapped(tmp_path, monkeypatch):
    small_recipe = snapped.DISCRETE_ROLES.model_copy(update={"n": 4, "reference": 3})
    page = snapped.summarize_snapping(tmp_path, {"tpt-d-english": small_recipe})
    rows = [line for line in page.splitlines() if line.startswith("| tpt-d-english")]
    assert [row.split(" | ")[1] for row in rows] == ["as trained", "one-hot", "their mean"]
    assert rows[0].endswith("| 0.000 |")  # of four summaries, no interval
    assert rows[2].split(" | ")[2:] != rows[0].split(" | ")[2:]
    monkeypatch.setattr(snapped, "load_model", None)  # what is kept is not measured again
    assert snapped.summarize_snapping(tmp_path, {"tpt-d-english": small_recipe}) == page
