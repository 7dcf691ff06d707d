// The table view: one row per function, sorted and filtered; copied as CSV.

import { changeMark, compares, nodeSides, swatch, verdict } from "./change.js";
import { button, copy, el } from "./dom.js";
import { counted, figure, share } from "./format.js";
import { listed } from "./search.js";
import { set, state } from "./state.js";
import { byNode, label, trace, weight } from "./trace.js";

const PAGE = 300; // rows at a time

let body;
let head;
let note;
let more;
let shown = PAGE;
let sorted = [];
let listing = "";

/** Columns of figures; figures that were not recorded are omitted. */
function columns() {
    if (compares()) return changes();
    const of = (id, part) => byNode(id)[part];
    const list = [{ id: "calls", label: "Calls", unit: "count", cells: of("calls", "own") }];
    for (const { id, label, unit } of trace.weights) {
        if (id === "calls") continue;
        if (unit !== "count" && id !== "async") list.push({ id: `${id}.own`, label: `${label}, self`, unit, cells: of(id, "own") });
        list.push({ id, label: unit !== "count" ? `${label}, total` : label, unit, cells: of(id, "total") });
    }
    return list;
}

/** Of two recordings: the selected weight and calls of both, and the differences. */
function changes() {
    const { id, label, unit } = weight();
    const list = [];
    const add = (name, title, sides, kind, part) => {
        const [before, after] = sides.map((side) => side[part]);
        const shown = (cells) => ({ unit: kind, cells });
        list.push({ id: `${name}.change`, label: `${title}, change`, ...shown(after.map((value, node) => value - before[node])), sides: [before, after] },
            { id: `${name}.before`, label: "before", ...shown(before) }, { id: `${name}.after`, label: "after", ...shown(after) });
    };
    if (unit === "ns") add(`${id}.own`, `${label}, self`, nodeSides(id), unit, "own");
    if (id !== "calls") add(id, unit === "ns" ? `${label}, total` : label, nodeSides(id), unit, "total");
    add("calls", "Calls", nodeSides("calls"), "count", "own");
    return list;
}

/** The value to sort by: for changes their size. */
function rank({ cells, sides }, node) {
    return sides ? Math.abs(cells[node]) : cells[node];
}

function order(rows, list) {
    const text = { name: trace.nodes.key, package: trace.nodes.package, kind: trace.nodes.kind }[state.sort];
    const chosen = list.find((column) => column.id === state.sort) ?? list.find((column) => column.id === weight().id) ?? list[0];
    const compare = text
        ? (a, b) => (text[a] < text[b] ? 1 : text[a] > text[b] ? -1 : 0)
        : (a, b) => rank(chosen, b) - rank(chosen, a);
    const sign = state.ascending ? -1 : 1;
    return rows.sort((a, b) => sign * compare(a, b) || a - b);
}

function heading(id, label, number, first) {
    const active = (state.sort || first) === id;
    const turn = () => set({ sort: id, ascending: active ? !state.ascending : false });
    return el("th", { scope: "col", class: number ? "number" : "", "aria-sort": active ? (state.ascending ? "ascending" : "descending") : null },
        button(label, turn), active ? (state.ascending ? " ▲" : " ▼") : "");
}

function row(node, list, bar) {
    const { nodes } = trace;
    const where = el("button", { type: "button", class: "name", onclick: () => set({ node }), title: nodes.key[node].slice(0, 500) },
        swatch(node), el("b", {}, label(node).slice(0, 200)),
        el("span", { class: "quiet" }, nodes.file[node] ? `${nodes.file[node]}:${nodes.line[node]}`.slice(-120) : ""));
    return el("tr", { class: node === state.node ? "selected" : "", "data-node": node },
        el("th", { scope: "row" }, where),
        ...(compares() ? [el("td", {}, verdict(node))] : [el("td", { class: "package", title: nodes.package[node].slice(0, 200) }, nodes.package[node].slice(0, 40)), el("td", {}, nodes.kind[node])]),
        el("td", { class: "bar" }, el("meter-bar", { style: { width: `${Math.min(45, 45 * bar.total[node] / bar.whole)}%` } }), share(bar.total[node], bar.whole)),
        ...list.map((column) => el("td", { class: "number" }, cell(column, node))));
}

function cell({ cells, unit, sides }, node) {
    if (!cells[node]) return "";
    if (!sides) return figure(cells[node], unit);
    const sign = cells[node] > 0 ? "+" : "−";
    return el("span", {}, `${sign}${figure(Math.abs(cells[node]), unit)} `, changeMark(sides[0][node], sides[1][node]));
}

function draw() {
    const list = columns();
    const { rows, hidden } = listed();
    sorted = order(rows, list);
    const bar = byNode(weight().id);
    bar.whole ||= 1;
    const first = compares() ? list[0].id : weight().id;
    const title = (id, text, number) => heading(id, text, number, first);
    head.replaceChildren(el("tr", {}, title("name", "Function"),
        ...(compares() ? [el("th", { scope: "col" }, "Verdict")] : [title("package", "Package"), title("kind", "Kind")]),
        el("th", { scope: "col" }, `Share of ${weight().label}`),
        ...list.map(({ id, label }) => title(id, label, true))));
    const focused = document.activeElement?.closest("tr[data-node]")?.dataset.node;
    body.replaceChildren(...sorted.slice(0, shown).map((node) => row(node, list, bar)));
    if (focused !== undefined) body.querySelector(`tr[data-node="${focused}"] button`)?.focus();
    more.hidden = sorted.length <= shown;
    note.textContent = `${counted(sorted.length, "row")}${shown < sorted.length ? `, the first ${shown} shown` : ""}`
        + (hidden ? `; ${hidden} below ${state.min} % not shown` : "");
}

/** All rows of the table. */
function csv() {
    const { nodes } = trace;
    const list = columns();
    const { total, whole } = byNode(weight().id);
    const lines = [["function", "package", "kind", `share of ${weight().id}`, ...(compares() ? ["verdict"] : []), ...list.map((column) => `${column.id}${column.unit === "ns" ? " (ns)" : ""}`)]];
    for (const node of sorted) {
        lines.push([nodes.key[node], nodes.package[node], nodes.kind[node], (total[node] / (whole || 1)).toFixed(6), ...(compares() ? [verdict(node)] : []), ...list.map(({ cells }) => cells[node])]);
    }
    return `${lines.map((line) => line.map(csvCell).join(",")).join("\n")}\n`;
}

/** A cell as in RFC 4180; text that a spreadsheet would read as a formula is quoted. */
function csvCell(value) {
    let cell = String(value);
    if (/^[=+\-@\t\r]/.test(cell) && typeof value === "string") cell = `'${cell}`;
    return /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function mount(host) {
    head = el("thead");
    body = el("tbody");
    note = el("span", { class: "quiet", "aria-live": "polite" });
    more = button("Show more rows", () => { shown += PAGE; draw(); });
    host.append(
        el("div", { class: "viewbar" }, note, el("span", { class: "spring" }),
            button("Copy as CSV", () => copy(csv()))),
        el("div", { class: "scroller" }, el("table", { class: "figures" }, head, body), more));
}

function update() {
    const now = [state.query, state.package, state.kind, state.phase, state.rank, state.changes, state.min, state.weight, state.sort, state.ascending].join("\n");
    if (now !== listing) shown = PAGE;
    listing = now;
    draw();
}

export const table = { id: "table", title: "Table", mount, update };
