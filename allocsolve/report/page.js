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
  const svg = ["svg", "path", "text", "title"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children); // a string becomes a text, whatever is in it
  return node;
};

const round = (x) => Math.round(x * 100) / 100;
const label = (x, y, text, anchor = "start", kind = "soft") => make("text", { x: round(x), y: round(y), class: kind, "text-anchor": anchor }, text);
const line = (kind, ...points) => make("path", { class: kind, d: `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}` });
const step = (span) => {
  const size = 10 ** Math.floor(Math.log10(span / 6));
  return [1, 2, 5, 10].map((part) => part * size).find((part) => span / part <= 6);
};
const plain = (number) => String(Number(number.toPrecision(6)));

// The nodes that each application holds, stacked; both pictures have the same scales.
const intervals = (problem, [starts, durations]) => {
  let next = 0;
  return problem.steps.map((steps, app) => {
    let time = starts[app];
    return steps.map((nodes) => [time, (time += durations[next++]), nodes]);
  });
};

const drawSchedule = (problem, answer, last, width, title) => {
  const [height, left, top, bottom] = [330, 56, 12, 44];
  const held = intervals(problem, answer);
  const times = [...new Set(held.flat().flatMap(([start, end]) => [start, end]))].sort((a, b) => a - b);
  const place = new Map(times.map((time, idx) => [time, idx]));
  const [unit, size] = last < 600 ? ["s", 1] : last < 36000 ? ["min", 60] : ["h", 3600];
  const x = (time) => left + ((width - left - 14) * time) / last;
  const y = (nodes) => height - bottom - ((height - bottom - top) * nodes) / problem.nodes;
  const drawing = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, make("title", {}, title));
  for (let time = 0, by = step(last / size); time * size <= last; time += by) {
    drawing.append(line("grid", [x(time * size), top], [x(time * size), y(0)]), label(x(time * size), y(0) + 16, plain(time), "middle"));
  }
  for (let nodes = 0, by = Math.max(1, step(problem.nodes)); nodes <= problem.nodes; nodes += by) {
    drawing.append(line("grid", [left, y(nodes)], [width - 14, y(nodes)]), label(left - 6, y(nodes) + 4, plain(nodes), "end"));
  }
  const below = new Array(Math.max(times.length - 1, 0)).fill(0);
  held.forEach((steps, app) => {
    const mine = new Array(below.length).fill(0);
    for (const [start, end, nodes] of steps) mine.fill(nodes, place.get(start), place.get(end));
    const first = mine.findIndex((nodes) => nodes > 0);
    if (first < 0) return;
    const end = mine.findLastIndex((nodes) => nodes > 0) + 1;
    const [over, under] = [[], []];
    for (let idx = first; idx < end; idx++) {
      over.push([x(times[idx]), y(below[idx] + mine[idx])], [x(times[idx + 1]), y(below[idx] + mine[idx])]);
      under.push([x(times[idx]), y(below[idx])], [x(times[idx + 1]), y(below[idx])]);
      below[idx] += mine[idx];
    }
    const area = line("", ...over, ...under.reverse());
    area.setAttribute("fill", `hsl(${Math.floor(app * 137.508) % 360} 55% 55%)`);
    area.append(make("title", {}, problem.names[app] ?? `a${app}`));
    drawing.append(area);
  });
  const turned = label(14, (top + y(0)) / 2, "nodes", "middle", "text");
  turned.setAttribute("transform", `rotate(-90 14 ${round((top + y(0)) / 2)})`);
  drawing.append(
    line("line", [left, y(problem.nodes)], [width - 14, y(problem.nodes)]),
    line("axis", [left, top], [left, y(0)], [width - 14, y(0)]),
    label((left + width) / 2, height - 8, `time [${unit}]`, "middle", "text"),
    turned,
  );
  return drawing;
};

const total = (differences) => {
  let sum = 0;
  return differences.map((more) => (sum += more));
};

// Every node of the machine: the first two axes at all coordinates of the others.
const drawPartition = (problem, answer, title) => {
  const [columns, rows = 1, ...others] = problem.shape;
  const count = others.reduce((product, side) => product * side, 1);
  const size = Math.max(3, Math.min(20, Math.floor(560 / columns)));
  const names = [...Array(count).keys()].map((slice) => {
    const at = others.map((side) => [slice % side, (slice = Math.floor(slice / side))][0]);
    return at.map((place, axis) => `${axis ? `axis ${axis + 2}` : "z"} = ${place}`).join(", ");
  });
  const pitch = Math.max(columns * size, 7 * Math.max(...names.map((name) => name.length))) + (others.length ? 16 : 0);
  const across = Math.max(1, Math.min(count, Math.floor(576 / pitch)));
  const [head, tall] = [24, rows * size + (others.length ? 30 : 0)];
  const [width, height] = [Math.max(300, across * pitch), head + Math.ceil(count / across) * tall + 4];
  const paths = { free: "", busy: "", chosen: "" };
  const kinds = new Array(columns * rows * count).fill("free");
  for (const node of total(problem.busy)) kinds[node] = "busy";
  for (const node of total(answer)) kinds[node] = "chosen";
  kinds.forEach((kind, node) => {
    const slice = Math.floor(node / (columns * rows));
    const x = (slice % across) * pitch + (node % columns) * size + 1;
    const y = head + Math.floor(slice / across) * tall + (others.length ? 18 : 0) + (Math.floor(node / columns) % rows) * size;
    paths[kind] += `M${x} ${y}h${size - 1}v${size - 1}h${1 - size}z`;
  });
  const drawing = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, make("title", {}, title));
  ["chosen", "busy", "free"].forEach((kind, idx) => {
    drawing.append(make("path", { class: kind, d: `M${1 + 80 * idx} 3h11v11h-11z` }), label(17 + 80 * idx, 13, kind, "start", "text"));
  });
  for (const [kind, d] of Object.entries(paths)) if (d) drawing.append(make("path", { class: kind, d }));
  if (others.length) {
    names.forEach((name, slice) => drawing.append(label((slice % across) * pitch, head + Math.floor(slice / across) * tall + 13, name)));
  }
  return drawing;
};

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
  let order = null; // column and direction, kept when the search changes

  const rowOf = (cell) => {
    const row = make("tr", chosen && chosen[0] === cell[0] && chosen[1] === cell[1] ? { class: "chosen" } : {});
    COLUMNS.forEach(([, show], column) => {
      const text = show(section, cell);
      row.append(make("td", { class: column < 2 ? "text" : "number" }, column ? text : make("button", { type: "button" }, text)));
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
    const found = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    const options = found.slice(0, OPTIONS).map((idx) => make("option", { value: idx }, section.instances[idx].name));
    if (found.length > OPTIONS) options.push(make("option", { disabled: "" }, `${found.length - OPTIONS} more: search`));
    byId("pick-instance").replaceChildren(...options);
    if (found.length && !found.includes(chosen?.[0])) choose(found[0], cells.find((cell) => cell[0] === found[0])[1]);
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
    const { name, about, best, bound, proven, at, missing } = section.instances[instance];
    const block = at && (await unpack(at[0]));
    if (section !== from || chosen[0] !== instance || chosen[1] !== solver) return; // another was chosen meanwhile
    const worth = best === null ? "no answer known" : `best known ${section.terms.join(", ")} ${written(section, best)}`;
    const proof = best === null ? "" : proven ? ", proven optimal" : bound[0] === null ? ", no bound known" : `, bound ${written(section, bound)}`;
    byId("about").textContent = `${name}: ${about}; ${worth}${proof}.`;
    const put = (id, caption, drawing = "") => byId(id).replaceChildren(make("figcaption", {}, caption), drawing);
    if (block) {
      const [problem, answers] = block[at[1]];
      const reference = Object.keys(answers).find((other) => String(answers[other][2]) === String(best));
      const both = [answers[solver], answers[reference]].filter(Boolean);
      const ends = both.flatMap(([answer]) => (section.kind === "evolution" ? intervals(problem, answer).flat().map((held) => held[1]) : []));
      const last = ends.reduce((a, b) => Math.max(a, b), 1);
      const show = (id, which, title) => {
        const [answer, seed, value] = answers[which];
        const caption = `${title}: ${section.solvers[which]}, ${written(section, value)} (seed ${seed})`;
        const width = Math.max(300, Math.min(560, byId(id).clientWidth));
        put(id, caption, section.kind === "evolution" ? drawSchedule(problem, answer, last, width, caption) : drawPartition(problem, answer, caption));
      };
      if (answers[solver]) show("mine", solver, "Chosen solver");
      else put("mine", `Chosen solver: ${section.solvers[solver]} has no answer that was kept`);
      if (reference !== undefined) show("best", reference, proven ? "Optimum" : "Best known");
      else put("best", "The best known answer was not kept");
    } else {
      put("mine", `No picture: ${missing}`);
      byId("best").replaceChildren();
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

start();
