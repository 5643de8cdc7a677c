"use strict";

// Sort by a key, numbers or texts; what is not a number goes last in either direction.
const collator = new Intl.Collator("en", { numeric: true });
const sorted = (items, key, down) => {
  const keyed = items.map((item) => [key(item), item]);
  keyed.sort(([a], [b]) => {
    const lost = Number.isNaN(a) - Number.isNaN(b);
    if (lost || a === b) return lost;
    const order = typeof a === "number" ? a - b || 0 : collator.compare(a, b);
    return down ? -order : order;
  });
  return keyed.map(([, item]) => item);
};

// Mark the head that was clicked, and tell whether it now sorts downwards.
const turn = (head) => {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  return down;
};

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const number = head.classList.contains("number");
    const key = (row) => {
      const text = row.cells[column].dataset.key;
      return number ? Number(text.replace("inf", "Infinity").replace("nan", "NaN")) : text;
    };
    head.firstChild.addEventListener("click", () => body.append(...sorted([...body.rows], key, turn(head))));
  });
}

// A link opens the section that it leads to.
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.localName === "details") target.open = true;
});

const unpacked = new Map();
const unpack = (idx) => {
  if (!unpacked.has(idx)) {
    const bytes = Uint8Array.from(atob(document.getElementById(`data${idx}`).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(idx, new Response(stream).json());
  }
  return unpacked.get(idx);
};

const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children); // a string becomes a text, whatever is in it
  return node;
};

// A drawing is XML of its own: what is in it is either well-formed or not shown.
const drawn = (text) => {
  const { documentElement } = new DOMParser().parseFromString(text, "image/svg+xml");
  return documentElement.localName === "svg" ? document.importNode(documentElement, true) : "The drawing is not well-formed.";
};

const plain = (number) => String(Number(number.toPrecision(6)));

// The instances: one table with all of them, and the pictures of one.
const byId = (id) => document.getElementById(id);
const [ROWS, OPTIONS] = [50, 300];

const seconds = (time) => (time < 1e-3 ? `${plain(Math.round(time * 1e7) / 10)} us` : time < 1 ? `${plain(Math.round(time * 1e4) / 10)} ms` : `${plain(Math.round(time * 100) / 100)} s`);
const written = (section, value) =>
  value === null ? "-" : value.map((term, idx) => (term === null ? "none" : `${plain10(term)} ${section.units[section.terms[idx]] ?? ""}`.trim())).join(", ");
const plain10 = (number) => String(Number(number.toPrecision(10)));
const gapText = (gap) => (gap === null ? "-" : gap === "inf" ? "inf" : (100 * gap).toFixed(2));

const COLUMNS = [
  ["instance", (s, cell) => s.instances[cell[0]].name, (s, cell) => s.instances[cell[0]].name],
  ["solver", (s, cell) => s.solvers[cell[1]], (s, cell) => s.solvers[cell[1]]],
  ["value", (s, cell) => (cell[2] === null ? "-" : cell[2].map(plain10).join(", ")), (s, cell) => (cell[2] === null ? NaN : cell[2][0])],
  ["gap, %", (s, cell) => gapText(cell[3]), (s, cell) => (cell[3] === null ? NaN : cell[3] === "inf" ? Infinity : cell[3])],
  ["time", (s, cell) => seconds(cell[4]), (s, cell) => cell[4]],
  ["runs", (s, cell) => String(cell[5]), (s, cell) => cell[5]],
  ["without answer", (s, cell) => String(cell[6]), (s, cell) => cell[6]],
];

const start = async () => {
  const { sections } = await unpack(0);
  let section, cells, shown, chosen;
  let order = null; // column and direction, the same after the search changes

  const rowOf = (cell) => {
    const row = make("tr", chosen && chosen[0] === cell[0] && chosen[1] === cell[1] ? { class: "chosen" } : {});
    COLUMNS.forEach(([, show], column) => {
      const text = show(section, cell);
      const shown = column < 2 ? make("bdi", {}, text) : text;
      row.append(make("td", { class: column < 2 ? "text" : "number" }, column ? shown : make("button", { type: "button" }, shown)));
    });
    row.addEventListener("click", async () => {
      await choose(cell[0], cell[1]);
      byId("pictures").scrollIntoView({ block: "nearest" });
    });
    return row;
  };

  const render = () => {
    byId("cells").tBodies[0].replaceChildren(...cells.slice(0, shown).map(rowOf));
    byId("shown").textContent = `${Math.min(shown, cells.length)} of ${cells.length} rows`;
    byId("more").hidden = shown >= cells.length;
  };

  const search = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (cell) => {
      const text = `${section.instances[cell[0]].name} ${section.solvers[cell[1]]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    cells = section.cells.filter(fits);
    if (order) cells = sorted(cells, (cell) => COLUMNS[order[0]][2](section, cell), order[1]);
    shown = ROWS;
    const offered = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    const options = offered.slice(0, OPTIONS).map((idx) => make("option", { value: idx }, section.instances[idx].name));
    if (offered.length > OPTIONS) options.push(make("option", { disabled: "" }, `${offered.length - OPTIONS} more: search`));
    byId("pick-instance").replaceChildren(...options);
    if (offered.length && !offered.includes(chosen?.[0])) choose(offered[0], cells.find((cell) => cell[0] === offered[0])[1]);
    else if (chosen) choose(...chosen);
    else render();
  };

  const choose = async (instance, solver) => {
    chosen = [instance, solver];
    if (!byId("pick-instance").querySelector(`option[value="${instance}"]`)) {
      byId("pick-instance").append(make("option", { value: instance }, section.instances[instance].name));
    }
    byId("pick-instance").value = instance;
    byId("pick-solver").value = solver;
    render();
    await draw();
  };

  const draw = async () => {
    const [instance, solver] = chosen;
    const from = section;
    const { name, about, best, bound, standing, stated, proven, at, missing } = section.instances[instance];
    const block = at && (await unpack(at[0]));
    if (section !== from || chosen[0] !== instance || chosen[1] !== solver) return; // another was chosen meanwhile
    const names = section.terms.join(", ");
    const value = best === null ? "no answer known" : `best known ${names} ${written(section, best)}`;
    const proof = best === null ? "" : proven ? ", proven optimal" : bound[0] === null ? ", no bound known" : `, ${standing} bound ${written(section, bound)}`;
    const isolated = (text) => make("bdi", {}, text);
    const source = stated ? [" (as stated by ", isolated(stated), ", not by this study)"] : [];
    byId("about").replaceChildren(isolated(name), `: ${about}; ${value}${proof}`, ...source, ".");
    const put = (id, caption, ...drawing) => byId(id).replaceChildren(make("figcaption", {}, ...caption), ...drawing);
    if (block) {
      const pictures = block[at[1]];
      const reference = Object.keys(pictures).find((other) => String(pictures[other][2]) === String(best));
      const show = (id, which, title) => {
        const [drawing, seed, value] = pictures[which];
        const caption = [`${title}: `, isolated(section.solvers[which]), `, ${written(section, value)} (seed ${seed})`];
        put(id, caption, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, drawn(drawing)));
      };
      if (pictures[solver]) show("chosen", solver, "Chosen solver");
      else put("chosen", ["Chosen solver: ", isolated(section.solvers[solver]), " has no answer in the records"]);
      if (reference !== undefined) show("reference", reference, proven ? "Optimum" : "Best known");
      else put("reference", ["The best known answer is not in the records"]);
    } else {
      put("chosen", [`No picture: ${missing}`]);
      byId("reference").replaceChildren();
    }
    byId("pictures").dataset.shown = [sections.indexOf(section), instance, solver].join(" ");
  };

  const enter = (idx) => {
    section = sections[idx];
    chosen = undefined;
    byId("pick-solver").replaceChildren(...section.solvers.map((name, solver) => make("option", { value: solver }, name)));
    search();
  };

  COLUMNS.forEach(([name], column) => {
    const head = make("th", { scope: "col", "aria-sort": "none", class: column < 2 ? "text" : "number" }, make("button", { type: "button" }, name));
    head.firstChild.addEventListener("click", () => {
      order = [column, turn(head)];
      cells = sorted(cells, (cell) => COLUMNS[column][2](section, cell), order[1]);
      render();
    });
    byId("cells").tHead.rows[0].append(head);
  });
  byId("pick-section").replaceChildren(...sections.map(({ name }, idx) => make("option", { value: idx }, name)));
  byId("pick-section").addEventListener("change", (event) => enter(Number(event.target.value)));
  byId("pick-instance").addEventListener("change", (event) => choose(Number(event.target.value), chosen[1]));
  byId("pick-solver").addEventListener("change", (event) => choose(chosen[0], Number(event.target.value)));
  byId("search").addEventListener("input", search);
  byId("more").addEventListener("click", () => {
    shown += ROWS;
    render();
  });
  enter(0);
};

if (document.getElementById("data0")) start(); // else every record was struck out
