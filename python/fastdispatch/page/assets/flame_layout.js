// Positions of frames: shares of everything, and pixels.

import { forest } from "./forest.js";
import { matches } from "./search.js";

const LEAST = 0.6; // pixels: narrower frames are not drawn

/** The values of all roots together. */
export function everything() {
    return forest().all ?? forest().children(null).reduce((sum, frame) => sum + frame.value, 0);
}

/** Begin and end of a frame, shares of everything; null: all. */
export function extent(frame) {
    if (!frame) return [0, 1];
    const source = forest();
    let begin = 0;
    for (let at = frame; at; at = at.parent) {
        for (const before of source.children(at.parent)) {
            if (before.id === at.id) break;
            begin += before.value;
        }
    }
    const all = everything() || 1;
    return [begin / all, (begin + frame.value) / all];
}

/** Frames of a part at this width, `{ frame, x, width, row }`; narrow ones are counted. */
export function laid(from, to, width) {
    const source = forest();
    const scale = width / ((to - from) * everything() || 1);
    const found = [];
    let narrow = 0;
    const waiting = [];
    const spread = (frame, x, row) => {
        for (const child of source.children(frame)) {
            const wide = child.value * scale;
            if (x + wide > 0.01 && x < width - 0.01) {
                if (wide < LEAST) narrow += 1;
                else waiting.push({ frame: child, begin: x, x: Math.max(x, 0), width: Math.min(x + wide, width) - Math.max(x, 0), row });
            }
            x += wide;
        }
    };
    spread(null, -from * everything() * scale, 0);
    while (waiting.length > 0) {
        const box = waiting.pop();
        found.push(box);
        spread(box.frame, box.begin, box.row + 1);
    }
    return { found, narrow };
}

/** Frames that match the search, from left to right. */
export function matching() {
    const matched = matches();
    const list = [];
    if (matched === null) return list;
    const waiting = [...forest().children(null)].reverse();
    while (waiting.length > 0) {
        const frame = waiting.pop();
        if (matched[frame.node]) list.push(frame);
        else waiting.push(...[...forest().children(frame)].reverse());
    }
    return list;
}
