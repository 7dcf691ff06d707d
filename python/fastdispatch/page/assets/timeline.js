// The timeline view: calls of every rank, thread and stream by time. W and S zoom, A and D move, dragging moves.

import { button, clipped, el, fitted, roomy, variable } from "./dom.js";
import { counted, seconds, share } from "./format.js";
import { HEAD, ROW, bubbles, hasStage, laneAt, laneOf, lines, nodeOf, refold, sliceAt, stack, take, training, waits } from "./lanes.js";
import { matches } from "./search.js";
import { set, state } from "./state.js";
import { Strip } from "./strip.js";
import { arrow, colourOf, jobColours, marked, nameOf, placeOf, small } from "./timeline_parts.js";
import { hideTip, showTip } from "./tip.js";
import { trace } from "./trace.js";

const AXIS = 34;
const SETTLED = 200; // ms without a move before the address is changed

let canvas;
let scroller;
let facts;
let note;
let window_ = { from: 0, to: 1 };
let pointer = null;
let drag = null;
let strip;
let timer = 0;

function viewed() {
    return state.to > state.from ? { from: lines.begin + state.from, to: lines.begin + state.to } : training();
}

/** Times to pixels and back. */
function scaleOf(width) {
    const perPixel = (window_.to - window_.from) / width;
    return { x: (time) => (time - window_.from) / perPixel, time: (x) => window_.from + x * perPixel, perPixel };
}

function move(from, to) {
    const least = 20; // ns
    const span = Math.max(least, Math.min(to - from, lines.end - lines.begin));
    const start = Math.max(lines.begin - span / 4, Math.min(from, lines.end - span * 0.75));
    window_ = { from: start, to: start + span };
    draw();
    clearTimeout(timer);
    scroller.ariaBusy = "true";
    timer = setTimeout(() => {
        timer = 0;
        scroller.ariaBusy = null;
        set({ from: Math.round(window_.from - lines.begin), to: Math.round(window_.to - lines.begin) });
    }, SETTLED);
}

function zoom(factor, x = canvas.clientWidth / 2) {
    const at = scaleOf(canvas.clientWidth).time(x);
    move(at - (at - window_.from) * factor, at + (window_.to - at) * factor);
}

function pan(part) {
    const by = (window_.to - window_.from) * part;
    move(window_.from + by, window_.to + by);
}

function draw() {
    const width = Math.max(scroller.clientWidth, 300);
    const height = roomy(stack(AXIS), scroller);
    const paint = fitted(canvas, width, height);
    const at = scaleOf(width);
    const look = Object.fromEntries(["ink", "faint", "line", "shade", "on-colour", "focus", "ground", "mark"].map((name) => [name, variable(`--${name}`)]));
    look.colours = Array.from({ length: 8 }, (_, index) => variable(`--package-${index}`));
    look.matched = matches();
    paint.font = `11px ${variable("--code")}`;
    paint.textBaseline = "middle";
    look.letter = paint.measureText("m").width;
    steps(paint, at, width, height, look);
    let drawn = 0;
    for (const lane of lines.lanes) drawn += lanePaint(paint, lane, at, width, look);
    axis(paint, at, width, look);
    strip.draw(width);
    if (state.slice >= 0 && state.slice < lines.count) arrows(paint, at, look);
    note.textContent = `${counted(drawn, "slice")} drawn of ${counted(lines.count, "slice")}, ${seconds(window_.to - window_.from)} in view`
        + Object.entries(lines.values.capped).map(([what, count]) => `; ${counted(count, what, what)} not in the page`).join("");
}

/** Shade every other step; the axis has the steps of the first rank. */
function steps(paint, at, width, height, look) {
    const { steps } = lines;
    const first = steps.rank ? steps.rank[0] : 0;
    for (let i = 0; i < steps.rows; i++) {
        if ((steps.rank ? steps.rank[i] : 0) !== first) continue;
        const [left, right] = [at.x(steps.start ? steps.start[i] : 0), at.x(steps.end[i])];
        if (right < 0 || left > width) continue;
        const number = steps.number ? steps.number[i] : 0;
        if (number % 2 === 0) {
            paint.fillStyle = look.shade;
            paint.fillRect(left, 0, right - left, height);
        }
        paint.fillStyle = look.faint;
        paint.fillText(clipped(`step ${number}`, right - Math.max(left, 0) - 8, look.letter), Math.max(left, 0) + 4, 25);
    }
}

function axis(paint, at, width, look) {
    const rough = at.perPixel * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    paint.fillStyle = look.faint;
    const first = Math.ceil((window_.from - lines.begin) / step) * step;
    for (let time = first; time <= window_.to - lines.begin; time += step) {
        const x = at.x(lines.begin + time);
        paint.fillRect(x, 0, 1, 6);
        paint.fillText(marked(time, step), x + 4, 9);
    }
}

function title(lane) {
    const idle = lane.idle ? ` · ${share(lane.idle, 1)} hatched: neither computes nor sends` : "";
    return `${lane.folded ? "▸" : "▾"} ${placeOf(lane)}${idle}${lane.depth > lane.rows ? ` · ${lane.rows} of ${lane.depth} levels` : ""}`;
}

function lanePaint(paint, lane, at, width, look) {
    if (hasStage(lane)) bubbles(lane);
    paint.fillStyle = look.line;
    paint.fillRect(0, lane.y, width, 1);
    paint.fillStyle = look.ink;
    paint.fillText(title(lane), 4, lane.y + HEAD / 2 + 1);
    if (hasStage(lane)) hatch(paint, lane, at, look);
    const last = new Float64Array(lane.rows).fill(-1);
    let drawn = 0;
    for (let i = lane.from; i < lane.to; i++) {
        const depth = lines.depth[i];
        if (depth >= lane.rows) continue;
        const start = lines.start[i];
        const end = start + lines.duration[i];
        if (end < window_.from || start > window_.to) continue;
        const left = Math.max(at.x(start), -2);
        const right = Math.min(at.x(end), width + 2);
        const pixel = Math.floor(right);
        if (right - left < 1 && pixel === last[depth]) continue; // another slice is drawn there
        last[depth] = pixel;
        drawn += 1;
        slicePaint(paint, i, left, lane.y + HEAD + depth * ROW, Math.max(right - left, 0.8), look);
    }
    return drawn;
}

function slicePaint(paint, slice, x, y, width, look) {
    const node = nodeOf(slice);
    const lit = !look.matched || (node >= 0 && look.matched[node]);
    const pale = waits(slice);
    const [fill, text] = jobColours(slice) ?? [look.colours[colourOf(slice)], look["on-colour"]];
    paint.globalAlpha = (lit ? 1 : 0.2) * (pale ? 0.15 : 1);
    paint.fillStyle = fill;
    paint.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.6), ROW - 1);
    paint.globalAlpha = 1;
    if (width > 22) {
        paint.fillStyle = !lit ? look.faint : pale ? look.ink : text;
        paint.fillText(clipped(nameOf(slice), width - 6, look.letter), x + 3, y + ROW / 2);
    }
    if (slice === state.slice || (node >= 0 && node === state.node && width > 4)) {
        paint.strokeStyle = slice === state.slice ? look.focus : look["on-colour"];
        paint.lineWidth = slice === state.slice ? 3 : 1;
        paint.strokeRect(x + 0.5, y + 0.5, Math.max(width - 2, 1), ROW - 2);
    }
}

/** Hatch bubbles, so that they are visible without colours. */
function hatch(paint, lane, at, look) {
    paint.save();
    paint.strokeStyle = look.faint;
    paint.fillStyle = look.faint;
    paint.lineWidth = 1;
    for (const [start, end] of bubbles(lane)) {
        const [left, right] = [Math.max(at.x(start), 0), Math.min(at.x(end), canvas.clientWidth)];
        if (right - left < 2) continue;
        const [top, bottom] = [lane.y + HEAD, lane.y + HEAD + lane.rows * ROW - 1];
        paint.save();
        paint.beginPath();
        paint.rect(left, top, right - left, bottom - top);
        paint.clip();
        paint.beginPath();
        for (let x = left - (bottom - top); x < right; x += 6) {
            paint.moveTo(x, bottom);
            paint.lineTo(x + (bottom - top), top);
        }
        paint.globalAlpha = 0.45;
        paint.stroke();
        paint.restore();
    }
    paint.restore();
}

/** Arrows from and to the selected slice. */
function arrows(paint, at, look) {
    const { flows } = lines;
    paint.strokeStyle = look.mark;
    paint.fillStyle = look.mark;
    paint.lineWidth = 1.5;
    for (let i = 0; i < flows.rows; i++) {
        const [from, to] = [flows.from ? flows.from[i] : 0, flows.to ? flows.to[i] : 0];
        if (from === state.slice || to === state.slice) arrow(paint, pointOf(from, at, true), pointOf(to, at, false));
    }
}

function pointOf(slice, at, isEnd) {
    const lane = laneOf(slice);
    return [at.x(lines.start[slice] + (isEnd ? lines.duration[slice] : 0)), lane.y + HEAD + (Math.min(lines.depth[slice], lane.rows - 1) + 0.5) * ROW];
}

/** Every field of a slice, `[name, value]`. */
function fields(slice) {
    const lane = laneOf(slice);
    const node = nodeOf(slice);
    const list = [
        ["Start", seconds(lines.start[slice] - lines.begin)], ["Duration", seconds(lines.duration[slice]) + (lines.open[slice] ? ", had not ended" : "")],
        ["Lane", placeOf(lane)], ["Depth", String(lines.depth[slice])],
    ];
    if (node >= 0) {
        const context = lines.context[slice];
        list.unshift(["Key", trace.nodes.key[node].slice(0, 1000)]);
        list.push(["Kind", trace.nodes.kind[node]], ["Phase", trace.about.phases[trace.contexts.phase[context]]]);
    }
    const job = lines.job[slice];
    if (job >= 0) {
        list.unshift(["Job", lines.jobs.kind[job]]);
        for (const name of ["micro_batch", "stage", "chunk", "peer", "step"]) {
            const value = lines.jobs[name] ? lines.jobs[name][job] : 0;
            if (value >= 0) list.push([name.replace("_", "-"), String(value)]);
        }
    }
    if (lane.kind === "stream") list.push(["Launched", `${seconds(lines.start[slice] - lines.launch[slice])} before`]);
    const { uncertainty_ns: uncertainty, method } = lines.values.clocks[lane.rank];
    if (trace.ranks.length > 1) list.push(["Clock", `${method}${uncertainty === null ? "" : `, within ${seconds(uncertainty)}`}`]);
    return list;
}

function showFacts() {
    const { slice } = state;
    facts.hidden = slice < 0 || slice >= lines.count;
    if (facts.hidden) return;
    facts.replaceChildren(el("b", {}, nameOf(slice).slice(0, 200)), el("dl", {}, ...fields(slice).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
        button("×", () => set({ slice: -1 }), { class: "close", "aria-label": "Close" }));
}

function hit(event) {
    const area = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    const lane = laneAt(y);
    const at = scaleOf(canvas.clientWidth);
    const slice = lane && y >= lane.y + HEAD ? sliceAt(lane, y, at.time(x), at.perPixel * 1.5) : -1;
    return { x, y, lane, slice, head: lane !== undefined && y < lane.y + HEAD };
}

function pressed(event) {
    drag = { x: event.clientX, from: window_.from, to: window_.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
}

function moved(event) {
    pointer = event.clientX - canvas.getBoundingClientRect().left;
    if (drag && Math.abs(event.clientX - drag.x) + (drag.moved ? 9 : 0) > 4) {
        drag.moved = true;
        hideTip();
        const by = (event.clientX - drag.x) * (drag.to - drag.from) / canvas.clientWidth;
        move(drag.from - by, drag.to - by);
        return;
    }
    const { slice } = hit(event);
    if (slice >= 0) showTip(event, [nameOf(slice), ...fields(slice).slice(0, 4).map(([name, value]) => `${name}: ${value}`)]);
    else hideTip();
}

function released(event) {
    const was = drag;
    drag = null;
    if (was === null || was.moved) return;
    const { slice, lane, head } = hit(event);
    if (head) {
        lane.folded = !lane.folded;
        draw();
    } else if (slice >= 0) {
        set({ slice, node: nodeOf(slice) });
    }
}

function wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.ctrlKey) zoom(1.002 ** event.deltaY, pointer ?? undefined);
    else pan((event.deltaY || event.deltaX) / 1500);
}

/** The slice next to the selected one, in its row. */
function beside(step) {
    const lane = laneOf(state.slice) ?? lines.lanes[0];
    for (let i = state.slice < 0 ? lane.from : state.slice + step; i >= lane.from && i < lane.to; i += step) {
        if (state.slice < 0 || lines.depth[i] === lines.depth[state.slice]) return set({ slice: i, node: nodeOf(i) });
    }
    return undefined;
}

function key(event) {
    const act = {
        w: () => zoom(0.7, pointer ?? undefined), s: () => zoom(1 / 0.7, pointer ?? undefined), a: () => pan(-0.15), d: () => pan(0.15),
        ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), f: fit, "0": () => move(lines.begin, lines.end), Escape: () => set({ slice: -1 }),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act === undefined || event.ctrlKey || event.metaKey) return;
    act();
    event.preventDefault();
}

/** Zoom to the selected slice with a margin. */
function fit() {
    if (state.slice < 0) return;
    const start = lines.start[state.slice];
    const around = Math.max(lines.duration[state.slice], 100) * 0.2;
    move(start - around, start + lines.duration[state.slice] + around);
}

/** The findings of the pipeline report if jobs were recorded; else the controls. */
function heading() {
    const { findings } = trace.about;
    if (findings.length === 0) return el("span", { class: "quiet" }, "W S zoom · A D or drag move · click a slice or the name of a lane");
    return el("ul", { class: "findings" }, ...findings.slice(0, 3).map((text) => el("li", {}, text)));
}

function mount(host) {
    canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Timeline: W and S zoom, A and D move, arrows move between slices, F fits the selected one",
        onpointerdown: pressed, onpointermove: moved, onpointerup: released, onpointerleave: () => { pointer = null; hideTip(); } });
    canvas.addEventListener("wheel", wheel, { passive: false });
    strip = new Strip({ name: "All of the timeline, with the part in view", height: 44, paint: small, key: () => state.plumbing,
        range: () => [window_.from, window_.to].map((time) => (time - lines.begin) / (lines.end - lines.begin)),
        move: (from, to) => move(...[from, to].map((part) => lines.begin + part * (lines.end - lines.begin))) });
    scroller = el("div", { class: "scroller" }, canvas);
    facts = el("div", { class: "facts" });
    note = el("p", { class: "note", "aria-live": "polite" });
    host.append(el("div", { class: "viewbar" }, heading(), el("span", { class: "spring" }),
        button("−", () => zoom(1.6), { "aria-label": "Zoom out" }), button("+", () => zoom(0.625), { "aria-label": "Zoom in" }),
        button("Selected", fit, { title: "Zoom to the selected slice (F)" }), button("All", () => move(lines.begin, lines.end), { title: "All of the time (0)" })), el("div", { class: "strip-place" }, strip.canvas), scroller, facts, note);
    new ResizeObserver(() => { if (scroller.offsetParent !== null) draw(); }).observe(scroller);
}

function update() {
    if (timer === 0) window_ = viewed(); // else it has just moved
    refold(state.plumbing);
    showFacts();
    draw();
}

async function load(block) {
    const found = await block("data-timeline");
    if (found !== null) take(found);
    return found !== null;
}

export const timeline = { id: "timeline", title: "Timeline", load, mount, update, key };
