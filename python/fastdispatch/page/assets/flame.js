// The flame view: frames as wide as their share, callees below their callers (or the other way round).

import { bothText, changeText, compares, tone, verdict } from "./change.js";
import { button, clipped, el, fitted, roomy, variable } from "./dom.js";
import { callsText, figure, grouped, share } from "./format.js";
import { forest } from "./forest.js";
import { matches } from "./search.js";
import { set, state } from "./state.js";
import { hideTip, showTip } from "./tip.js";
import { label, trace, weight } from "./trace.js";

const ROW = 21;
const LEAST = 0.6; // pixels: narrower frames are not drawn

let canvas;
let scroller;
let crumbs;
let note;
let boxes = []; // { frame, x, width, row }
let rows = 0;
let cursor = null; // frame of the keyboard
const toggles = [];

/** Positions of the visible frames. */
function lay(width) {
    const source = forest();
    const path = source.path(state.zoom);
    boxes = path.map((frame, row) => ({ frame, x: 0, width, row, passed: row < path.length - 1 }));
    const top = path.at(-1);
    let narrow = 0;
    const waiting = [];
    const spread = (frame, x, scale, row) => {
        for (const child of source.children(frame)) {
            const wide = child.value * scale;
            if (wide < LEAST) {
                narrow += 1;
                continue;
            }
            waiting.push({ frame: child, x, width: wide, row, passed: false });
            x += wide;
        }
    };
    const all = source.children(null).reduce((sum, frame) => sum + frame.value, 0);
    const scale = width / (top ? top.value : all || 1);
    spread(top ?? null, 0, scale, path.length);
    while (waiting.length > 0) {
        const box = waiting.pop();
        boxes.push(box);
        spread(box.frame, box.x, scale, box.row + 1);
    }
    rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
    return { narrow, top, all };
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
    const colours = Array.from({ length: 8 }, (_, index) => variable(`--package-${index}`));
    const tones = compares() ? hatched(paint) : null;
    const [ink, faint, mark, ground] = ["--on-colour", "--faint", "--mark", "--ground"].map(variable);
    const matched = matches();
    paint.font = `12px ${variable("--code")}`;
    paint.textBaseline = "middle";
    const letter = paint.measureText("m").width;
    for (const box of boxes) {
        const y = rowAt(box.row, height);
        const { node } = box.frame;
        const lit = !matched || matched[node];
        paint.globalAlpha = lit ? (box.passed ? 0.72 : 1) : 0.25;
        const fills = tones ? tones[tone(box.frame.before, box.frame.after)] : [colours[trace.nodeColour[node]]];
        for (const fill of fills) {
            paint.fillStyle = fill;
            paint.fillRect(box.x, y, Math.max(box.width - 1, 0.5), ROW - 1);
        }
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
        if (box) outline(paint, box, rowAt(box.row, height), variable("--focus"), ground, 3);
    }
    crumb(top, all);
    note.textContent = narrow > 0 ? `${grouped(narrow)} frames too narrow to draw: zoom in to see them` : "";
}

/** Colours of changes, with rising stripes for more and falling stripes for less. */
function hatched(paint) {
    const lines = (rises) => {
        const tile = new OffscreenCanvas(8, 8);
        const pen = tile.getContext("2d");
        pen.strokeStyle = "rgb(0 0 0 / 30%)";
        for (const shift of [-8, 0, 8]) {
            pen.moveTo(shift - 1, rises ? 9 : -1);
            pen.lineTo(shift + 9, rises ? -1 : 9);
        }
        pen.stroke();
        return paint.createPattern(tile, "repeat");
    };
    const [more, less] = [lines(true), lines(false)];
    const names = (word) => [1, 2, 3].map((size) => `${word}-${size}`);
    return Object.fromEntries([["same", [variable("--tone-same")]],
        ...names("more").map((name) => [name, [variable(`--tone-${name}`), more]]),
        ...names("less").map((name) => [name, [variable(`--tone-${name}`), less]])]);
}

function outline(paint, box, y, colour, ground, wide = 2) {
    paint.lineWidth = wide;
    paint.strokeStyle = colour;
    paint.strokeRect(box.x + wide / 2, y + wide / 2, Math.max(box.width - 1 - wide, 1), ROW - 1 - wide);
}

function rowAt(row, height) {
    return state.flip ? height - (row + 1) * ROW : row * ROW;
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
            : compares() ? trace.compared.per : `${figure(all, weight().unit)} in all threads`),
    );
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
    const row = Math.floor((state.flip ? area.height - y : y) / ROW);
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
        const y = rowAt(box.row, canvas.clientHeight);
        if (y < scroller.scrollTop || y + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y - ROW;
    }
    note.textContent = tip(frame).filter(Boolean).join(" · ");
}

function zoomTo(frame) {
    cursor = frame;
    set({ zoom: frame === null ? "" : forest().address(frame), node: frame === null ? state.node : frame.node });
}

/** Arrows move, Enter zooms in, Backspace zooms out. */
function key(event) {
    const source = forest();
    const at = cursor ?? source.path(state.zoom).at(-1) ?? source.children(null)[0];
    if (at === undefined) return;
    const siblings = source.children(at.parent);
    const place = siblings.findIndex((frame) => frame.id === at.id);
    const deeper = source.children(at)[0];
    const [into, out] = state.flip ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    if (event.key === into && deeper) go(cursor === null ? at : deeper);
    else if (event.key === out && at.parent) go(at.parent);
    else if (event.key === "ArrowLeft" && place > 0) go(siblings[place - 1]);
    else if (event.key === "ArrowRight" && place + 1 < siblings.length) go(siblings[place + 1]);
    else if (event.key === "Enter") zoomTo(at);
    else if (event.key === "Backspace" || event.key === "Escape") zoomTo(source.path(state.zoom).at(-1)?.parent ?? null);
    else return;
    event.preventDefault();
}

function toggle(name, text, hint) {
    const box = el("input", { type: "checkbox", name, onchange: () => set({ [name]: box.checked, zoom: "" }) });
    toggles.push(box);
    return el("label", { class: "check", title: hint }, box, text);
}

function mount(host) {
    canvas = el("canvas", {
        tabindex: "0", role: "application", "aria-label": "Flame graph: arrows move, Enter zooms in, Backspace out",
        onkeydown: key,
        onclick: (event) => { const box = boxAt(event); if (box) zoomTo(box.frame); },
        onmousemove: (event) => { const box = boxAt(event); if (box) showTip(event, tip(box.frame)); else hideTip(); },
        onmouseleave: hideTip,
    });
    scroller = el("div", { class: "scroller" }, canvas);
    crumbs = el("div", { class: "crumbs" });
    note = el("p", { class: "note", "aria-live": "polite" });
    host.append(
        el("div", { class: "viewbar" }, crumbs, el("span", { class: "spring" }),
            toggle("reverse", "callers", "From each function to its callers"),
            toggle("join", "join repeats", "blocks.0, blocks.1, ... are one frame"),
            toggle("flip", "roots below", "Flames instead of icicles")),
        scroller, note);
    new ResizeObserver(() => { if (scroller.offsetParent !== null) draw(); }).observe(scroller);
}

function update() {
    for (const box of toggles) box.checked = state[box.name];
    draw();
}

export const flame = { id: "flame", title: "Flame", mount, update };
