"use strict";
(() => {
  const state = JSON.parse(document.getElementById("state").textContent);
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // ---- theme

  const LIGHT = ["#2f6690", "#d1793b", "#4b8b5b", "#b5485d", "#7a62a8", "#8a6d52", "#c9699f", "#6b7785", "#a59a2e", "#2f9c9a"];
  const DARK = ["#7cb2d9", "#eba56c", "#86c795", "#e2849a", "#b3a0dc", "#c3a78c", "#e6a3cb", "#a6b2be", "#d3c95f", "#72cfcc"];
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const palette = () => {
    const [first, second] = isDark() ? [DARK, LIGHT] : [LIGHT, DARK];
    return [...first, ...second];
  };
  const colour = (place) => palette()[place % palette().length];
  const ink = (ground) => { // a readable text colour on this background
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(ground.slice(at, at + 2), 16));
    return 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#14181d" : "#ffffff";
  };
  const ramp = () => (isDark() ? ["#1f2730", "#2f5676", "#9fd0f3"] : ["#f1f4f6", "#8fb5d3", "#1d4e75"]);

  function config() {
    const [ink, soft, line] = isDark() ? ["#e4e8ec", "#98a4b0", "#2d353d"] : ["#1d2530", "#5d6875", "#e3e5e8"];
    const font = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    const words = { labelColor: soft, titleColor: soft, labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };
    return {
      background: null, font, padding: { left: 0, right: 0, top: 2, bottom: 5 },
      view: { stroke: null },
      axis: { ...words, gridColor: line, domainColor: line, tickColor: line, labelPadding: 6, titlePadding: 10 },
      legend: { ...words, labelColor: ink, symbolType: "circle", gradientLength: 120, rowPadding: 6, columnPadding: 18 },
      mark: { color: colour(0) }, text: { color: soft },
      range: { ramp: ramp(), heatmap: ramp() },
    };
  }

  // ---- names

  const NONE = "no known word";
  const label = (topic) => (topic < 0 ? NONE : `${topic} · ${state.names[topic]}`);

  function named(row) {
    return "topic" in row ? { ...row, name: label(row.topic) } : row;
  }

  // ---- charts

  const shown = new Map();

  function domain(meaning) {
    const names = meaning === "topic" ? state.names.map((_, k) => label(k)) : state.classes;
    const other = meaning === "topic" ? NONE : "";
    return { domain: [...names, other], range: [...names.map((_, k) => colour(k)), isDark() ? "#4a545e" : "#c9ced3"] };
  }

  function specification(name, width) {
    const spec = structuredClone(state.charts[name]);
    const meaning = (spec.usermeta || {}).colour;
    if (meaning) {
      const channel = spec.layer[0].encoding.color;
      channel.scale = domain(meaning);
      const used = meaning === "topic" ? state.names.map((_, k) => label(k)) : state.classes;
      const columns = Math.max(1, Math.floor(width / (width < 520 ? 170 : 220)));
      channel.legend = { ...channel.legend, values: used, columns, labelLimit: Math.floor(width / columns) - 36 };
    }
    spec.datasets = Object.fromEntries(
      Object.entries(state.tables).filter(([key]) => JSON.stringify(spec).includes(`"name":"${key}"`)).map(([key, rows]) => [key, rows.map(named)]),
    );
    if ((spec.usermeta || {}).cells && spec.layer) spec.layer[1].encoding.color = onRamp();
    if (width < 520) narrow(spec);
    return spec;
  }

  function onRamp() {
    const [faint, strong] = [ramp()[0], ramp()[2]].map(ink);
    return { condition: { test: "datum.share > 0.6", value: strong }, value: faint };
  }

  function narrow(spec) {
    if (!(spec.usermeta || {}).cells) return;
    const { x, y } = spec.encoding;
    const { color } = spec.layer ? spec.layer[0].encoding : spec.encoding;
    Object.assign(x.axis, { labelAngle: -90, labelFontSize: 10, labelLimit: 80 });
    Object.assign(y.axis, { labelLimit: 90, minExtent: 0 });
    color.legend.orient = "top";
    if (x.field === "name") Object.assign(x.axis, { labelAngle: 0, labelOverlap: true, labelExpr: "split(datum.label, ' ')[0]" });
  }

  // Charts are drawn one after the other; each waits in the queue at most once.
  const waiting = new Set();
  let queue = Promise.resolve();

  function draw(place) {
    if (!waiting.has(place)) {
      waiting.add(place);
      queue = queue.then(() => waiting.delete(place) && embed(place)).catch((error) => console.error(error));
    }
    return queue;
  }

  async function embed(place) {
    const name = place.dataset.chart === "map" ? `map_${byId("colour").value}` : place.dataset.chart;
    if (!state.charts[name]) return;
    const before = shown.get(place);
    if (before) before.finalize();
    const renderer = place.dataset.chart === "map" ? "canvas" : "svg";
    const result = await vegaEmbed(place, specification(name, place.clientWidth), {
      ast: true, actions: false, defaultStyle: false, renderer, config: config(), tooltip: tip, mode: "vega-lite",
    });
    shown.set(place, result);
    if (place.dataset.chart === "map") watch(result.view);
  }

  // A chart is drawn when it comes near the window, so that a long page opens at once.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !shown.has(entry.target)) draw(entry.target);
    }
  }, { rootMargin: "600px" });
  const redraw = () => all(".chart").filter((place) => shown.has(place)).forEach(draw);

  function tip(handler, event, item, value) {
    const box = byId("tip");
    box.hidden = !value;
    if (!value) return;
    box.replaceChildren(...Object.entries(value).filter(([, v]) => v !== "").map(([key, v]) => {
      const line = make("div");
      line.append(make("span", "", key), make("b", "", String(v)));
      return line;
    }));
    const room = innerWidth - box.offsetWidth - 12;
    box.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
  }

  // ---- words of the topics

  function relevance(word, weight) {
    return Math.log(word.p) - (1 - weight) * Math.log(word.corpus);
  }

  let moved = false; // until the slider is moved, words come in the order of the model

  function bars() {
    const weight = Number(byId("relevance").value);
    byId("relevance-value").textContent = moved ? `relevance ${weight.toFixed(1)}` : "coherent";
    for (const list of all(".words")) {
      const topic = Number(list.dataset.topic);
      const words = [...state.words[topic]];
      if (moved) words.sort((a, b) => relevance(b, weight) - relevance(a, weight));
      words.length = Math.min(words.length, 10);
      const most = Math.max(...state.words[topic].map((word) => word.p), 1e-12);
      list.replaceChildren(...words.map((word) => bar(word, most, topic)));
    }
  }

  function bar(word, most, topic) {
    const item = make("li");
    const name = make("span", "word", word.word);
    name.title = word.word;
    const space = make("span", "space");
    const share = make("span", "share");
    const mark = make("span", "mark");
    share.style.width = `${Math.max(0.5, (100 * word.p) / most)}%`;
    share.style.background = colour(topic);
    mark.style.left = `${Math.min(99, (100 * word.corpus) / most)}%`;
    space.title = `${(100 * word.p).toFixed(2)} % of the topic, ${(100 * word.corpus).toFixed(3)} % of all documents`;
    space.append(share, mark);
    item.append(name, space);
    return item;
  }

  function swatches() {
    for (const node of all(".swatch")) {
      node.style.background = colour(Number(node.dataset.topic));
      node.style.color = ink(colour(Number(node.dataset.topic)));
    }
  }

  // ---- the table of documents, and the brush

  const LONGEST = 100;

  function watch(view) {
    view.addDataListener("brush_store", (_, stored) => choose(stored));
    choose([]);
  }

  function choose(stored) {
    const ranges = stored.length ? stored[0].values : null;
    const inside = (row) => !ranges || [row.x, row.y].every((v, i) => v >= Math.min(...ranges[i]) && v <= Math.max(...ranges[i]));
    const rows = state.tables.points.filter(inside);
    byId("clear").hidden = !ranges;
    const first = rows.length > LONGEST ? `, the first ${LONGEST} below` : "";
    byId("chosen").textContent = `${rows.length.toLocaleString("en")} documents ${ranges ? "selected" : "on the map"}${first}`;
    byId("documents").tBodies[0].replaceChildren(...rows.slice(0, LONGEST).map(line));
  }

  function cell(name, text) {
    const node = make("td", ["document", "row", "confidence"].includes(name) ? "number" : "");
    node.append(name === "text" ? make("div", "clamp", text) : text);
    return node;
  }

  function line(row) {
    const columns = all("#documents th").map((head) => head.textContent);
    const cells = {
      document: row.document, row: row.document, topic: label(row.topic), label: row.class, prediction: row.prediction,
      confidence: row.confidence === null ? "" : `${(100 * row.confidence).toFixed(0)} %`, text: row.text,
    };
    const node = make("tr");
    node.append(...columns.map((name) => cell(name, String(cells[name]))));
    return node;
  }

  // ---- events

  function rename(event) {
    const topic = Number(event.target.dataset.topic);
    const name = event.target.value.trim();
    if (!name) event.target.value = state.names[topic];
    else state.names[topic] = name;
    for (const node of all(`[data-name="${topic}"]`)) node.textContent = state.names[topic];
    redraw();
  }

  function download() {
    const file = new Blob([JSON.stringify(state.names, null, 1)], { type: "application/json" });
    const link = make("a");
    link.href = URL.createObjectURL(file);
    link.download = "topic-names.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function repaint() {
    swatches();
    bars();
    redraw();
  }

  function colours() {
    for (const name of Object.keys(state.charts).filter((key) => key.startsWith("map_"))) {
      const option = make("option", "", name.slice(4));
      option.value = name.slice(4);
      byId("colour").append(option);
    }
  }

  colours();
  swatches();
  bars();
  choose([]);
  function slide(event) {
    moved = event.type === "input";
    if (!moved) byId("relevance").value = byId("relevance").defaultValue;
    bars();
  }

  byId("relevance").addEventListener("input", slide);
  byId("coherent").addEventListener("click", slide);
  byId("download").addEventListener("click", download);
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    repaint();
  });
  prefersDark.addEventListener("change", repaint);
  byId("colour").addEventListener("change", () => draw(document.querySelector('[data-chart="map"]')));
  byId("clear").addEventListener("click", () => draw(document.querySelector('[data-chart="map"]')));
  for (const input of all(".rename")) {
    input.addEventListener("change", rename);
    input.addEventListener("keydown", (event) => event.key === "Enter" && input.blur());
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    redraw();
  });
  all(".chart").forEach((place) => near.observe(place));

  // The other charts are drawn when the browser is idle, so that all can be printed; paper is light.
  const later = window.requestIdleCallback || ((task) => setTimeout(task, 200));
  async function rest() {
    const next = all(".chart").find((place) => !shown.has(place) && place.dataset.chart);
    if (!next) return;
    await draw(next);
    if (shown.has(next)) later(rest);
  }
  later(rest);
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    if (!isDark()) return;
    root.dataset.theme = "light";
    repaint();
  });
  addEventListener("afterprint", () => {
    if (root.dataset.theme === before) return;
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    repaint();
  });
})();
