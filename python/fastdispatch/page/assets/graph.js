// The graph view: packages and the calls between them; a click unfolds a package into files, classes and functions.

import { bothText, changeText, compares, groupSides, tone } from "./change.js";
import { button, el, svg } from "./dom.js";
import { callsText, counted, figure, share } from "./format.js";
import { allGroups, drawnOf, edgesBetween, leaf, opened, openText, pathOf } from "./groups.js";
import { layered } from "./layers.js";
import { matches } from "./search.js";
import { set, state } from "./state.js";
import { hideTip, showTip } from "./tip.js";
import { grouped as sumsBy, modulesOf, trace, weight } from "./trace.js";

const [WIDTH, HEIGHT, PAD] = [224, 60, 16]; // five side by side on a laptop
const HEAD = 10; // length of the head of an arrow, as in Graphviz
const LEAST = 0.02; // percent, without a share filter
const PROJECT = 1; // colour
const MOST_BOXES = 60;
const MOST_EDGES = 220;
const LETTERS = 21;
const SIDES = ["to the left", "to the right", "above", "below"];

let bar;
let scroller;
let note;
let made; // the current drawing: { boxes, edges, routes, places, sums, whole }
let scale = 1;
let whole = false; // fit all boxes, however small

/** The drawn groups and edges: the heaviest ones, around the focus if set; the others are counted. */
function choose() {
    const groups = allGroups();
    const { ofNode, ofContext } = drawnOf();
    const sums = sumsBy(ofContext, groups.length);
    const sides = groupSides(ofContext, groups.length, weight().id);
    let edges = edgesBetween(ofContext);
    const matched = matches();
    const lit = new Set();
    if (matched) ofNode.forEach((group, node) => { if (group >= 0 && matched[node]) lit.add(group); });
    let ids = [...new Set(ofNode)].filter((id) => id >= 0 && sums.total[id] > 0);
    const focus = state.focus >= 0 && state.focus < groups.length ? pathOf(state.focus).find((at) => ids.includes(at)) ?? -1 : -1;
    if (focus >= 0) ids = around(focus, edges, state.depth);
    const all = ids.length;
    const least = ((state.min || LEAST) / 100) * sums.whole;
    ids = ids.filter((id) => id === focus || sums.total[id] >= least);
    ids.sort((a, b) => sums.total[b] - sums.total[a] || a - b);
    ids = ids.slice(0, MOST_BOXES);
    const drawn = new Set(ids);
    edges = edges.filter(({ from, to }) => drawn.has(from) && drawn.has(to));
    edges.sort((a, b) => b.value - a.value || b.calls - a.calls || a.from - b.from || a.to - b.to);
    const kept = edges.slice(0, MOST_EDGES);
    return { ids, edges: kept, sums, sides, whole: sums.whole || 1, lit: matched ? lit : null, focus, ofNode,
        hidden: all - ids.length, hiddenEdges: edges.length - kept.length };
}

/** Callers of callers up and callees of callees down to a depth. */
function around(focus, edges, depth) {
    const found = new Set([focus]);
    for (const [near, far] of [["from", "to"], ["to", "from"]]) {
        let front = new Set([focus]);
        for (let step = 0; step < depth; step++) {
            front = new Set(edges.filter((edge) => front.has(edge[near])).map((edge) => edge[far]).filter((id) => !found.has(id)));
            front.forEach((id) => found.add(id));
        }
    }
    return [...found];
}

/** Groups and edges of the path with most of the weight, through code of the project as far as it goes. */
function heaviest({ ids, edges, sums }) {
    const called = new Set(edges.map(({ to }) => to));
    const starts = ids.filter((id) => !called.has(id));
    const own = (id) => allGroups()[id].colour === PROJECT;
    const [mine] = (starts.some(own) ? starts : ids).filter(own);
    let at = mine ?? (starts.length > 0 ? starts : ids).reduce((best, id) => (sums.total[id] > sums.total[best] ? id : best), (starts[0] ?? ids[0]));
    const path = new Set([at]);
    const ways = new Set();
    for (;;) {
        const free = edges.filter((edge) => edge.from === at && !path.has(edge.to));
        const next = free.find(({ to }) => own(to)) ?? free[0];
        if (next === undefined) return { path, ways };
        ways.add(next);
        at = next.to;
        path.add(at);
    }
}

/** Lay out from left to right, or downwards if more of that fits into the view. */
function arranged(boxes, edges) {
    const size = (found) => Math.min(scroller.clientWidth / (found.width + 2 * PAD), scroller.clientHeight / (found.height + 2 * PAD));
    const across = { ...layered(boxes, edges), down: false };
    const turned = layered(boxes.map((box) => ({ ...box, width: box.height, height: box.width })), edges);
    const swap = ({ x, y }) => ({ x: y, y: x });
    const down = { ...turned, width: turned.height, height: turned.width, down: true,
        places: new Map([...turned.places].map(([id, place]) => [id, swap(place)])) };
    return Math.min(size(down), 1) > Math.min(size(across), 1) ? down : across;
}

/** Curves through points, with space for the head of the arrow. */
function curve(points, down) {
    const at = (x, y) => (down ? `${y},${x}` : `${x},${y}`);
    let text = `M${at(...points[0])}`;
    for (let i = 1; i < points.length; i++) {
        const [[x0, y0], [end, y1]] = [points[i - 1], points[i]];
        const x1 = i < points.length - 1 ? end : end - Math.sign(end - x0 || 1) * HEAD;
        const bend = Math.abs(x1 - x0) < 1 ? 40 : (x1 - x0) / 2;
        text += ` C${at(x0 + bend, y0)} ${at(x1 - bend, y1)} ${at(x1, y1)}`;
    }
    return text;
}

function edgeOf(edge, way, chosen, most) {
    const part = most ? edge.value / most : 0;
    const { label } = weight();
    const names = `${allGroups()[edge.from].label} → ${allGroups()[edge.to].label}`;
    return svg("path", {
        d: way, class: `edge${chosen ? " heaviest" : ""}`, "marker-end": "url(#arrow)",
        "stroke-width": (0.8 + 6 * Math.sqrt(part)).toFixed(2), "stroke-opacity": compares() ? 0.9 : (0.25 + 0.75 * Math.sqrt(part)).toFixed(2),
        "stroke-dasharray": compares() ? dashes(edge) : null,
        style: { stroke: compares() ? `color-mix(in oklab, var(--tone-${tone(edge.before, edge.after)}) 75%, var(--ink))` : `color-mix(in oklab, var(--heat) ${Math.round(100 * Math.sqrt(part))}%, var(--faint))` },
        onmousemove: (event) => showTip(event, [names, callsText(edge.calls), `${label}: ${valueText(edge.value, edge)}`]),
        onmouseleave: hideTip,
    });
}

/** Mark changes in the middle of edges, once they are in the document; new and removed edges differ by their dashes. */
function signs(picture) {
    const ways = picture.querySelectorAll("path.edge");
    return made.edges.flatMap((edge, i) => {
        const name = tone(edge.before, edge.after);
        if (name === "same" || dashes(edge) !== null) return [];
        const way = ways[ways.length - 1 - i]; // the lightest are drawn first
        const length = way.getTotalLength();
        if (length === 0) return [];
        const { x, y } = way.getPointAtLength(length / 2);
        return [svg("text", { x, y: y + 4, class: `sign tone-${name}`, "text-anchor": "middle", "aria-hidden": "true" }, changeText(edge.before, edge.after).slice(0, 1))];
    });
}

/** New edges are dashed, removed ones dotted. */
function dashes({ before, after }) {
    return before > 0 ? (after > 0 ? null : "2 4") : "9 4";
}

/** A figure with its share; of two recordings both, and the change. */
function valueText(value, { before, after }) {
    const { unit } = weight();
    return compares() ? `${bothText(before, after, unit)} ${changeText(before, after)}` : `${figure(value, unit)} (${share(value, made.whole)})`;
}

function sidesOf(id, part = "total") {
    return { before: made.sides?.[0][part][id], after: made.sides?.[1][part][id] };
}

/** A name keeps its beginning; of a path the folders go first. */
function shorten(text, letters) {
    const short = text.length > letters ? text.slice(text.lastIndexOf("/") + 1) : text;
    return short.length <= letters ? short : `${short.slice(0, letters - 1)}…`;
}

/** The label of a function has its class: many functions are called forward. The class is shortened first. */
function named(group, letters) {
    const above = allGroups()[group.parent];
    if (group.level !== "function" || above?.level !== "class") return shorten(group.label, letters);
    return shorten(`${shorten(above.label, Math.max(6, letters - group.label.length - 1))}.${group.label}`, letters);
}

function second(group) {
    if (group.node < 0) return counted(group.functions, "function");
    const [pattern] = modulesOf(group.node);
    return pattern && pattern[1] > 1 ? `${shorten(pattern[0], 12)} × ${pattern[1]}` : "";
}

function boxOf(id) {
    const group = allGroups()[id];
    const { x, y } = made.places.get(id);
    const value = made.sums.total[id];
    const change = sidesOf(id);
    const text = compares() ? changeText(change.before, change.after) : "";
    const selected = state.node >= 0 && made.ofNode[state.node] === id;
    const kinds = ["box", selected && "selected", made.lit && !made.lit.has(id) && "unlit",
        made.heavy?.path.has(id) && "heaviest", made.focus === id && "focus"].filter(Boolean);
    const hint = group.inside.length > 0 ? "Enter unfolds" : "Enter selects";
    return svg("g", {
        class: kinds.join(" "), transform: `translate(${x},${y})`, tabindex: "0", role: "button", "data-group": id,
        "aria-label": `${group.level} ${group.label}, ${share(value, made.whole)}${text ? `, ${text}` : ""}. ${hint}`.slice(0, 300),
        onclick: () => act(group), onkeydown: (event) => key(event, group),
        onmousemove: (event) => showTip(event, [group.node >= 0 ? trace.nodes.key[group.node] : group.label,
            `${weight().label}: ${valueText(value, sidesOf(id))}`,
            `itself: ${valueText(made.sums.own[id], sidesOf(id, "own"))}`, `${group.level} of ${counted(group.functions, "function")}`]),
        onmouseleave: hideTip,
    },
    svg("rect", { width: WIDTH, height: HEIGHT, rx: 7 }),
    svg("rect", { class: `stripe ${compares() ? `tone-${tone(change.before, change.after)}` : `package-${group.colour}`}`, width: 7, height: HEIGHT - 2, x: 1, y: 1, rx: 3 }),
    svg("rect", { class: compares() ? "meter plain" : "meter", x: 14, y: HEIGHT - 9, height: 4, rx: 1.5, width: Math.max(1, (WIDTH - 24) * Math.min(1, value / made.whole)) }),
    svg("text", { x: 15, y: 22, class: "label" }, named(group, group.inside.length > 0 ? LETTERS - 3 : LETTERS)),
    svg("text", { x: 15, y: 43, class: "small" }, [text, share(value, made.whole), second(group)].filter(Boolean).join(" · ")),
    group.inside.length > 0 ? svg("text", { x: WIDTH - 18, y: 22, class: "plus", "aria-hidden": "true" }, "+") : null);
}

function act(group) {
    if (group.inside.length > 0) set({ open: openText([...opened(), group.id]), node: state.node });
    else set({ node: group.node });
}

/** Fold the parent of this group, with all groups below. */
function fold(parent) {
    set({ open: openText([...opened()].filter((id) => !pathOf(id).includes(parent))) });
    focusOn(parent);
}

function focusOn(id) {
    scroller.querySelector(`[data-group="${id}"]`)?.focus();
}

function key(event, group) {
    if (event.key === "Enter" || event.key === " ") act(group);
    else if (event.key === "Backspace" && group.parent >= 0) fold(group.parent);
    else if (event.key === "f" || event.key === "F") set({ focus: state.focus === group.id ? -1 : group.id });
    else return;
    event.preventDefault();
}

function draw() {
    const focused = document.activeElement?.closest?.("[data-group]")?.dataset.group;
    made = choose();
    if (made.ids.length === 0) {
        scroller.replaceChildren(el("p", { class: "quiet" }, "Nothing has this weight in this phase and share."));
        note.textContent = "";
        tools();
        return;
    }
    const boxes = made.ids.map((id) => ({ id, width: WIDTH, height: HEIGHT, weight: made.sums.total[id] }));
    Object.assign(made, arranged(boxes, made.edges));
    made.heavy = state.heaviest ? heaviest(made) : null;
    const most = made.edges[0]?.value ?? 0;
    const [width, height] = [made.width + 2 * PAD, made.height + 2 * PAD];
    const picture = svg("svg", { viewBox: `${-PAD} ${-PAD} ${width} ${height}`, class: "graph", role: "group", "aria-label": "Call graph" },
        svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 0, refY: 4, markerWidth: HEAD, markerHeight: 12, preserveAspectRatio: "none", markerUnits: "userSpaceOnUse", orient: "auto" },
            svg("path", { d: "M0,0 L8,4 L0,8 z", class: "head" }))),
        ...made.edges.map((edge, i) => edgeOf(edge, curve(made.routes[i], made.down), made.heavy?.ways.has(edge), most)).reverse(),
        ...made.ids.map(boxOf));
    scroller.replaceChildren(picture);
    if (compares()) picture.append(...signs(picture));
    const fit = Math.min(1.25, (scroller.clientWidth - 4) / width, (scroller.clientHeight - 4) / height);
    scale = whole ? fit : Math.max(1, fit); // rather scrolled than too small to read
    picture.setAttribute("width", Math.round(width * scale));
    picture.setAttribute("height", Math.round(height * scale));
    if (focused !== undefined) focusOn(focused);
    tools();
    showPath();
}

/** How far each box is out of view, in pixels: to the left, to the right, above, below; 0 in view. */
function distances(id) {
    const { x, y } = made.places.get(id);
    const left = (x + PAD) * scale - scroller.scrollLeft;
    const top = (y + PAD) * scale - scroller.scrollTop;
    return [-left, left + WIDTH * scale - scroller.clientWidth, -top, top + HEIGHT * scale - scroller.clientHeight].map((far) => Math.max(0, Math.round(far)));
}

/** Scroll to the start of the heaviest path if no part of it is in view. */
function showPath() {
    const path = [...(made.heavy?.path ?? [])];
    if (path.length > 0 && scroller.clientWidth > 0 && path.every((id) => distances(id).some((far) => far > 0))) {
        const { x, y } = made.places.get(path[0]);
        scroller.scrollTo(x * scale, y * scale - scroller.clientHeight / 3);
    }
    remark();
}

/** The numbers of boxes in the picture, not drawn, and out of view by side. */
function remark() {
    if (made.ids.length === 0 || scroller.clientWidth === 0) return;
    const { hidden, hiddenEdges } = made;
    const far = made.ids.map(distances);
    const outside = SIDES.map((_, i) => far.filter((each) => each[i] > 0).length);
    const text = SIDES.map((words, i) => (outside[i] > 0 ? `${outside[i]} ${words}` : "")).filter(Boolean).join(", ");
    note.textContent = `${counted(made.ids.length, "box", "boxes")}, ${counted(made.edges.length, "edge")}`
        + (hidden ? `; ${counted(hidden, "lighter box", "lighter boxes")} not drawn` : "")
        + (hiddenEdges ? `; ${counted(hiddenEdges, "lighter edge")} not drawn` : "")
        + (text ? `; scroll to see ${text}` : "");
}

function tools() {
    const groups = allGroups();
    const chips = [...opened()].map((id) => button(`− ${shorten(groups[id].label, 24)}`, () => fold(id), { class: "crumb", title: `Fold ${groups[id].label}`.slice(0, 200) }));
    const selected = leaf(state.node);
    const target = state.focus >= 0 ? state.focus : selected;
    bar.replaceChildren(
        el("span", { class: "crumbs" }, el("span", { class: "quiet hint" }, chips.length > 0 ? "unfolded" : "click a box to unfold it"), ...chips),
        el("span", { class: "spring" }),
        button("Fit", () => { whole = !whole; draw(); }, { "aria-pressed": String(whole), title: "Show all boxes, however small" }),
        button("Heaviest path", () => set({ heaviest: !state.heaviest }), { "aria-pressed": String(state.heaviest) }),
        button("Focus", () => set(state.focus >= 0 ? { focus: -1 } : { focus: target, open: openText([...opened(), ...pathOf(target).slice(0, -1)]) }),
            { "aria-pressed": String(state.focus >= 0), disabled: target < 0, title: "The selected function with its callers and callees (F on a box)" }),
        el("label", {}, el("span", { class: "quiet" }, "depth "), el("input", { type: "number", name: "depth", min: 1, max: 9, value: state.depth, disabled: state.focus < 0,
            onchange: (event) => set({ depth: Math.max(1, Math.min(9, Number(event.target.value) || 1)) }) })),
        button("Fold all", () => set({ open: "", focus: -1 }), { disabled: state.open === "" && state.focus < 0 }));
}

function mount(host) {
    bar = el("div", { class: "viewbar" });
    scroller = el("div", { class: "scroller", onscroll: () => made && remark() });
    note = el("p", { class: "note", "aria-live": "polite" });
    host.append(bar, scroller, note);
}

export const graph = { id: "graph", title: "Graph", mount, update: draw };
