// The flame view: frames as wide as their share, callees below their callers (or the other way round).

import { bothText, changeText, compares, tone, verdict } from "./change.js";
import { button, clipped, el, fitted, roomy, variable } from "./dom.js";
import { callsText, counted, figure, grouped, share } from "./format.js";
import { everything, extent, laid, matching } from "./flame_layout.js";
import { forest } from "./forest.js";
import { matches } from "./search.js";
import { set, state } from "./state.js";
import { hideTip, showTip } from "./tip.js";
import { label, shownThreads, trace, weight } from "./trace.js";

const ROW = 21;
const WIDE = 120; // pixels: width of a match that is shown

let canvas;
let scroller;
let crumbs;
let note;
let boxes = []; // { frame, x, width, row }
let rows = 0;
let cursor = null; // frame of the keyboard
let moved = null; // the part in view after the wheel or a drag; null: the zoomed frame
let drag = null;
let shown = "";
let finder; // buttons of the matches of the search
let match = -1; // number of the shown match
const toggles = [];

/** The part in view: that of the zoomed frame, or of the wheel. */
function viewed() {
    return moved ?? extent(forest().path(state.zoom).at(-1));
}

function view(from, to) {
    const span = Math.min(1, Math.max(to - from, 1e-7));
    const start = Math.max(0, Math.min(1 - span, from));
    moved = [start, start + span];
    draw();
}

/** Positions of the visible frames. */
function lay(width) {
    const path = forest().path(state.zoom);
    const { found, narrow } = laid(...viewed(), width);
    const passed = new Set(path.slice(0, -1));
    boxes = found.map((box) => ({ ...box, passed: passed.has(box.frame) }));
    rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
    return { narrow, top: path.at(-1), all: everything() };
}

function textOf(frame) {
    const { modules } = trace;
    const times = frame.instances > 1 ? ` × ${frame.instances}` : "";
    const module = frame.module >= 0 && modules.rows ? (frame.instances > 1 ? modules.pattern : modules.path)[frame.module] : "";
    return module ? `${label(frame.node)}  ${module}${times}` : label(frame.node) + times;
}

/** The name, and the change if both fit. */
function fittedText({ frame, width }, letter) {
    const text = textOf(frame);
    const all = compares() ? `${text}  ${changeText(frame.before, frame.after)}` : text;
    return all.length * letter <= width - 8 ? all : clipped(text, width - 8, letter);
}

function draw() {
    const width = Math.max(scroller.clientWidth, 200);
    const { narrow, top, all } = lay(width);
    const height = roomy(rows * ROW, scroller);
    const paint = fitted(canvas, width, height);
    const fills = {};
    const [ink, faint, mark, ground] = ["--on-colour", "--faint", "--mark", "--ground"].map(variable);
    const matched = matches();
    paint.font = `12px ${variable("--code")}`;
    paint.textBaseline = "middle";
    const letter = paint.measureText("m").width;
    for (const box of boxes) {
        const y = box.row * ROW;
        const { node } = box.frame;
        const lit = !matched || matched[node];
        paint.globalAlpha = lit ? (box.passed ? 0.72 : 1) : 0.25;
        const colour = compares() ? `--tone-${tone(box.frame.before, box.frame.after)}` : `--package-${trace.nodeColour[node]}`;
        paint.fillStyle = fills[colour] ??= variable(colour);
        paint.fillRect(box.x, y, Math.max(box.width - 1, 0.5), ROW - 1);
        paint.globalAlpha = 1;
        if (matched && lit) {
            paint.fillStyle = mark;
            paint.fillRect(box.x, y + ROW - 4, Math.max(box.width - 1, 0.5), 3);
        }
        if (box.width > 26) {
            paint.fillStyle = lit ? ink : faint;
            paint.fillText(fittedText(box, letter), box.x + 4, y + ROW / 2);
        }
        if (node === state.node) outline(paint, box, y, ink, ground);
    }
    if (cursor !== null) {
        const box = boxOf(cursor);
        if (box) outline(paint, box, box.row * ROW, variable("--focus"), ground, 3);
    }
    crumb(top, all);
    showMatch();
    note.textContent = narrow > 0 ? `${grouped(narrow)} frames too narrow to draw: zoom in to see them` : "";
}

function outline(paint, box, y, colour, ground, wide = 2) {
    paint.lineWidth = wide;
    paint.strokeStyle = colour;
    paint.strokeRect(box.x + wide / 2, y + wide / 2, Math.max(box.width - 1 - wide, 1), ROW - 1 - wide);
}

/** The path to the zoomed frame; each caller is a button. */
function crumb(top, all) {
    const { whole } = forest();
    const path = [];
    for (let frame = top ?? null; frame !== null && frame !== undefined; frame = frame.parent) path.unshift(frame);
    const shown = path.length > 6 ? path.slice(-5) : path;
    crumbs.replaceChildren(
        button("everything", () => set({ zoom: "" }), { class: "crumb", disabled: path.length === 0 }),
        ...(shown.length < path.length ? [el("span", { class: "quiet" }, `› ${path.length - shown.length} more`)] : []),
        ...shown.flatMap((frame) => [
            el("span", { class: "quiet", "aria-hidden": "true" }, "›"),
            button(label(frame.node).slice(0, 60), () => set({ zoom: forest().address(frame), node: frame.node }), { class: "crumb" }),
        ]),
        el("span", { class: "quiet" }, top
            ? `${frameText(top)} · ${share(top.value, whole)}`
            : compares() ? trace.compared.per : `${figure(all, weight().unit)} in ${threadsText()}`),
    );
}

/** "all threads", "main", "busy threads; 2 roles of idle ones not shown". */
function threadsText() {
    const shown = trace.threads.filter((_, i) => shownThreads()[i]);
    const hidden = trace.threads.length - shown.length;
    if (hidden === 0) return "all threads";
    return `${shown.length === 1 ? shown[0].role : "busy threads"}${state.thread === "" ? `; ${counted(hidden, "role")} of idle threads not shown` : ""}`;
}

function frameText(frame) {
    const { unit } = weight();
    return compares() ? `${bothText(frame.before, frame.after, unit)} ${changeText(frame.before, frame.after)}` : figure(frame.value, unit);
}

function boxOf(frame) {
    return boxes.find((box) => box.frame === frame);
}

function boxAt(event) {
    const area = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    const row = Math.floor(y / ROW);
    return boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width);
}

function tip(frame) {
    const { whole } = forest();
    const { unit, label: name } = weight();
    return [
        trace.nodes.key[frame.node],
        compares()
            ? `${name}: ${bothText(frame.before, frame.after, unit)} ${trace.compared.per} ${changeText(frame.before, frame.after)}`
            : `${name}: ${figure(frame.value, unit)} (${share(frame.value, whole)})`,
        compares() ? verdict(frame.node) : "",
        state.reverse || compares() ? "" : `itself: ${figure(frame.own, unit)} (${share(frame.own, whole)})`,
        `${callsText(frame.calls)}${frame.instances > 1 ? ` in ${frame.instances} instances` : ""}`,
    ];
}

function go(frame) {
    cursor = frame;
    set({ node: frame.node });
    draw();
    const box = boxOf(frame);
    if (box) {
        const y = box.row * ROW;
        if (y < scroller.scrollTop || y + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y - ROW;
    }
    note.textContent = tip(frame).filter(Boolean).join(" · ");
}

function zoomTo(frame) {
    cursor = frame;
    moved = null;
    draw();
    set({ zoom: frame === null ? "" : forest().address(frame), node: frame === null ? state.node : frame.node });
}

/** Show the next match (1) or the previous one (-1), at least as wide as its name. */
function toMatch(step) {
    const list = matching();
    if (list.length === 0) return;
    match = (match + step + list.length + (match < 0 && step < 0 ? 1 : 0)) % list.length;
    const frame = list[match];
    const [from, to] = extent(frame);
    const [left, right] = viewed();
    const wide = (to - from) / (right - left) * scroller.clientWidth;
    if (wide < WIDE || from < left || to > right) {
        const span = Math.min(1, Math.max((to - from) * 3, wide < WIDE ? (to - from) * scroller.clientWidth / WIDE : right - left));
        moved = null;
        view((from + to - span) / 2, (from + to + span) / 2);
    }
    go(frame);
}

function showMatch() {
    const list = matches() === null ? 0 : matching().length;
    finder.hidden = list === 0;
    finder.querySelector("span").textContent = match >= 0 && match < list ? `match ${match + 1} of ${list}` : counted(list, "match", "matches");
}

/** Arrows move, Enter zooms in, Backspace zooms out, n shows the next match. */
function key(event) {
    const source = forest();
    const at = cursor ?? source.path(state.zoom).at(-1) ?? source.children(null)[0];
    if (at === undefined) return;
    const siblings = source.children(at.parent);
    const place = siblings.findIndex((frame) => frame.id === at.id);
    const deeper = source.children(at)[0];
    if (event.key === "ArrowDown" && deeper) go(cursor === null ? at : deeper);
    else if (event.key === "ArrowUp" && at.parent) go(at.parent);
    else if (event.key === "ArrowLeft" && place > 0) go(siblings[place - 1]);
    else if (event.key === "ArrowRight" && place + 1 < siblings.length) go(siblings[place + 1]);
    else if (event.key === "Enter") zoomTo(at);
    else if (event.key === "Backspace" || event.key === "Escape") zoomTo(source.path(state.zoom).at(-1)?.parent ?? null);
    else if (event.key === "n" || event.key === "N") toMatch(event.key === "n" ? 1 : -1);
    else if (event.key === "0") zoomTo(null);
    else return;
    event.preventDefault();
}

/** The wheel zooms at the pointer; with Shift it scrolls. */
function wheel(event) {
    if (event.shiftKey) return;
    event.preventDefault();
    hideTip();
    const area = canvas.getBoundingClientRect();
    const [from, to] = viewed();
    const at = from + (to - from) * (event.clientX - area.left) / area.width;
    const factor = 1.002 ** event.deltaY;
    view(at - (at - from) * factor, at + (to - at) * factor);
}

function pressed(event) {
    drag = { x: event.clientX, y: event.clientY, top: scroller.scrollTop, range: viewed(), far: false };
}

function pointed(event) {
    if (drag && event.buttons === 1 && (drag.far || Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) > 4)) {
        if (!drag.far) canvas.setPointerCapture(event.pointerId);
        drag.far = true;
        hideTip();
        const [from, to] = drag.range;
        const by = (event.clientX - drag.x) / canvas.clientWidth * (to - from);
        view(from - by, to - by);
        scroller.scrollTop = drag.top - (event.clientY - drag.y);
        return;
    }
    const box = boxAt(event);
    if (box) showTip(event, tip(box.frame));
    else hideTip();
}

function released(event) {
    const box = drag && !drag.far ? boxAt(event) : null;
    drag = null;
    if (box) zoomTo(box.frame);
}

function toggle(name, text, hint) {
    const box = el("input", { type: "checkbox", name, onchange: () => set({ [name]: box.checked, zoom: "" }) });
    toggles.push(box);
    return el("label", { class: "check", title: hint }, box, text);
}

function mount(host) {
    canvas = el("canvas", {
        tabindex: "0", role: "application", "aria-label": "Flame graph: arrows move, Enter zooms in, Backspace out",
        onpointerdown: pressed, onpointermove: pointed, onpointerup: released, onpointerleave: hideTip,
    });
    canvas.addEventListener("wheel", wheel, { passive: false });
    finder = el("span", { class: "crumbs", hidden: true }, el("span", { class: "quiet" }),
        button("‹", () => toMatch(-1), { "aria-label": "Previous match", title: "Previous match (N)" }), button("›", () => toMatch(1), { "aria-label": "Next match", title: "Next match (n)" }));
    scroller = el("div", { class: "scroller" }, canvas);
    crumbs = el("div", { class: "crumbs" });
    note = el("p", { class: "note", "aria-live": "polite" });
    host.append(
        el("div", { class: "viewbar" }, crumbs, el("span", { class: "spring" }), finder,
            toggle("reverse", "callers", "From each function to its callers"),
            toggle("join", "join repeats", "blocks.0, blocks.1, ... are one frame")),
        scroller, note);
    new ResizeObserver(() => { if (scroller.offsetParent !== null) draw(); }).observe(scroller);
}

function update() {
    const now = [state.zoom, state.query, state.phase, state.weight, state.rank, state.thread, state.plumbing, state.reverse, state.join].join("\n");
    if (now !== shown) {
        moved = null;
        match = -1;
    }
    shown = now;
    for (const box of toggles) box.checked = state[box.name];
    draw();
}

export const flame = { id: "flame", title: "Flame", mount, update, key };
