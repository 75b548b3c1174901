"use strict";
(() => {
  const state = JSON.parse(document.getElementById("state").textContent);
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const { make, save, saveCsv, grid } = Tables;
  const records = (sheet) => sheet.rows.map((row) => Object.fromEntries(sheet.columns.map((name, k) => [name, row[k]])));
  const documents = records(state.documents);

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
      title: { color: soft, font, fontSize: 12, fontWeight: 500, anchor: "start", frame: "group" },
      range: { ramp: ramp(), heatmap: ramp() },
    };
  }

  // ---- names

  const { samples, features, order } = state.nouns;
  const NONE = state.none;
  const label = (topic) => (topic < 0 ? NONE : `${topic} · ${state.names[topic]}`);

  function named(row) {
    return "topic" in row ? { ...row, name: label(row.topic) } : row;
  }

  // ---- charts

  const shown = new Map();

  const LEGEND = 20; // most legend entries; the other classes share one colour
  const OTHER = "other classes";
  const legendClasses = () => {
    const size = new Map(state.classes.map((name, c) => [name, state.class_sizes[c]]));
    const largest = [...state.classes].sort((a, b) => size.get(b) - size.get(a)).slice(0, LEGEND);
    return state.sorted_classes.filter((name) => largest.includes(name));
  };

  // The colours of a map by topic (field "name") or by class: names, and what the rest is called.
  function domain(field) {
    const names = field === "name" ? state.order.map(label) : legendClasses();
    const places = field === "name" ? state.order : names.map((name) => state.classes.indexOf(name));
    const grey = isDark() ? "#4a545e" : "#c9ced3";
    return { domain: [...names, NONE, OTHER, ""], range: [...places.map(colour), grey, grey, grey] };
  }

  function colourMap(spec, field, width) {
    const channel = spec.layer[0].encoding.color;
    if (!field) return;
    const scale = domain(field);
    const names = scale.domain.slice(0, -3);
    const columns = Math.max(1, Math.floor(width / (width < 520 ? 170 : 220)));
    const values = field !== "name" && names.length < state.classes.length ? [...names, OTHER] : names;
    const legend = names.length > LEGEND ? null : { ...channel.legend, values, columns, labelLimit: Math.floor(width / columns) - 36 };
    Object.assign(channel, { field: "colour", scale, legend });
  }

  function mapRows(field) {
    const known = field && field !== "name" ? new Set([...legendClasses(), ""]) : null;
    return state.mapped.map((d) => {
      const { text, ...row } = named(documents[d]);
      return { ...row, colour: known && !known.has(row[field]) ? OTHER : row[field] };
    });
  }

  // Names at the rim: the largest topics first, each where it does not overlap another.
  const [ACROSS, DOWN, LINE] = [2, 1.4, 15];
  const RIM = Math.min(1.3, 1.08 + 0.45 / Math.sqrt(state.names.length)); // few topics scatter more
  const pen = make("canvas").getContext("2d");

  function fitting(text, space) {
    if (pen.measureText(text).width <= space) return text;
    let end = text.length;
    while (end > 0 && pen.measureText(`${text.slice(0, end)}…`).width > space) end -= 1;
    return end > 3 ? `${text.slice(0, end)}…` : "";
  }

  function side({ x, y }) {
    if (Math.abs(x) < 0.1) return y > 0 ? "top" : "bottom";
    return x < 0 ? "left" : "right";
  }

  function rim(width, height) {
    pen.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    const across = width < 520 ? 2.6 : ACROSS;
    const taken = [];
    const rows = state.tables.anchors.map((row) => ({ ...named(row), x: RIM * row.x, y: RIM * row.y, side: side(row), short: "" }));
    const spots = rows.map((row) => [(row.x / across + 1) * (width / 2), (1 - row.y / DOWN) * (height / 2)]);
    for (const row of state.order.map((k) => rows[k])) {
      const at = spots[row.topic];
      const space = { left: at[0], right: width - at[0] }[row.side] || width;
      const text = fitting(row.name, Math.min(210, space - 12));
      const size = pen.measureText(text).width + 12;
      const box = { left: at[0] - ({ left: size, right: 0 }[row.side] ?? size / 2), top: at[1] + ({ top: -13, bottom: 13 }[row.side] || 0), size };
      const free = (other) => Math.abs(other.top - box.top) >= LINE || other.left + other.size < box.left || box.left + box.size < other.left;
      const covers = ([x, y]) => Math.abs(y - box.top) < 9 && x > box.left && x < box.left + box.size && x !== at[0];
      if (!text || !taken.every(free) || spots.some(covers)) continue;
      taken.push(box);
      row.short = text;
    }
    return { rows, across };
  }

  function specification(name, width) {
    const spec = structuredClone(state.charts[name]);
    const { map, time, colour: field, cells: isCells } = spec.usermeta || {};
    const data = (key) => state.tables[key].map(named);
    if (map) {
      const { rows, across } = rim(width, spec.height);
      colourMap(spec, field, width);
      spec.layer[0].encoding.x.scale.domain = [-across, across];
      spec.datasets = { points: mapRows(field), anchors: rows };
    } else if (time) {
      lines(spec, width);
    } else {
      const text = JSON.stringify(spec);
      const keys = Object.keys(state.tables).filter((key) => text.includes(`"name":"${key}"`));
      spec.datasets = Object.fromEntries(keys.map((key) => [key, data(key)]));
    }
    if (isCells && spec.layer) spec.layer[1].encoding.color = onRamp();
    if (width < 520) narrow(spec);
    return spec;
  }

  // ---- over time: several lines, or one with its interval

  const shares = state.over_time ? records(state.over_time.rows) : [];
  const lineOf = (row) => `${row.kind} ${row.kind === "topic" ? row.topic : row.class}`;
  const lineName = (row) => (row.kind === "topic" ? label(row.topic) : row.class);
  const choice = () => byId("time-choice").value;
  const isTopic = () => choice().startsWith("topic ");
  const isOne = () => !(choice() in state.over_time.lines);

  function told({ kind, share, low, high }) {
    if (share === null) return "no documents";
    return kind === "number" ? String(share) : `${percent(share, 1)} (${percent(low)} – ${percent(high)})`;
  }

  function lines(spec, width) {
    if (width < 520) spec.height = 220;
    const drawn = isOne() ? [choice()] : state.over_time.lines[choice()].map((name) => `${choice()} ${name}`);
    const rows = shares.filter((row) => drawn.includes(lineOf(row)));
    const first = drawn.map((line) => rows.find((row) => lineOf(row) === line));
    const range = first.map((row, place) => {
      const own = row.kind === "topic" ? row.topic : state.classes.indexOf(row.class);
      const all = row.kind === "topic" ? state.names : state.classes;
      return colour(all.length <= palette().length ? own : place);
    });
    spec.datasets = { shares: rows.map((row) => ({ ...row, label: lineName(row), told: told(row) })) };
    const [y, { color }] = spec.layer ? [spec.layer[1].encoding.y, {}] : [spec.encoding.y, spec.encoding];
    if (first[0].kind === "number") Object.assign(y, { axis: { ...y.axis, format: "~g" }, scale: { zero: false } });
    if (spec.layer) return spec.layer.map(({ mark }) => [mark, mark.point]).flat().filter(Boolean).forEach((mark) => Object.assign(mark, { color: range[0] }));
    const space = width - 60; // beside the numbers of the axis
    const columns = Math.max(1, Math.floor(space / (space < 520 ? 170 : 260)));
    color.scale = { domain: first.map(lineName), range };
    Object.assign(color.legend, { columns, symbolType: "stroke", symbolStrokeWidth: 3, labelLimit: Math.floor(space / columns) - 44 });
  }

  function onRamp() {
    const [faint, strong] = [ramp()[0], ramp()[2]].map(ink);
    return { condition: { test: "datum.share > 0.6", value: strong }, value: faint };
  }

  // As in the charts themselves: classes often differ in their last words.
  function middleCut(characters) {
    const [start, end] = [Math.floor(characters / 2), Math.ceil(characters / 2) - 1];
    return `length(datum.label) > ${characters} ? slice(datum.label, 0, ${start}) + '…' + slice(datum.label, -${end}) : datum.label`;
  }

  function narrow(spec) {
    if (!(spec.usermeta || {}).cells) return;
    const { x, y } = spec.encoding;
    const { color } = spec.layer ? spec.layer[0].encoding : spec.encoding;
    Object.assign(x.axis, { labelAngle: -90, labelFontSize: 10, labelLimit: 95, labelExpr: middleCut(14) });
    Object.assign(y.axis, { labelLimit: 110, minExtent: 0, labelExpr: middleCut(14) });
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

  function chartName(kind) {
    if (kind === "map") return `map_${byId("colour").value}`;
    return kind === "time" ? `time_${isOne() ? "one" : "lines"}` : kind;
  }

  async function embed(place) {
    const name = chartName(place.dataset.chart);
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

  // A chart is drawn when it comes near the viewport, so that a long page opens at once.
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
    const space = innerWidth - box.offsetWidth - 12;
    box.style.left = `${Math.max(8, Math.min(event.clientX + 14, space))}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
  }

  // ---- words of the topics

  function relevance(word, weight) {
    return Math.log(word.p) - (1 - weight) * Math.log(word.corpus);
  }

  let moved = false; // until the slider is moved, words are in the model's order

  function bars() {
    const weight = Number(byId("relevance").value);
    byId("relevance-value").textContent = moved ? `relevance ${weight.toFixed(1)}` : order;
    for (const list of all(".words")) {
      const topic = Number(list.dataset.topic);
      const words = [...state.words[topic]];
      if (moved) words.sort((a, b) => relevance(b, weight) - relevance(a, weight));
      words.length = Math.min(words.length, 10);
      const most = Math.max(...words.map((word) => word.p), 1e-12);
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
    space.title = `${(100 * word.p).toFixed(2)} % of the topic, ${(100 * word.corpus).toFixed(3)} % of all ${samples}`;
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

  // ---- tables

  const signed = (value) => value.toFixed(2).replace(/^-(?!0\.00$)/, "−").replace("-", "");
  const percent = (value, digits = 0) => (value === null || value === undefined ? "" : `${(100 * value).toFixed(digits)}\u00a0%`);
  const has = (name) => documents.some((row) => row[name] !== "" && row[name] !== null);
  const names = (joined) => `, ${joined}, `;
  let brushed = false;

  function documentColumns() {
    const isSure = state.kind === "classes" || state.kind === "sets";
    return [
      { name: state.number, value: (row) => row.document, kind: typeof (documents[0] || {}).document === "number" ? "number" : "" },
      { name: "topic", value: (row) => label(row.topic) },
      { name: "topic share", value: (row) => row.share, show: (row) => (row.topic < 0 ? "" : percent(row.share)), kind: "number" },
      has("class") && { name: "label", value: (row) => row.class },
      state.kind !== "topics" && { name: "prediction", value: (row) => row.prediction },
      isSure && { name: "confidence", value: (row) => row.confidence, show: (row) => percent(row.confidence), kind: "number" },
      has("unlike") && { name: "unlike", value: (row) => row.unlike, show: (row) => `${row.unlike >= state.unlike ? "▲ " : ""}${percent(row.unlike)}`, kind: "number" },
      state.text && { name: "text", value: (row) => row.text, kind: "long" },
    ].filter(Boolean);
  }

  function documentFilters() {
    const topics = { name: "topic", options: state.order.map((k) => [String(k), label(k)]), test: (row, value) => row.topic === Number(value) };
    const of = (name, field) => ({
      name, options: state.sorted_classes.map((each) => [each, each]), test: (row, value) => names(row[field]).includes(names(value)),
    });
    if (state.kind !== "classes" && state.kind !== "sets") return [topics];
    return [topics, has("class") && of("label", "class"), of("prediction", "prediction")].filter(Boolean);
  }

  function status(n) {
    const count = n.toLocaleString("en");
    if (brushed) return `${count} ${samples} selected`;
    return state.mapped.length < documents.length ? `${count} ${samples}, ${state.mapped.length.toLocaleString("en")} of them on the map` : `${count} ${samples} on the map`;
  }

  const tables = [];
  const documentGrid = grid(byId("document-grid"), documentColumns(), documents, {
    name: samples, id: "documents", statusId: "chosen", filters: documentFilters(), status,
  });
  tables.push(documentGrid);

  function watch(view) {
    view.addDataListener("brush_store", (_, stored) => choose(stored));
    choose([]);
  }

  function choose(stored) {
    const ranges = stored.length ? stored[0].values : null;
    const inside = (row) => !ranges || [row.x, row.y].every((v, i) => v >= Math.min(...ranges[i]) && v <= Math.max(...ranges[i]));
    if (!ranges && !brushed) return; // redrawing the map leaves the table as it is
    brushed = Boolean(ranges);
    byId("clear").hidden = !ranges;
    documentGrid.limit(inside);
  }

  const firstWords = (topic) => state.words[topic].slice(0, 10).map((word) => word.word).join(", ");
  const topicColumns = [
    { name: "topic", value: (row) => row.topic, kind: "number" },
    { name: "name", value: (row) => state.names[row.topic] },
    { name: "share", value: (row) => row.share, show: (row) => percent(row.share, 1), kind: "number" },
    ...(state.kind === "numbers"
      ? state.classes.map((name, c) => ({ name, value: (row) => row.numbers[c].value, show: (row) => row.numbers[c].shown, kind: "number" }))
      : [
        { name: "class", value: (row) => row.label },
        { name: "link", value: (row) => row.label_weight, show: (row) => percent(row.label_weight), kind: "number" },
        { name: "labels", value: (row) => row.labelled, kind: "number" },
      ]),
    { name: "coherence", value: (row) => row.coherence, show: (row) => (row.coherence === null ? "" : signed(row.coherence)), kind: "number" },
    { name: "stability", value: (row) => row.stability, show: (row) => (row.stability === null ? "" : row.stability.toFixed(2)), kind: "number" },
    { name: features, value: (row) => firstWords(row.topic), kind: "broad" },
    { name: "settled", value: (row) => row.settled, kind: "broad" },
  ].filter((column) => state.topics.some((row) => !["", null].includes(column.value(row))));

  function strongest(c) {
    const order = state.names.map((_, k) => k).filter((k) => state.links[k][c] >= 0.01);
    return order.sort((a, b) => state.links[b][c] - state.links[a][c]).slice(0, 3);
  }

  const classColumns = [
    { name: "class", value: (c) => state.classes[c] },
    { name: samples, value: (c) => state.class_sizes[c], kind: "number" },
    { name: "topics that predict it", value: (c) => strongest(c).map((k) => `${label(k)} (${percent(state.links[k][c])})`).join("; "), kind: "broad" },
  ];

  function saveLinks() {
    saveCsv("topics-and-classes", ["topic", "name", ...state.classes], state.order.map((k) => [k, state.names[k], ...state.links[k]]));
  }

  const periodColumns = [
    { name: "period", value: (row) => row.period },
    { name: "topic", value: lineName },
    { name: "documents", value: (row) => row.documents, kind: "number" },
    { name: "share", value: (row) => row.share, show: (row) => percent(row.share, 1), kind: "number" },
    { name: "rising words", value: (row) => row.rising },
    { name: "words", value: (row) => row.words, kind: "broad" },
  ];

  function saveShares() {
    const heads = ["period", "documents", "kind", "topic", "name", "share", "low", "high", "words", "rising"];
    saveCsv("over-time", heads, shares.map((row) => heads.map((head) => (head !== "name" ? row[head] : row.kind === "topic" ? state.names[row.topic] : row.class))));
  }

  // The select: the lines that changed most, or one of them.
  function timeChoices() {
    const option = (value, text) => Object.assign(make("option", "", text), { value });
    const select = byId("time-choice");
    for (const [kind, plural] of [["topic", "topics"], ["class", "classes"], ["number", "numbers"]]) {
      const every = [...new Map(shares.filter((row) => row.kind === kind).map((row) => [lineOf(row), row])).values()];
      if (!every.length) continue;
      const some = state.over_time.lines[kind].length;
      select.append(option(kind, some < every.length ? `the ${some} ${plural} that changed most` : `all ${plural}`));
      if (every.length < 2) continue;
      const group = Object.assign(make("optgroup"), { label: `one of the ${plural}` });
      if (kind === "topic") every.sort((a, b) => state.order.indexOf(a.topic) - state.order.indexOf(b.topic));
      group.append(...every.map((row) => option(lineOf(row), lineName(row))));
      if (kind === "topic") every.forEach((row, k) => { group.children[k].dataset.link = row.topic; });
      select.append(group);
    }
  }

  if (state.over_time) {
    timeChoices();
    const rows = shares.filter((row) => row.kind === "topic");
    const some = rows.some((row) => row.rising) ? (row) => row.rising : () => true;
    const status = (n) => (isTopic() ? `${n.toLocaleString("en")} periods` : "Rows with rising words; choose a topic above to see all its periods.");
    const periodGrid = grid(byId("time-grid"), periodColumns, rows, { name: "words-over-time", status });
    tables.push(periodGrid);
    const limit = () => periodGrid.limit(isTopic() ? (row) => lineOf(row) === choice() : some);
    limit();
    byId("time-choice").addEventListener("change", () => {
      limit();
      draw(document.querySelector('[data-chart="time"]'));
    });
  }

  function saveTable(name) {
    if (name === "over_time") return saveShares();
    if (name === "links") return saveLinks();
    if (name === "topics") return saveCsv(name, topicColumns.map((c) => c.name), state.order.map((k) => topicColumns.map((c) => c.value(state.topics[k]))));
    const table = state.downloads[name];
    saveCsv(name, table.columns, table.rows);
  }

  if (byId("topic-grid")) tables.push(grid(byId("topic-grid"), topicColumns, state.order.map((k) => state.topics[k]), { name: "topics" }));
  if (byId("class-grid")) {
    const order = state.classes.map((_, c) => c).sort((a, b) => state.class_sizes[b] - state.class_sizes[a]);
    tables.push(grid(byId("class-grid"), classColumns, order, { name: "classes" }));
  }

  for (const place of all("[data-grid]")) {
    const name = place.dataset.grid;
    const { columns: heads, rows } = state.downloads[name];
    const cells = (k) => rows.map((row) => row[k]).filter((value) => typeof value === "number");
    grid(place, heads.map((head, k) => {
      const digits = head === samples ? 0 : 2;
      const show = (row) => (typeof row[k] === "number" ? row[k].toFixed(digits) : String(row[k] ?? ""));
      return { name: head, value: (row) => row[k], show, kind: cells(k).length ? "number" : "" };
    }), rows, { name });
  }

  // ---- cards that are folded

  function unfold() {
    for (const card of all(".card[hidden]")) card.hidden = false;
    if (byId("more-topics")) byId("more-topics").hidden = true;
  }

  function reveal(hash) {
    const target = byId(hash.slice(1));
    if (!target) return;
    if (target.hidden) unfold();
    target.scrollIntoView();
  }

  // In a notebook's frame the page has no address, and its links would lead to the notebook's.
  function follow(event) {
    const link = location.protocol === "about:" && event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    reveal(link.getAttribute("href"));
  }

  // ---- events

  function rename(event) {
    const topic = Number(event.target.dataset.topic);
    const name = event.target.value.trim();
    if (!name) event.target.value = state.names[topic];
    else state.names[topic] = name;
    for (const node of all(`[data-name="${topic}"]`)) node.textContent = state.names[topic];
    for (const node of all(`[data-link="${topic}"]`)) node.textContent = label(topic);
    for (const table of tables) table.refresh();
    redraw();
  }

  function download() {
    const found = { fingerprint: state.fingerprint, names: { ...state.names } };
    save("topic-names.json", JSON.stringify(found, null, 1), "application/json");
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
  function slide(event) {
    moved = event.type === "input";
    if (!moved) byId("relevance").value = byId("relevance").defaultValue;
    bars();
  }

  byId("relevance").addEventListener("input", slide);
  byId("coherent").addEventListener("click", slide);
  if (byId("download")) byId("download").addEventListener("click", download);
  for (const button of all("[data-csv]")) button.addEventListener("click", () => saveTable(button.dataset.csv));
  if (byId("more-topics")) byId("more-topics").addEventListener("click", unfold);
  addEventListener("hashchange", () => reveal(location.hash));
  document.addEventListener("click", follow);
  reveal(location.hash);
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

  // The other charts are drawn when the browser is idle, so that all can be printed, in light colours.
  const later = window.requestIdleCallback || ((task) => setTimeout(task, 200));
  async function rest() {
    const next = all(".chart").find((place) => !shown.has(place) && place.dataset.chart && place.clientWidth);
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
