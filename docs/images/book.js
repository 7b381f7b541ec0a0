// Tables whose last column is "verdict" get a button a verdict, which shows its rows alone.
document$.subscribe(() => {
  for (const table of document.querySelectorAll("article table")) {
    const head = [...table.querySelectorAll("th")].map((cell) => cell.textContent.trim());
    const at = head.indexOf("verdict");
    const rows = [...table.querySelectorAll("tbody tr")];
    if (at < 0 || rows.length < 4) continue;
    const told = rows.map((row) => row.cells[at].textContent.trim());
    const verdicts = [...new Set(told)];
    if (verdicts.length < 2) continue;
    const bar = document.createElement("div");
    bar.className = "filter";
    for (const verdict of ["all", ...verdicts]) {
      const button = document.createElement("button");
      const count = verdict === "all" ? rows.length : told.filter((each) => each === verdict).length;
      button.type = "button";
      button.textContent = `${verdict} ${count}`;
      button.setAttribute("aria-pressed", verdict === "all");
      button.onclick = () => {
        rows.forEach((row, n) => (row.hidden = verdict !== "all" && told[n] !== verdict));
        for (const each of bar.children) each.setAttribute("aria-pressed", each === button);
      };
      bar.append(button);
    }
    const place = table.closest(".md-typeset__scrollwrap") ?? table;
    place.before(bar);
  }
});
