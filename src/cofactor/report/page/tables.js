"use strict";
// Tables that can be searched, sorted, filtered and saved as CSV. Only one page of rows is in the
// document at a time, so that ten thousand rows open, sort and search at once.
const Tables = (() => {
  const PAGE = 100;
  const FEW = 15; // tables up to this length have no search field
  const LONG = /\S{25}/; // words that may break inside a cell
  const FORMULA = /^([\t\r]|\s*[=+\-@＝＋－＠])/;
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?$/;

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function save(name, text, type) {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // A cell that a spreadsheet would run gets an apostrophe in front.
  function cell(value) {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function saveCsv(name, columns, rows) {
    const lines = [columns, ...rows].map((row) => row.map(cell).join(","));
    save(`${name}.csv`, `\ufeff${lines.join("\r\n")}\r\n`, "text/csv");
  }

  const collator = new Intl.Collator("en", { numeric: true }); // shared, because it is slow to create

  function compare(a, b) {
    const empty = (value) => value === null || value === undefined || value === "";
    if (empty(a) || empty(b)) return empty(a) - empty(b); // empty cells come last in both directions
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  }

  // columns: {name, value(row), show(row), kind: "number", "broad" or "long" (opens on click)}
  // options: name (of the CSV file), filters: [{name, options: [[value, text]], test(row, value)}],
  //          detail(row): text shown below a row, status(n): the line above, id, statusId
  function grid(place, columns, rows, options) {
    let order = null, first = 0, found = rows, allowed = () => true, stale = true, hay = [];
    const show = (column, row) => (column.show ? column.show(row) : String(column.value(row) ?? ""));
    const tools = make("div", "controls no-print");
    const search = make("input", "search");
    Object.assign(search, { type: "search", placeholder: "Search", autocomplete: "off" });
    search.hidden = rows.length <= FEW;
    search.setAttribute("aria-label", `Search ${options.name}`);
    const selects = (options.filters || []).map((filter) => choice(filter));
    const csv = make("button", "csv", "CSV");
    Object.assign(csv, { type: "button", title: "Download the rows found as CSV" });
    tools.append(search, ...selects, csv);
    const status = make("p", "status muted");
    status.setAttribute("role", "status");
    if (options.statusId) status.id = options.statusId;
    const box = make("div", "tall"), table = make("table"), body = make("tbody"), pager = make("div", "pager controls no-print");
    if (options.id) table.id = options.id;
    const heads = columns.map(head);
    const headRow = make("tr"), thead = make("thead");
    headRow.append(...heads);
    thead.append(headRow);
    table.append(thead, body);
    box.append(table);
    const back = make("button", "", "Previous"), next = make("button", "", "Next"), where = make("span", "muted");
    pager.append(back, where, next);
    place.replaceChildren(tools, status, box, pager);

    function choice(filter) {
      const select = make("select");
      select.setAttribute("aria-label", `Filter by ${filter.name}`);
      select.dataset.filter = filter.name;
      const every = make("option", "", `any ${filter.name}`);
      every.value = "";
      select.append(every);
      for (const [value, text] of filter.options) {
        const option = make("option", "", text);
        option.value = value;
        select.append(option);
      }
      select.addEventListener("change", apply);
      return select;
    }

    function head(column, at) {
      const node = make("th", column.kind === "number" ? "number" : "");
      node.scope = "col";
      const button = make("button", "sort", column.name);
      button.type = "button";
      button.addEventListener("click", () => {
        const down = column.kind === "number"; // numbers: the largest first
        order = order && order.at === at ? { at, down: !order.down } : { at, down };
        heads.forEach((other, k) => other.setAttribute("aria-sort", k !== at ? "none" : order.down ? "descending" : "ascending"));
        apply();
      });
      node.append(button);
      return node;
    }

    function haystack() {
      if (stale) hay = new Map(rows.map((row) => [row, columns.map((column) => show(column, row)).join("\n").toLowerCase()]));
      stale = false;
      return hay;
    }

    function apply() {
      const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const tests = (options.filters || []).map((filter, k) => [filter.test, selects[k].value]).filter(([, value]) => value !== "");
      const texts = terms.length ? haystack() : null;
      found = rows.filter((row) => allowed(row) && tests.every(([test, value]) => test(row, value)) && terms.every((term) => texts.get(row).includes(term)));
      if (order) sort();
      first = 0;
      paint(terms.length > 0 || tests.length > 0);
    }

    function sort() {
      const { value } = columns[order.at];
      const keys = new Map(found.map((row) => [row, value(row)]));
      const sign = order.down ? -1 : 1;
      const empty = (key) => key === null || key === undefined || key === "";
      found.sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        return compare(x, y) * (empty(x) || empty(y) ? 1 : sign);
      });
    }

    function paint(narrowed) {
      const count = found.length.toLocaleString("en");
      status.textContent = narrowed ? `${count} of ${rows.length.toLocaleString("en")} found` : options.status ? options.status(found.length) : "";
      status.hidden = !status.textContent;
      turn();
    }

    function turn() {
      body.replaceChildren(...found.slice(first, first + PAGE).map(line));
      pager.hidden = found.length <= PAGE;
      where.textContent = `${(first + 1).toLocaleString("en")} – ${Math.min(first + PAGE, found.length).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
      back.disabled = first === 0;
      next.disabled = first + PAGE >= found.length;
      box.scrollTop = 0;
    }

    function line(row) {
      const node = make("tr");
      node.append(...columns.map((column) => {
        const td = make("td", { number: "number", long: "broad", broad: "broad" }[column.kind]);
        const text = show(column, row);
        if (column.kind === "long") td.dir = "auto";
        if (LONG.test(text)) td.classList.add("breakable"); // other words stay whole
        if (column.kind !== "long") td.textContent = text;
        else td.append(opener(node, row, text));
        return td;
      }));
      return node;
    }

    function opener(node, row, text) {
      const button = make("button", "clamp opener", text.slice(0, 400));
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        if (open) return node.nextSibling.remove();
        const below = make("tr", "whole"), td = make("td");
        td.colSpan = columns.length;
        td.append(make("div", "text", text));
        td.dir = "auto";
        below.append(td);
        node.after(below);
      });
      return button;
    }

    let wait = 0;
    search.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(apply, 60);
    });
    csv.addEventListener("click", () => saveCsv(options.name, columns.map((c) => c.name), found.map((row) => columns.map((c) => (c.csv || c.value)(row)))));
    for (const [button, step] of [[back, -PAGE], [next, PAGE]]) {
      button.type = "button";
      button.addEventListener("click", () => {
        first += step;
        turn();
      });
    }
    apply();
    return {
      limit(test) { allowed = test; apply(); },
      refresh() { stale = true; apply(); },
    };
  }

  return { grid, make, save, saveCsv };
})();
