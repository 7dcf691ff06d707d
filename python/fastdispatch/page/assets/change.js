// A page of two recordings: figures before and after, with the colours and words of changes. A page of one recording
// uses only `swatch`.
//
// A frame is as wide as the larger of both, path by path: new and removed calls are both visible, and callees fit into
// their callers.

import { el } from "./dom.js";
import { figure } from "./format.js";
import { byNode, figures, grouped, trace } from "./trace.js";

const STEPS = [0.25, 0.5]; // shares of the larger one with darker colours; the first is the threshold

export const SIDES = ["before", "after"];

export function compares() {
    return trace.compared !== undefined;
}

/** Before and after by context, by function, by groups of contexts; null in a page of one recording. */
export function figureSides(id, phase) {
    return compares() ? SIDES.map((side) => figures(`${id}.${side}`, phase)) : null;
}

export function nodeSides(id, phase) {
    return compares() ? SIDES.map((side) => byNode(`${id}.${side}`, phase)) : null;
}

export function groupSides(of, count, id) {
    return compares() ? SIDES.map((side) => grouped(of, count, `${id}.${side}`)) : null;
}

function part(before, after) {
    const most = Math.max(before, after);
    return most > 0 ? (after - before) / most : 0;
}

/** The colour of a change: same, more-1 to more-3, less-1 to less-3. */
export function tone(before, after) {
    const change = part(before, after);
    const size = Math.abs(change);
    if (size < trace.compared.threshold || size === 0) return "same";
    return `${change > 0 ? "more" : "less"}-${1 + STEPS.filter((step) => size >= step).length}`;
}

/** `▲ +31 %`, `▼ −12 %`, `▲ × 24`, `▲ new`, `▼ gone`; empty below one percent. */
export function changeText(before, after) {
    if (!(before > 0) && !(after > 0)) return "";
    if (!(before > 0)) return "▲ new";
    if (!(after > 0)) return "▼ gone";
    const percent = (100 * (after - before)) / before;
    if (Math.abs(percent) < 1) return "";
    if (percent > 999) return `▲ × ${figure(Math.round(after / before), "count")}`;
    return percent > 0 ? `▲ +${percent.toFixed(0)} %` : `▼ −${(-percent).toFixed(0)} %`;
}

/** `8.1 ms → 10.6 ms`. */
export function bothText(before, after, unit) {
    return before === after ? figure(after, unit) : `${figure(before, unit)} → ${figure(after, unit)}`;
}

/** Words of the comparison about a function: slower, new, ... */
export function changesOf(node) {
    const bits = trace.nodes.changes ? trace.nodes.changes[node] : 0;
    return trace.compared.changes.filter((_, place) => (bits >> place) & 1);
}

/** The same as text: a new function has no other change. */
export function verdict(node) {
    const words = changesOf(node);
    return words.find((word) => word === "new" || word === "gone") ?? words.join(", ");
}

/** The name of a colour: that of the change of the function's self time, else that of its package. */
function colourName(node) {
    if (!compares()) return `package-${trace.nodeColour[node]}`;
    const [before, after] = nodeSides(trace.weights[0]?.id ?? "", "");
    return `tone-${tone(before.own[node], after.own[node])}`;
}

export function swatch(node) {
    return el("i", { class: `swatch ${colourName(node)}` });
}

/** A change as text, in its colour. */
export function changeMark(before, after) {
    const text = changeText(before, after);
    return text === "" ? "" : el("span", { class: `change tone-${tone(before, after)}` }, text);
}
