// One mark, shown at once by every part of a page: the map, the clusters, strips of tokens. The server is told
// afterwards. Whatever comes from data reaches the page as textContent or as a number, never as markup.

const GRID = 65535; // steps of a point's place on either axis
const QUIET = 50; // ms without a new mark before the server is told
const ROWS_TEXT = 1000; // characters of a mark by rows; a longer one is told by its area
const MAX_CORNERS = 60; // of a lasso, which then fits in an address
const NEAR = 6; // pixels around the pointer in which a point is found
const WHOLE = [-0.03, 1.03, -0.03, 1.03]; // of the plane: left, right, below, above

const page = { scenes: new Map(), parts: new Map(), mark: "", turn: 0, told: null, timer: 0 };

export default function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  if (data.kind in FEEDS) return void FEEDS[data.kind](data);
  if (!page.parts.has(parentElement)) page.parts.set(parentElement, new PARTS[data.kind](parentElement));
  const part = page.parts.get(parentElement);
  if (part instanceof Picks) part.tell = (text) => setTriggerValue("picked", text);
  else page.told = (mark) => setStateValue("mark", mark);
  part.take(data);
  return () => page.parts.delete(parentElement);
}

// Feeds have no place on the page: points arrive when they are ready, marks when they come from an address.
const FEEDS = {
  points(data) {
    const known = page.scenes.get(data.scene) ?? [], points = new Points(data);
    page.scenes.delete(data.scene);
    page.scenes.set(data.scene, [...known.filter((each) => each.size !== points.size), points]);
    while (page.scenes.size > 3) page.scenes.delete(page.scenes.keys().next().value);
    everyPart("renew");
    everyPart("paint"); // strips know then what lies in an area
  },
  mark({ text, turn }) {
    if (turn < page.turn) return; // an answer to what was marked before
    page.turn = turn;
    if (text !== page.mark) show(text);
  },
};

function everyPart(what) {
  for (const part of page.parts.values()) part[what]?.();
}

function show(text) {
  page.mark = text;
  everyPart("paint");
}

// Marks tokens everywhere, and tells the server when no other mark follows.
function mark(text) {
  if (text === page.mark) return;
  page.turn += 1;
  show(text);
  clearTimeout(page.timer);
  page.timer = setTimeout(() => page.told?.([page.mark, page.turn]), QUIET);
}

document.addEventListener("keydown", (event) => {
  const typing = event.composedPath()[0].closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && page.parts.size && page.mark && !typing) mark("");
});

// ---- marks: the grammar of tprprobe.dashboard.marks

function readMark(text) {
  const cut = text.indexOf(":");
  if (cut < 0) return null;
  const [kind, value] = [text.slice(0, cut), text.slice(cut + 1)];
  if (kind === "lasso") return { kind, outline: value.split(",").map(Number) };
  const ranges = value.split(",").map((part) => part.split("-").map(Number));
  return { kind, ranges: ranges.map(([first, last]) => [first, last ?? first]) };
}

// The text of rows in rising order; null if it grows longer than `longest`.
function writeRows(side, rows, longest = Infinity) {
  let text = `${side}:`;
  for (let i = 0; i < rows.length; ) {
    let last = i;
    while (last + 1 < rows.length && rows[last + 1] - rows[last] <= 1) last += 1;
    text += `${i ? "," : ""}${rows[i]}${rows[last] > rows[i] ? `-${rows[last]}` : ""}`;
    if (text.length > longest) return null;
    i = last + 1;
  }
  return text;
}

const within = (ranges, number) => ranges.some(([first, last]) => number >= first && number <= last);

const markedClusters = () => {
  const found = readMark(page.mark);
  return found?.kind === "cluster" ? found.ranges.map(([first]) => first) : [];
};

function toggleCluster(cluster) {
  const known = markedClusters();
  const next = known.includes(cluster) ? known.filter((each) => each !== cluster) : [...known, cluster];
  mark(next.length ? `cluster:${next.sort((a, b) => a - b).join(",")}` : "");
}

// ---- points: places, clusters, tokens and rows of the drawn vectors

class Points {
  constructor(data) {
    const column = (table, name) => table.getChild(name).toArray();
    Object.assign(this, { side: data.side, vocabulary: data.vocabulary, view: data.view });
    this.low = data.bounds.slice(0, 2);
    this.span = [data.bounds[2] - data.bounds[0], data.bounds[3] - data.bounds[1]];
    for (const name of ["x", "y", "cluster", "token"]) this[name] = column(data.points, name);
    for (const name of ["row", "sample", "position", "count"]) this[`run_${name}`] = column(data.runs, name);
    this.size = this.x.length;
    this.starts = new Int32Array(this.run_count.length); // of every run of rows that follow one another
    for (let i = 1; i < this.starts.length; i++) this.starts[i] = this.starts[i - 1] + this.run_count[i - 1];
    this.sizes = new Int32Array(256);
    for (const label of this.cluster) this.sizes[label] += 1;
  }

  gridOf(value, axis) {
    return ((value - this.low[axis]) / this.span[axis]) * GRID;
  }

  valueOf(step, axis) {
    return this.low[axis] + (step / GRID) * this.span[axis];
  }

  tell(index) {
    const run = this.starts.findLastIndex((start) => start <= index), offset = index - this.starts[run];
    return {
      row: this.run_row[run] + offset,
      sample: this.run_sample[run],
      position: this.run_position[run] + offset,
      token: this.vocabulary[this.token[index]],
      cluster: this.cluster[index],
    };
  }

  // The flags of the marked points, and their number.
  find(text) {
    if (this.known?.text === text) return this.known;
    const flags = new Uint8Array(this.size), found = readMark(text);
    if (found?.kind === "cluster") {
      const chosen = new Uint8Array(256);
      for (const [first] of found.ranges) chosen[first] = 1;
      for (let i = 0; i < this.size; i++) flags[i] = chosen[this.cluster[i]];
    } else if (found?.kind === "lasso") this.flagArea(found.outline, flags);
    else if (found?.kind === this.side) this.flagRows(found.ranges, flags);
    let count = 0;
    for (let i = 0; i < this.size; i++) count += flags[i];
    this.known = { text, flags, count };
    return this.known;
  }

  flagRows(ranges, flags) {
    for (let run = 0; run < this.starts.length; run++) {
      const first = this.run_row[run], last = first + this.run_count[run] - 1, start = this.starts[run];
      for (const [low, high] of ranges)
        if (low <= last && high >= first)
          flags.fill(1, start + Math.max(low - first, 0), start + Math.min(high, last) - first + 1);
    }
  }

  flagArea(outline, flags) {
    const corners = outline.map((value, i) => this.gridOf(value, i % 2));
    const xs = Float64Array.from(corners.filter((_, i) => i % 2 === 0)), ys = Float64Array.from(corners.filter((_, i) => i % 2));
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)], { x, y } = this;
    for (let i = 0; i < this.size; i++) {
      const px = x[i], py = y[i];
      if (px < left || px > right || py < low || py > high) continue;
      for (let a = 0, b = xs.length - 1; a < xs.length; b = a++)
        if (ys[a] > py !== ys[b] > py && px < ((xs[b] - xs[a]) * (py - ys[a])) / (ys[b] - ys[a]) + xs[a]) flags[i] ^= 1;
    }
  }

  // The rows of the marked points, in rising order.
  rowsOf({ flags, count }) {
    const rows = new Int32Array(count);
    for (let run = 0, k = 0; run < this.starts.length; run++)
      for (let i = 0; i < this.run_count[run]; i++)
        if (flags[this.starts[run] + i]) rows[k++] = this.run_row[run] + i;
    return rows;
  }

  // The mark of an area: by its rows where these are few, else by its outline.
  markArea(steps) {
    const outline = steps.map((step, i) => Number(this.valueOf(step, i % 2).toPrecision(4)));
    const area = `lasso:${outline.join(",")}`, found = this.find(area);
    return found.count ? writeRows(this.side, this.rowsOf(found), ROWS_TEXT) ?? area : "";
  }
}

// ---- small helpers for the page

function make(name, given = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && !key.includes("-")) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...inside);
  return element;
}

const probe = document.createElement("canvas").getContext("2d");

function channels(color) {
  probe.fillStyle = color;
  const number = parseInt(probe.fillStyle.slice(1, 7), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

const packed = ([red, green, blue], alpha = 255) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

const density = () => Math.min(window.devicePixelRatio || 1, 2);

// A text beside the pointer, on the side where there is room.
function point(hint, text, x, y, width) {
  const right = x > width / 2;
  Object.assign(hint, { hidden: !text, textContent: text });
  Object.assign(hint.style, { top: `${y + 14}px`, left: right ? "" : `${x + 10}px`, right: right ? `${width - x + 10}px` : "" });
}

// ---- the map of the points beside the table of clusters

class Map2D {
  constructor(root) {
    this.root = root;
    this.mode = "Lasso";
    this.canvas = make("canvas", { className: "points", role: "img" });
    this.over = make("canvas", { className: "over", "aria-hidden": "true",
      onpointerdown: (event) => this.begin(event), onpointermove: (event) => this.move(event), onpointerup: (event) => this.end(event),
      onpointercancel: () => this.rest(), onpointerleave: () => (this.hint.hidden = true), ondblclick: () => this.look(WHOLE) });
    this.labels = make("div", { className: "labels", "aria-hidden": "true" });
    this.hint = make("div", { className: "hint", hidden: true });
    this.axes = [make("div", { className: "axis x" }), make("div", { className: "axis y" })];
    this.frame = make("div", { className: "frame" }, this.canvas, this.labels, this.over, this.hint);
    this.tally = make("span", { className: "tally", role: "status" });
    this.unmark = make("button", { textContent: "Unmark", title: "Esc", onclick: () => mark("") });
    this.body = make("tbody");
    this.head = make("tr");
    const table = make("table", {}, make("thead", {}, this.head), this.body);
    this.sheet = make("div", { className: "sheet" }, table);
    const left = make("div", { className: "left" }, this.bar(), this.axes[1], this.frame, this.axes[0]);
    const right = make("div", { className: "right" }, this.sheet);
    const below = make("div", { className: "below" }, this.tally, this.unmark);
    this.legend = make("div", { className: "legend" });
    root.append(make("div", { className: "wide" }, make("div", { className: "both" }, left, right), this.legend, below));
    this.listen();
    new ResizeObserver(() => this.renew()).observe(this.frame);
  }

  bar() {
    this.modes = ["Lasso", "Move"].map((name) =>
      make("button", { textContent: name, "aria-pressed": name === this.mode, onclick: () => this.choose(name) }));
    const zoom = (factor) => () => this.zoom(factor);
    return make("div", { className: "bar", role: "toolbar", "aria-label": "Map" }, ...this.modes,
      make("button", { textContent: "+", title: "Zoom in (Ctrl and wheel)", onclick: zoom(0.6) }),
      make("button", { textContent: "−", title: "Zoom out", onclick: zoom(1 / 0.6) }),
      make("button", { textContent: "Fit", title: "Show all (double click)", onclick: () => this.look(WHOLE) }));
  }

  choose(name) {
    this.mode = name;
    for (const each of this.modes) each.setAttribute("aria-pressed", each.textContent === name);
  }

  take(data) {
    if (data.scene !== this.data?.scene) this.view = null;
    this.data = data;
    this.codes = data.codes?.getChild("code").toArray() ?? null;
    this.shades = data.colors.map(channels);
    const values = this.codes ? data.values : []; // clusters have their table
    this.legend.replaceChildren(...values.map((text, i) => make("span", {}, make("i", { style: `background: ${data.colors[i]}` }), text)));
    this.canvas.setAttribute("aria-label", `${data.title}. Clusters are marked in the table.`);
    for (const axis of [0, 1]) this.axes[axis].textContent = data.axes[axis];
    this.renew();
  }

  // The points that are drawn: all there are, or those that the coloring is of.
  get points() {
    const sets = page.scenes.get(this.data?.scene) ?? [];
    if (this.codes) return sets.find((each) => each.size === this.codes.length);
    return sets.at(-1);
  }

  renew() {
    if (!this.data) return;
    this.tabulate();
    if (this.points && this.frame.clientWidth) this.draw();
    this.paint();
  }

  // The part of the plane that is seen: left, right, below, above.
  get seen() {
    return this.view ?? this.points?.view ?? WHOLE;
  }

  zoom(factor, at = [0.5, 0.5]) {
    const view = this.seen;
    const next = [0, 2].flatMap((low, axis) => {
      const span = view[low + 1] - view[low], middle = view[low] + at[axis] * span;
      return [middle - at[axis] * span * factor, middle + (1 - at[axis]) * span * factor];
    });
    this.look(next);
  }

  look(view) {
    this.view = view;
    this.due ??= requestAnimationFrame(() => {
      this.due = null;
      this.draw();
      this.paint();
    });
  }

  // Sums the colors of the points under every pixel: what is seen is their mean, denser for more points.
  draw() {
    const { points, codes, shades } = this, scale = density();
    const width = Math.round(this.frame.clientWidth * scale), height = Math.round(this.frame.clientHeight * scale);
    if (!points || width < 9 || height < 9) return;
    if (width !== this.width || height !== this.height) {
      Object.assign(this, { width, height });
      for (const each of [this.canvas, this.over]) Object.assign(each, { width, height });
      const pixels = width * height;
      this.image = new ImageData(width, height);
      this.bytes = new Uint32Array(this.image.data.buffer);
      this.sums = [0, 1, 2, 3].map(() => new Float32Array(pixels));
      [this.full, this.pale] = [new Uint32Array(pixels), new Uint32Array(pixels)];
      this.top = new Int32Array(pixels); // the point that lies on top of a pixel
    }
    const radius = Math.round((points.size < 3000 ? 3 : points.size < 30000 ? 2 : points.size < 200000 ? 1 : scale > 1 ? 1 : 0) * scale);
    this.radius = radius;
    const [count, red, green, blue] = this.sums, stamp = disc(radius, width), { top } = this;
    for (const each of [...this.sums, this.full, this.pale]) each.fill(0);
    this.outside = 0;
    top.fill(-1);
    const [x0, x1, y0, y1] = this.seen, edge = radius + 2;
    const right = width / (x1 - x0) / GRID, left = (-x0 * width) / (x1 - x0);
    const down = -height / (y1 - y0) / GRID, start = height + (y0 * height) / (y1 - y0);
    const { x, y, cluster, size } = points, labels = codes ?? cluster, flat = Float32Array.from(shades.flat());
    const at = this.at?.length === size ? this.at : (this.at = new Int32Array(size));
    for (let i = 0; i < size; i++) {
      const px = (x[i] * right + left) | 0, py = (y[i] * down + start) | 0;
      if (px < edge || py < edge || px >= width - edge || py >= height - edge) {
        at[i] = -1;
        this.outside += 1;
        continue;
      }
      const place = (at[i] = py * width + px), shade = 3 * labels[i];
      for (let k = 0; k < stamp.length; k++) {
        const pixel = place + stamp[k];
        count[pixel] += 1;
        red[pixel] += flat[shade];
        green[pixel] += flat[shade + 1];
        blue[pixel] += flat[shade + 2];
        top[pixel] = i;
      }
    }
    const each = points.size < 30000 ? 0.75 : points.size < 200000 ? 0.5 : 0.3;
    const alphas = Float32Array.from({ length: 64 }, (_, n) => 255 * (1 - (1 - each) ** n));
    for (let i = 0; i < count.length; i++) {
      const n = count[i];
      if (!n) continue;
      const alpha = alphas[Math.min(n, 63)] | 0, color = ((blue[i] / n) << 16) | ((green[i] / n) << 8) | (red[i] / n);
      this.full[i] = (alpha << 24) | color;
      this.pale[i] = ((alpha * 0.25) << 24) | color;
    }
    this.place();
  }

  // A text at the middle of each value's points, so that color alone carries nothing.
  place() {
    const { points, data } = this, [x0, x1, y0, y1] = this.seen;
    const labels = data.labels.map(({ text, x, y }) => {
      const right = (points.gridOf(x, 0) / GRID - x0) / (x1 - x0), up = (points.gridOf(y, 1) / GRID - y0) / (y1 - y0);
      const label = make("span", { textContent: text });
      Object.assign(label.style, { left: `${100 * right}%`, top: `${100 * (1 - up)}%` });
      label.hidden = right < 0 || right > 1 || up < 0 || up > 1;
      return label;
    });
    this.labels.replaceChildren(...labels);
    const taken = []; // a text that would cover an earlier one moves up or down, or waits until it has room
    for (const label of labels.filter((each) => !each.hidden)) {
      const { offsetLeft: x, offsetTop: y, offsetWidth: width, offsetHeight: height } = label;
      const isFree = (by) => taken.every((each) => Math.abs(each.x - x) >= (each.width + width) / 2 || Math.abs(each.y - y - by) >= height);
      const by = [0, -height, height, -2 * height, 2 * height].find(isFree);
      label.hidden = by === undefined;
      label.style.marginTop = `${by ?? 0}px`;
      if (!label.hidden) taken.push({ x, y: y + by, width });
    }
  }

  paint() {
    const { points, width } = this;
    if (!points || !this.bytes || this.at?.length !== points.size) return;
    const found = page.mark ? points.find(page.mark) : null;
    this.bytes.set(found ? this.pale : this.full);
    if (found?.count) {
      const ink = packed(channels(getComputedStyle(this.frame).color));
      if (found.count < 20000) this.stamp(found.flags, disc(this.radius + 1, width), new Uint32Array(256).fill(ink));
      this.stamp(found.flags, disc(this.radius, width), Uint32Array.from(this.shades, (each) => packed(each)));
    }
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    const count = found?.count ?? 0;
    this.tally.textContent = page.mark ? `${count.toLocaleString("en")} ${this.data.unit} are marked` : this.data.advice;
    if (this.outside) this.tally.textContent += ` · ${this.outside.toLocaleString("en")} points lie outside: Fit shows all.`;
    this.unmark.hidden = !page.mark;
    const clusters = markedClusters();
    for (const row of this.body.rows) {
      const is = clusters.includes(Number(row.dataset.cluster));
      row.classList.toggle("marked", is);
      row.firstChild.firstChild.setAttribute("aria-pressed", is);
    }
  }

  stamp(flags, offsets, shades) {
    const { at, bytes } = this, labels = this.codes ?? this.points.cluster, n = offsets.length;
    for (let i = 0; i < flags.length; i++) {
      if (!flags[i] || at[i] < 0) continue;
      const shade = shades[labels[i]], place = at[i];
      for (let k = 0; k < n; k++) bytes[place + offsets[k]] = shade;
    }
  }

  // The clusters: number, name, tokens, how sure the name is.
  tabulate() {
    const { clusters, unit, commonest, names } = this.data, { points } = this;
    const told = JSON.stringify([this.data.scene, points?.size, names, clusters]);
    if (told === this.told) return;
    this.told = told;
    const measures = names?.some(({ name }) => name) ? ["precision", "recall"] : [];
    const heads = ["cluster", unit, ...(names ? ["name", ...measures] : []), commonest];
    this.head.replaceChildren(...heads.map((each) => make("th", { scope: "col", textContent: each })));
    this.body.replaceChildren(...clusters.map((each, i) => {
      const number = make("button", { textContent: each.cluster, "aria-label": `cluster ${each.cluster}`, "aria-pressed": "false" });
      Object.assign(number.style, { background: each.color, color: each.ink });
      const cell = (text, title = text, kind = "") => make("td", { textContent: text, title, className: kind });
      const count = points?.sizes[each.cluster] ?? each.tokens;
      const cells = [make("td", {}, number)];
      cells.push(cell(count.toLocaleString("en"), `${count} ${unit}`, "number"));
      if (names?.[i].name) {
        cells.push(cell(names[i].name, names[i].name, "name"));
        for (const measure of measures) cells.push(cell(...names[i][measure], "number"));
      } else if (names) cells.push(make("td", { textContent: names[i].lacks, title: names[i].lacks, className: "lacks", colSpan: 1 + measures.length }));
      cells.push(cell(each.top, each.top, "top"));
      const row = make("tr", { onclick: () => toggleCluster(each.cluster) }, ...cells);
      row.dataset.cluster = each.cluster;
      return row;
    }));
  }

  // ---- pointing

  listen() {
    const { over } = this;
    over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const [x, y] = this.where(event);
      this.zoom(Math.exp(event.deltaY * 0.004), [x / over.clientWidth, 1 - y / over.clientHeight]);
    }, { passive: false });
  }

  where(event) {
    return [event.offsetX, event.offsetY];
  }

  begin(event) {
    if (event.button) return;
    this.over.setPointerCapture(event.pointerId);
    this.path = [this.where(event)];
    this.from = this.seen;
    this.hint.hidden = true;
  }

  move(event) {
    const at = this.where(event);
    if (!this.path) return this.hover(at);
    const [x, y] = this.path.at(-1);
    if (Math.hypot(at[0] - x, at[1] - y) < 3) return;
    this.path.push(at);
    if (this.mode === "Move") this.pan(at);
    else this.outline();
  }

  pan(at) {
    const [x0, x1, y0, y1] = this.from, [startX, startY] = this.path[0];
    const right = ((at[0] - startX) / this.over.clientWidth) * (x1 - x0);
    const up = ((startY - at[1]) / this.over.clientHeight) * (y1 - y0);
    this.look([x0 - right, x1 - right, y0 - up, y1 - up]);
  }

  outline() {
    const pen = this.over.getContext("2d"), scale = density();
    pen.clearRect(0, 0, this.width, this.height);
    Object.assign(pen, { strokeStyle: getComputedStyle(this.frame).color, lineWidth: scale });
    pen.setLineDash([3 * scale, 3 * scale]);
    pen.stroke(new Path2D(`M${this.path.map(([x, y]) => [x * scale, y * scale]).join("L")}Z`));
  }

  end(event) {
    if (!this.path || !this.points) this.rest();
    if (!this.path) return;
    const { path, points } = this, isMove = this.mode === "Move";
    const step = ([x, y]) => {
      const [x0, x1, y0, y1] = this.from;
      return [GRID * (x0 + (x / this.over.clientWidth) * (x1 - x0)), GRID * (y1 - (y / this.over.clientHeight) * (y1 - y0))];
    };
    this.rest();
    if (path.length <= 2) {
      const index = this.nearest(this.where(event));
      mark(index < 0 ? "" : `${points.side}:${points.tell(index).row}`);
    } else if (!isMove) {
      const every = Math.ceil(path.length / MAX_CORNERS);
      mark(points.markArea(path.filter((_, i) => i % every === 0).flatMap(step)));
    }
  }

  rest() {
    this.path = null;
    this.over.getContext("2d").clearRect(0, 0, this.width, this.height);
  }

  nearest([x, y]) {
    const { width, height, top } = this, scale = density(), reach = Math.round(NEAR * scale);
    const [px, py] = [Math.round(x * scale), Math.round(y * scale)];
    let best = -1, least = Infinity;
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++) {
        const far = dx * dx + dy * dy;
        if (far >= least || px + dx < 0 || px + dx >= width || py + dy < 0 || py + dy >= height) continue;
        const index = top[(py + dy) * width + px + dx];
        if (index >= 0) [best, least] = [index, far];
      }
    return best;
  }

  hover(at) {
    const index = this.points && this.top ? this.nearest(at) : -1;
    const found = index < 0 ? null : this.points.tell(index), name = this.data.names?.[found?.cluster]?.name;
    const value = this.codes ? ` · ${this.data.values[this.codes[index]]}` : "";
    const text = found && `‘${found.token}’ · sample ${found.sample}, token ${found.position} · cluster ${found.cluster}${name ? ` (${name})` : ""}${value}`;
    point(this.hint, text ?? "", ...at, this.over.clientWidth);
  }
}

// The pixels of a disc, as offsets from its middle in a picture of that width.
function disc(radius, width) {
  const offsets = [];
  for (let dy = -radius; dy <= radius; dy++)
    for (let dx = -radius; dx <= radius; dx++) if (dx * dx + dy * dy <= (radius + 0.4) ** 2) offsets.push(dy * width + dx);
  return Int32Array.from(offsets);
}

// ---- strips: samples as rows of tokens on their cluster's color, its number below

class Strips {
  constructor(root) {
    this.frame = make("div", { className: "strips",
      onpointerdown: (event) => this.begin(event), onpointerover: (event) => this.extend(event), onkeydown: (event) => this.key(event) });
    root.append(this.frame);
  }

  take(data) {
    this.data = data;
    this.cells = [];
    this.frame.replaceChildren(...data.strips.map((strip, number) => {
      const cells = strip.signs.map((sign, i) => this.cell(strip, number, sign, i));
      this.cells.push(...cells);
      const heading = make("div", { className: "heading", textContent: strip.heading });
      return make("section", { "aria-label": strip.heading }, heading, make("div", { className: "tokens" }, ...cells));
    }));
    this.paint();
  }

  cell(strip, at, sign, i) {
    const label = strip.labels[i], look = this.data.colors[label] ?? { color: "#9aa3b2", ink: "black" };
    const text = make("span", { className: "sign", textContent: sign });
    const number = make("span", { className: "number", textContent: strip.texts[i] });
    const cell = make("button", { tabIndex: i ? -1 : 0, className: strip.outsides[i] ? "outside" : "" }, text, number);
    Object.assign(text.style, { background: look.color, color: look.ink });
    const name = this.data.names?.[label]?.name;
    const title = `‘${sign}’ · token ${strip.positions[i]} · ${this.data.field} ${strip.texts[i]}${name ? ` (${name})` : ""}`;
    return Object.assign(cell, { row: strip.rows[i], cluster: strip.clusters[i], outside: strip.outsides[i], strip: at, title });
  }

  paint() {
    if (!this.data) return;
    const found = readMark(page.mark), points = page.scenes.get(this.data.scene)?.at(-1);
    const rows = found?.kind === "lasso" && points ? new Set(points.rowsOf(points.find(page.mark))) : null;
    this.frame.classList.toggle("some", Boolean(found));
    for (const cell of this.cells) {
      const is = !found ? false
        : found.kind === "cluster" ? within(found.ranges, cell.cluster) && !cell.outside
        : rows ? rows.has(cell.row)
        : found.kind === this.data.side && within(found.ranges, cell.row);
      cell.classList.toggle("marked", is);
      cell.setAttribute("aria-pressed", is);
    }
  }

  // A token and, while the pointer is held or with shift, those up to another one of the same sample.
  choose(cell, from = cell) {
    const [low, high] = [Math.min(cell.row, from.row), Math.max(cell.row, from.row)];
    if (low < 0) return; // of another store, which has no such token
    const text = `${this.data.side}:${low === high ? low : `${low}-${high}`}`;
    this.last = from;
    mark(text === page.mark && low === high ? "" : text);
  }

  begin(event) {
    const cell = event.target.closest(".tokens > button");
    if (!cell || event.button) return;
    event.target.releasePointerCapture?.(event.pointerId); // of a finger
    const is = event.shiftKey && this.last?.strip === cell.strip;
    this.choose(cell, is ? this.last : cell);
    this.held = cell;
  }

  extend(event) {
    const cell = event.target.closest(".tokens > button");
    if (event.buttons && this.held && cell && cell !== this.held && cell.strip === this.held.strip) this.choose(cell, this.held);
  }

  key(event) {
    const cell = event.target.closest(".tokens > button");
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (cell && by) {
      event.stopPropagation(); // elsewhere these keys step through the samples
      event.preventDefault();
      const next = this.cells[this.cells.indexOf(cell) + by];
      if (next?.strip !== cell.strip) return;
      next.focus();
      if (event.shiftKey) this.choose(next, this.last?.strip === cell.strip ? this.last : cell);
    } else if (cell && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      this.choose(cell);
    }
  }
}

// ---- attention

// Weights from 0 to 255 as a picture, a pixel a pair.
function paintMap(map, colors) {
  const { rows, columns } = map, canvas = make("canvas", { width: columns, height: rows }), pen = canvas.getContext("2d");
  const image = pen.createImageData(columns, rows), ramp = colors.map(channels), last = ramp.length - 1;
  [...atob(map.weights)].forEach((sign, i) => {
    const at = (sign.charCodeAt(0) / 255) * last, low = Math.min(Math.floor(at), last - 1), share = at - low;
    for (const channel of [0, 1, 2]) image.data[4 * i + channel] = ramp[low][channel] * (1 - share) + ramp[low + 1][channel] * share;
    image.data[4 * i + 3] = 255;
  });
  pen.putImageData(image, 0, 0);
  return canvas;
}

// A head's weights: tokens in two columns with a line a weight, those of a token alone while the pointer is on it.
class Attend {
  constructor(root) {
    this.sides = [make("div", { className: "column" }), make("div", { className: "column" })];
    this.lines = make("canvas", { className: "links" });
    this.told = make("div", { className: "tally", role: "status" });
    this.words = make("div", { className: "words" }, this.sides[0], this.lines, this.sides[1]);
    root.append(make("div", { className: "wide" }, this.words, this.told));
    this.pair = (root.getRootNode().host ?? root).closest(".st-key-pair");
    new ResizeObserver(() => this.paint()).observe(this.words);
    new MutationObserver(() => this.align()).observe(this.pair, { childList: true, subtree: true });
  }

  // Words stand at the rows of the map beside them.
  align() {
    const map = this.pair.querySelector(".nsewdrag")?.getBoundingClientRect(), box = this.words.getBoundingClientRect();
    const isLevel = map?.left > box.right && this.data.keys.signs.length <= this.data.height; // else rows are too high
    const [top, row] = isLevel ? [map.top - box.top, map.height / this.data.height] : [0, 20];
    this.words.style.cssText = `padding-top: ${top}px; --row: ${row}px`;
  }

  take(data) {
    this.data = data;
    this.cells = [data.queries, data.keys].map(({ signs, special, rows, side }, end) => signs.map((sign, i) => {
      const text = `${side}:${rows[i]}`, alone = () => this.paint([end, i]), all = () => this.paint();
      const cell = make("button", { textContent: sign, className: special[i] ? "special" : "", title: `token ${i}`, onclick: () => rows[i] < 0 || mark(text === page.mark ? "" : text),
        onpointerenter: alone, onfocus: alone, onpointerleave: all, onblur: all });
      return Object.assign(cell, { row: rows[i], side, special: special[i] });
    }));
    this.sides.forEach((side, end) => side.replaceChildren(...this.cells[end]));
    this.paint();
    for (const pause of [300, 1000, 3000]) setTimeout(() => this.align(), pause); // a busy browser places the map later
  }

  // The lines of all words, or those of one: `at` has its column and its number.
  paint(at) {
    if (!this.data || !this.lines.clientWidth) return;
    const { weights } = this.data, scale = density(), box = this.lines.getBoundingClientRect(), pen = this.lines.getContext("2d");
    Object.assign(this.lines, { width: box.width * scale, height: box.height * scale });
    pen.scale(scale, scale);
    pen.strokeStyle = getComputedStyle(this.lines).color;
    const middle = (cell) => cell.offsetTop + cell.offsetHeight / 2, [queries, keys] = this.cells, found = readMark(page.mark);
    for (const cell of [...queries, ...keys]) {
      cell.style.background = "";
      cell.classList.toggle("marked", Boolean(found?.ranges && found.kind === cell.side && within(found.ranges, cell.row)));
    }
    queries.forEach((query, i) => keys.forEach((key, j) => {
      const weight = weights[i][j], is = at ? at[1] === (at[0] ? j : i) : !query.special && !key.special;
      if (!is || weight < (at ? 0.01 : 0.08)) return;
      pen.globalAlpha = at ? Math.min(1, 0.1 + weight) : weight * 0.6;
      pen.lineWidth = at ? 1 + 3 * weight : 1;
      pen.stroke(new Path2D(`M0,${middle(query)}L${box.width},${middle(key)}`));
      if (at) (at[0] ? query : key).style.background = `color-mix(in srgb, #0072B2 ${Math.round(55 * weight)}%, transparent)`;
    }));
    const [end, i] = at ?? [], most = at && (end ? queries : keys).map((_, j) => [end ? weights[j][i] : weights[i][j], j]).sort(([a], [b]) => b - a).slice(0, 3);
    const special = [...new Set(this.cells.flat().filter((each) => each.special).map((each) => `‘${each.textContent}’`))].join(", ");
    const signs = end ? this.data.queries.signs : this.data.keys.signs;
    this.told.textContent = most ? `‘${(end ? this.data.keys : this.data.queries).signs[i]}’ ${end ? "is looked at by" : "looks at"} ${most.map(([weight, j]) => `‘${signs[j]}’ ${(100 * weight).toFixed(0)} %`).join(", ")}`
      : `Point at a word to see its lines alone.${special ? ` Those of ${special} are left out until then.` : ""}`;
  }
}

// ---- what is picked by a click, as the address writes it: two tokens at most (1,5) or a head (encoder.0.self.role:2)

class Picks {
  constructor(root) {
    this.frame = make("div");
    this.note = make("span", { role: "status" });
    this.undo = make("button", { textContent: "Without the edit", onclick: () => this.pick("") });
    root.append(this.frame, make("div", { className: "below" }, this.note, this.undo));
  }

  take(data) {
    const { picked, marked, advice, ...drawn } = data, told = JSON.stringify(drawn);
    Object.assign(this, { data, picked });
    this.frame.className = `${data.ramp ? "heads" : "strips"} ${data.look ?? ""}`;
    if (told !== this.told)
      this.frame.replaceChildren(...data.groups.map(({ heading, items }) => make("section", {}, make("div", { className: "heading", textContent: heading }),
        make("div", { className: data.ramp ? "maps" : "tokens plain" }, ...items.map((item) => this.button(item))))));
    this.told = told;
    this.paint();
  }

  button({ name, text, title = "", map, back = "", ink = "" }) {
    const sign = make("span", { className: map ? "" : "sign", textContent: text }), inside = map ? [paintMap(map, this.data.ramp), sign] : [sign];
    Object.assign(sign.style, { background: back, color: ink });
    return !name ? sign : make("button", { name, title, onclick: () => this.toggle(name) }, ...inside);
  }

  toggle(name) {
    if (this.data.one) return this.pick(name);
    const known = this.picked ? this.picked.split(",") : [], isHead = name.includes(":");
    if (known.includes(name)) return this.pick(known.filter((each) => each !== name).join(","));
    return this.pick(isHead || known.length > 1 || known[0]?.includes(":") ? name : [...known, name].join(","));
  }

  pick(text) {
    for (const part of page.parts.values())
      if (part instanceof Picks) {
        Object.assign(part, { picked: text });
        part.data.marked = null; // known to the server only
        part.paint();
      }
    this.tell(text);
  }

  paint() {
    const marked = this.data.marked?.map(String) ?? this.picked.split(",");
    for (const each of this.frame.querySelectorAll("button")) each.setAttribute("aria-pressed", marked.includes(each.name));
    this.note.textContent = this.data.advice;
    this.undo.hidden = !this.picked || Boolean(this.data.ramp || this.data.one);
  }
}

const PARTS = { map: Map2D, strips: Strips, picks: Picks, attend: Attend };
