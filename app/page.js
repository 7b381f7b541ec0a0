// What every page does in the browser: texts that are cut are told by a tooltip, charts fit on paper.

const PAPER = 700; // pixels between the margins of a page of A4

function tell({ target }) {
  const isList = target.matches?.('input[role="combobox"]');
  if (!isList && getComputedStyle(target).textOverflow !== "ellipsis") return;
  const text = isList ? target.value : target.textContent;
  if (target.scrollWidth > target.clientWidth) target.title = text;
  else if (target.title === text || isList) target.removeAttribute("title");
}

function fit(width) {
  for (const each of document.querySelectorAll(".js-plotly-plot")) each.style.zoom = Math.min(1, width / each.clientWidth);
}

const HEARD = [[document, "pointerover", tell], [window, "beforeprint", () => fit(PAPER)], [window, "afterprint", () => fit(Infinity)]];

export default function listen() {
  for (const [at, event, act] of HEARD) at.addEventListener(event, act);
  return () => HEARD.forEach(([at, event, act]) => at.removeEventListener(event, act));
}
