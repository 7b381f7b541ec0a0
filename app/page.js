// What every page does in the browser: `?` lists the keys, texts that are cut are told by a tooltip, charts fit on paper.

const PAPER = 700; // pixels between the margins of a page of A4
const FIELD = /^(INPUT|TEXTAREA|SELECT)$/;

function press(event) {
  const at = document.activeElement;
  if (event.key !== "?" || FIELD.test(at?.tagName) || at?.isContentEditable) return;
  document.querySelector('[class*="st-key-keys"] button')?.click();
}

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

const HEARD = [[document, "keydown", press], [document, "pointerover", tell], [window, "beforeprint", () => fit(PAPER)], [window, "afterprint", () => fit(Infinity)]];

export default function listen() {
  for (const [at, event, act] of HEARD) at.addEventListener(event, act);
  return () => HEARD.forEach(([at, event, act]) => at.removeEventListener(event, act));
}
