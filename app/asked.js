// Tokens and heads of what was asked, which are clicked: shown at once, then the server is told. Whatever comes from
// data reaches the page as textContent or as a number, never as markup.

const parts = new Map();
let turn = 0; // of the last pick, which tells it from the server's answer to an older one

export default function mount({ data, parentElement, setTriggerValue }) {
  if (!parts.has(parentElement)) parts.set(parentElement, new PARTS[data.kind](parentElement));
  const part = parts.get(parentElement);
  part.tell = (text) => setTriggerValue("picked", [text, turn]);
  part.take(data);
  return () => parts.delete(parentElement);
}

function build(name, given, ...inside) {
  const element = Object.assign(document.createElement(name), given);
  element.append(...inside);
  return element;
}

// What is picked, as the server writes it: tokens (1,5) or a head (encoder.0.self.role:2).
class Picking {
  constructor(root, className) {
    this.frame = build("div", { className });
    this.frame.addEventListener("keydown", (event) => this.key(event));
    root.append(this.frame);
  }

  take(data) {
    if (data.turn < turn) return;
    turn = data.turn;
    const { turn: _, picked, marked, advice, ...drawn } = data, told = JSON.stringify(drawn);
    Object.assign(this, { data, picked });
    if (told !== this.told) this.draw();
    this.told = told;
    this.paint();
  }

  pick(text) {
    turn += 1;
    for (const part of parts.values()) {
      part.picked = text;
      part.data.marked = null; // known to the server only
      part.paint();
    }
    this.tell(text);
  }

  // ← and → go from button to button.
  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], all = [...this.frame.querySelectorAll("button:not(:disabled)")];
    const at = all.indexOf(event.target.closest("button"));
    if (!by || at < 0) return;
    event.stopPropagation();
    event.preventDefault();
    all[at + by]?.focus();
  }
}

// Strips of tokens on their cluster's color; those of the first strip are picked, `many` at most.
class Tokens extends Picking {
  constructor(root) {
    super(root, "strips");
  }

  get chosen() {
    return this.picked && !this.picked.includes(":") ? this.picked.split(",").map(Number) : [];
  }

  draw() {
    this.cells = [];
    this.note = build("span", { role: "status" });
    const undo = build("button", { textContent: "Without the edit", onclick: () => this.pick("") });
    this.below = build("div", { className: "below" }, this.note, undo);
    this.frame.replaceChildren(...this.data.strips.map((strip, number) => this.strip(strip, !number)), this.below);
  }

  strip({ heading, signs, labels, colours }, isPicked) {
    const cells = signs.map((sign, i) => {
      const label = labels[i] < 0 ? "–" : labels[i], look = colours[labels[i]];
      const text = build("span", { className: "sign", textContent: sign });
      if (look) Object.assign(text.style, { background: look.colour, color: look.ink });
      const number = build("span", { className: "number", textContent: label });
      const title = `‘${sign}’ · token ${i}${look ? ` · cluster ${label}` : ""}`;
      return build("button", { title, disabled: !isPicked, onclick: () => this.toggle(i) }, text, ...(colours.length ? [number] : []));
    });
    if (isPicked) this.cells = cells;
    const line = build("div", { className: `tokens${colours.length ? "" : " plain"}` }, ...cells);
    return build("section", {}, build("div", { className: "heading", textContent: heading }), line);
  }

  toggle(i) {
    const known = this.chosen, { many } = this.data;
    const kept = known.includes(i) ? known.filter((each) => each !== i) : [...(known.length < many ? known : []), i];
    this.pick(kept.join(","));
  }

  paint() {
    const marked = this.data.marked ?? this.chosen;
    for (const [i, cell] of this.cells.entries()) cell.setAttribute("aria-pressed", marked.includes(i));
    this.note.textContent = this.data.advice;
    this.below.lastChild.hidden = !this.picked;
  }
}

// Attention maps, small: a click picks the head.
class Heads extends Picking {
  constructor(root) {
    super(root, "heads");
  }

  draw() {
    this.buttons = [];
    this.frame.replaceChildren(...this.data.sites.map(({ site, maps }) => {
      const buttons = maps.map((map, head) => this.head(`${site}:${head}`, map, head));
      this.buttons.push(...buttons);
      const heading = build("div", { className: "heading", textContent: site.slice(0, site.lastIndexOf(".")) });
      return build("section", {}, heading, build("div", { className: "maps" }, ...buttons));
    }));
  }

  head(name, { rows, columns, weights }, head) {
    const canvas = build("canvas", { width: columns, height: rows }), pen = canvas.getContext("2d");
    const image = pen.createImageData(columns, rows), codes = Uint8Array.from(atob(weights), (each) => each.charCodeAt(0));
    const ramp = this.data.ramp.map((each) => parseInt(each.slice(1), 16)), last = ramp.length - 1;
    codes.forEach((code, i) => {
      const at = (code / 255) * last, low = Math.min(Math.floor(at), last - 1), share = at - low;
      for (const [channel, shift] of [16, 8, 0].entries())
        image.data[4 * i + channel] = ((ramp[low] >> shift) & 255) * (1 - share) + ((ramp[low + 1] >> shift) & 255) * share;
      image.data[4 * i + 3] = 255;
    });
    pen.putImageData(image, 0, 0);
    const onclick = () => this.pick(this.picked === name ? "" : name);
    return build("button", { name, onclick }, canvas, build("span", { textContent: `head ${head}` }));
  }

  paint() {
    for (const each of this.buttons) {
      const is = each.name === this.picked;
      each.setAttribute("aria-pressed", is);
      each.lastChild.textContent = is ? "ablated" : `head ${each.name.split(":").at(-1)}`;
      each.title = is ? "click: as it was" : `click: ${each.name.replace(":", ", head ")} becomes 0`;
    }
  }
}

const PARTS = { tokens: Tokens, heads: Heads };
