// The modules view: the tree of the model with forward and backward times.

import { bothText, changeMark, compares, SIDES } from "./change.js";
import { el } from "./dom.js";
import { bytes, counted, figure, grouped, share } from "./format.js";
import { set, state } from "./state.js";
import { rankList, rankOf, trace } from "./trace.js";

let body;
let note;
const folded = new Set(); // paths
let built = null; // of which rank
let rows = []; // { path, name, className, instances, depth, figures, inside }

/** Rows in the order of the tree. Containers that were never called (`blocks`, a ModuleList) have no figures. */
function build() {
    const { modules } = trace;
    const sums = trace[`modules${rankOf()}`] ?? trace.per_module;
    built = rankOf();
    const found = new Map();
    const classes = new Map();
    const sizes = new Map();
    for (let m = 0; m < modules.rows; m++) {
        const pattern = modules.pattern[m];
        if (!classes.has(pattern)) classes.set(pattern, new Set());
        classes.get(pattern).add(modules.class[m]);
        const place = pattern || modules.class[m];
        const [elements, size] = sizes.get(place) ?? [0, 0];
        sizes.set(place, [elements + (modules.parameters?.[m] ?? 0), size + (modules.parameter_bytes?.[m] ?? 0)]);
    }
    const roots = new Map();
    for (let m = 0; m < modules.rows; m++) if (modules.parent[m] < 0) roots.set(modules.class[m], "");
    for (let row = 0; row < sums.rows; row++) {
        const where = sums.where[row];
        const isRoot = roots.has(where) && !classes.has(where);
        const number = (name) => (sums[name] ? sums[name][row] : 0);
        found.set(isRoot ? "" : where, {
            path: where, name: isRoot ? where : where.split(".").at(-1), className: isRoot ? "" : [...(classes.get(where) ?? [])].join(", "),
            parameters: sizes.get(where) ?? [0, 0], instances: number("instances"), calls: number("calls"), ops: number("ops"),
            self: number("self"), total: number("total"), backward: number("backward"),
            sides: compares() ? Object.fromEntries(["calls", "ops", "self", "total", "backward"].map((name) => [name, SIDES.map((side) => number(`${name}.${side}`))])) : null,
        });
    }
    const paths = [...found.keys()].sort(byPath);
    const depths = new Map();
    rows = paths.map((path) => {
        const entry = found.get(path);
        const above = nearest(path, found);
        depths.set(path, above === null ? 0 : depths.get(above) + 1);
        if (path !== "") entry.name = above === null || above === "" ? path : path.slice(above.length + 1);
        return { ...entry, key: path, above, depth: depths.get(path), inside: 0 };
    });
    const byKey = new Map(rows.map((row) => [row.key, row]));
    for (const row of rows) if (row.above !== null) byKey.get(row.above).inside += 1;
}

/** The nearest ancestor of a path that has a row. */
function nearest(path, found) {
    if (path === "") return null;
    const parts = path.split(".");
    for (let count = parts.length - 1; count > 0; count--) {
        const above = parts.slice(0, count).join(".");
        if (found.has(above)) return above;
    }
    return found.has("") ? "" : null;
}

function byPath(a, b) {
    const [one, other] = [a.split("."), b.split(".")];
    for (let i = 0; i < Math.min(one.length, other.length); i++) {
        if (one[i] !== other[i]) return one[i] < other[i] ? -1 : 1;
    }
    return a === "" ? -1 : b === "" ? 1 : one.length - other.length;
}

function shown() {
    const hidden = new Set();
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((row) => {
        if (row.above !== null && (hidden.has(row.above) || folded.has(row.above))) {
            hidden.add(row.key);
            return words.length > 0 && matching(row, words);
        }
        return words.length === 0 || matching(row, words);
    });
}

function matching(row, words) {
    const text = `${row.path} ${row.className}`.toLowerCase();
    return words.every((word) => text.includes(word));
}

/** The forward function of a module, selected by a click. */
function forwardOf(row) {
    const { contexts, modules, nodes } = trace;
    for (let c = 0; c < trace.count; c++) {
        const m = contexts.module[c];
        if (m < 0 || !modules.rows || nodes.kind[contexts.node[c]] !== "python") continue;
        if (row.key === "" ? modules.parent[m] < 0 && modules.class[m] === row.name : modules.pattern[m] === row.key) return contexts.node[c];
    }
    return -1;
}

function bar(row, name, whole) {
    return el("td", { class: "bar number" }, el("meter-bar", { style: { width: `${Math.min(100, 100 * Math.max(row[name], 0) / (whole || 1))}%` } }), ...number(row, name, "ns"));
}

/** A figure; of two recordings both, and the change. */
function number(row, name, unit) {
    if (!row[name]) return [];
    return row.sides ? [`${bothText(...row.sides[name], unit)} `, changeMark(...row.sides[name])] : [figure(row[name], unit)];
}

function cell(row, name, unit) {
    return el("td", { class: "number" }, ...number(row, name, unit));
}

function turn(row) {
    if (folded.has(row.key)) folded.delete(row.key);
    else folded.add(row.key);
    draw();
    body.querySelector(`tr[data-path="${CSS.escape(row.key)}"] button`)?.focus();
}

function line(row, forward, backward) {
    const closed = folded.has(row.key);
    const mark = row.inside > 0 ? (closed ? "▸" : "▾") : "·";
    return el("tr", { "data-path": row.key },
        el("th", { scope: "row", style: { paddingLeft: `${9 + 20 * row.depth}px` } },
            el("button", { type: "button", class: "twist", onclick: () => turn(row), disabled: row.inside === 0, "aria-expanded": String(!closed), "aria-label": "Modules inside" }, mark),
            el("button", { type: "button", class: "name", onclick: () => set({ node: forwardOf(row) }) }, el("b", {}, row.name.slice(0, 200)),
                el("span", { class: "quiet" }, [row.className.slice(0, 120), row.instances > 1 ? `× ${row.instances}` : ""].filter(Boolean).join("  ")))),
        bar(row, "total", forward), cell(row, "self", "ns"), bar(row, "backward", backward),
        el("td", { class: "number" }, share(row.total + row.backward, forward + backward)),
        cell(row, "ops", "count"), cell(row, "calls", "count"),
        el("td", { class: "number" }, row.parameters[0] ? `${grouped(row.parameters[0])} (${bytes(row.parameters[1])})` : ""));
}

function draw() {
    if (built !== rankOf()) build();
    const top = rows.filter((row) => row.above === null);
    const forward = top.reduce((sum, row) => sum + row.total, 0);
    const backward = top.reduce((sum, row) => sum + Math.max(row.backward, 0), 0);
    const list = shown();
    body.replaceChildren(...list.map((row) => line(row, forward, backward)));
    note.textContent = `${counted(trace.modules.rows, "module")} in ${counted(rows.length, "row")}, repeats joined${ranksText()}; forward ${figure(forward, "ns")}, backward ${figure(backward, "ns")}`;
}

function ranksText() {
    if (trace[`modules${rankOf()}`]) return `, of rank ${rankList()[rankOf()].rank}`;
    return rankList().length > 1 ? ", of all ranks" : "";
}

function mount(host) {
    body = el("tbody");
    note = el("span", { class: "quiet" });
    const heads = [["Module", ""], ["Forward", "Time of its forward, with all below"], ["Self", "In its own frame, neither in operators nor in other functions"],
        ["Backward", "Autograd time that its forward caused"], ["Share", "Of forward and backward of the whole model"], ["Operators", "Calls of operators at or below"], ["Calls", "Of its forward"],
        ["Parameters", "Elements and bytes, of all instances in a row, with those of modules below"]];
    host.append(el("div", { class: "viewbar" }, note),
        el("div", { class: "scroller" }, el("table", { class: "figures" },
            el("thead", {}, el("tr", {}, ...heads.map(([label, title], i) => el("th", { scope: "col", title, class: i > 0 ? "number" : "" }, label)))), body)));
}

async function load() {
    return trace.per_module.rows > 0;
}

export const modules = { id: "modules", title: "Modules", load, mount, update: draw };
