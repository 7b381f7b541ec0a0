"""Ways to mark points of a map in a browser, at 10k, 100k and 1M points, in a headless Chromium: milliseconds.

python benchmarks/marks.py [POINTS…]    prints a table in Markdown

Each way draws the same points and then marks those in the left part of the map. A time ends when the
picture is complete and the browser has begun the next frame. The dashboard's own way is the code that it ships.
"""

import json
import sys
from pathlib import Path

import plotly

APP = Path(__file__).parents[1] / "app"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
CHROMIUM = "/usr/bin/chromium"
POINTS = (10_000, 100_000, 1_000_000)
WAYS = {
    "ours": "the dashboard's canvas",
    "webgl": "WebGL point sprites",
    "plotly": "Plotly scattergl, restyled",
}
COLUMNS = ("way", "first drawing (ms)", "mark (ms)", "another mark (ms)", "marks, times ours")
MADE = """
let seed = 1;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
window.scatter = (n) => {
  const centers = Array.from({ length: 12 }, () => [8000 + 49000 * random(), 8000 + 49000 * random()]);
  const [x, y, cluster] = [new Uint16Array(n), new Uint16Array(n), new Uint8Array(n)];
  for (let i = 0; i < n; i++) {
    cluster[i] = 12 * random();
    x[i] = centers[cluster[i]][0] + 3000 * (random() + random() + random() - 1.5);
    y[i] = centers[cluster[i]][1] + 3000 * (random() + random() + random() - 1.5);
  }
  return { n, x, y, cluster };
};
window.colors = Array.from({ length: 12 }, (_, i) => `hsl(${30 * i} 60% 50%)`);
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
window.time = async (act) => {
  const start = performance.now();
  await act();
  await frame();
  return performance.now() - start;
};
"""
PLOTLY_WAY = """
const inside = (points, edge) => [...points.x.keys()].filter((i) => points.x[i] < edge);
window.plotly = {
  draw: ({ x, y, cluster }) => Plotly.newPlot("place", [{ type: "scattergl", mode: "markers", x, y,
    marker: { size: 4, color: cluster }, unselected: { marker: { opacity: 0.2 } } }], { width: 700, height: 520 }),
  mark: (points, edge) => Plotly.restyle("place", { selectedpoints: [inside(points, edge)] }),
};
"""
WEBGL_WAY = """
const VERTEX = `#version 300 es
in vec2 place; in float cluster; in float marked; uniform vec3 shades[12]; uniform float some; uniform float pass; out vec4 shade;
void main() {
  float alpha = some < 0.5 || marked > 0.5 ? 0.75 : 0.2;
  shade = vec4(shades[int(cluster)] * alpha, alpha);
  gl_PointSize = 3.0;
  gl_Position = (pass > 0.5) != (marked > 0.5) ? vec4(9.0) : vec4(place * 2.0 - 1.0, 0.0, 1.0);
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 shade; out vec4 seen; void main() { seen = shade; }`;
let gl, program, flags, held;
const buffer = (name, values, size, type, scaled) => {
  const made = gl.createBuffer(), at = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, made);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, size, type, scaled, 0, 0);
  return made;
};
const paint = (n, some) => {
  const set = (name, value) => gl.uniform1f(gl.getUniformLocation(program, name), value);
  gl.clear(gl.COLOR_BUFFER_BIT);
  set("some", some);
  for (const pass of some ? [0, 1] : [0]) {
    set("pass", pass);
    gl.drawArrays(gl.POINTS, 0, n);
  }
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits until it is drawn
};
window.webgl = {
  draw({ n, x, y, cluster }) {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: 700, height: 520 });
    document.getElementById("place").append(canvas);
    gl = canvas.getContext("webgl2", { antialias: false });
    program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const places = new Uint16Array(2 * n);
    for (let i = 0; i < n; i++) [places[2 * i], places[2 * i + 1]] = [x[i], y[i]];
    buffer("place", places, 2, gl.UNSIGNED_SHORT, true);
    buffer("cluster", cluster, 1, gl.UNSIGNED_BYTE, false);
    flags = new Uint8Array(n);
    held = buffer("marked", flags, 1, gl.UNSIGNED_BYTE, false);
    gl.uniform3fv(gl.getUniformLocation(program, "shades"), Float32Array.from({ length: 36 }, (_, i) => (i * 7 % 10) / 10));
    paint(n, 0);
  },
  mark({ n, x }, edge) {
    for (let i = 0; i < n; i++) flags[i] = x[i] < edge;
    gl.bindBuffer(gl.ARRAY_BUFFER, held);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, flags);
    paint(n, 1);
  },
};
"""
OUR_WAY = """
const table = (columns) => ({ getChild: (name) => ({ toArray: () => columns[name] }) });
let part;
const send = (data) => mount({ data, parentElement: part, setStateValue() {} });
const settled = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
let turn = 0;
window.ours = {
  async draw({ n, x, y, cluster }) {
    part = document.getElementById("place").attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = CSS_TEXT;
    part.append(style);
    send({ kind: "map", scene: "s", title: "", axes: ["", ""], advice: "", colors, labels: [], clusters: [] });
    const one = (value) => Int32Array.of(value);
    send({ kind: "points", scene: "s", side: "source", layers: 1, bounds: [0, 0, 65535, 65535], vocabulary: ["a"],
      points: table({ x, y, cluster, token: new Uint16Array(n) }),
      runs: table({ row: one(0), sample: one(0), position: one(0), count: one(n) }) });
    await settled();
  },
  mark: (points, edge) => send({ kind: "mark", text: `lasso:-1,-1,${edge},-1,${edge},65536,-1,65536`, turn: ++turn }),
};
"""


def measure(page, way: str, points: int) -> list[float]:
    """Milliseconds of the first drawing, of a mark and of another one."""
    page.set_content('<div id="place" style="width: 1400px"></div>')
    page.add_script_tag(content=MADE)
    if way == "plotly":
        page.add_script_tag(path=PLOTLY)
        page.add_script_tag(content=PLOTLY_WAY)
    elif way == "webgl":
        page.add_script_tag(content=WEBGL_WAY)
    else:
        shipped = APP.joinpath("canvas.js").read_text("utf-8").replace("export default ", "")
        style = f"const CSS_TEXT = {json.dumps(APP.joinpath('canvas.css').read_text('utf-8'))};"
        page.add_script_tag(content=f"{{ {shipped}\n{style}\n{OUR_WAY} }}")
    return page.evaluate(
        """async ([way, n]) => {
            const points = scatter(n), done = [await time(() => window[way].draw(points))];
            for (const edge of [30000, 20000]) done.push(await time(() => window[way].mark(points, edge)));
            return done;
        }""",
        [way, points],
    )


def main(sizes: list[int]) -> None:
    from playwright.sync_api import sync_playwright

    print("| " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * (len(COLUMNS) - 1))
    ours = {}
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for way, told in WAYS.items():
            for points in sizes:
                page = browser.new_page(viewport={"width": 1500, "height": 900})
                page.set_default_timeout(300_000)
                found = measure(page, way, points)
                ratio = sum(found[1:]) / ours.setdefault(points, sum(found[1:]))
                cells = [*(f"{each:.0f}" for each in found), f"{ratio:.1f}×"]
                print(f"| {told}, {points:,} points | " + " | ".join(cells) + " |", flush=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or list(POINTS))
