// A strip above a picture: all of it in small, with the part in view. A press or drag moves that part.

import { el, fitted, variable } from "./dom.js";

export class Strip {
    /** `paint(context, width, height)` draws everything, again when `key()` changes; `range()` is the part in view, 0 to
     * 1; `move(from, to)` changes it. */
    constructor({ name, height, key, paint, range, move }) {
        Object.assign(this, { height, key, paint, range, move, made: "" });
        this.canvas = el("canvas", { class: "strip-map", role: "img", "aria-label": name,
            onpointerdown: (event) => this.press(event), onpointermove: (event) => this.drag(event), onpointerup: () => { this.held = null; } });
    }

    draw(width) {
        const pen = fitted(this.canvas, width, this.height);
        const key = `${width} ${variable("--ground")} ${this.key()}`;
        if (key !== this.made) {
            const ratio = window.devicePixelRatio || 1;
            this.picture = new OffscreenCanvas(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(this.height * ratio)));
            const paint = this.picture.getContext("2d");
            paint.setTransform(ratio, 0, 0, ratio, 0, 0);
            this.paint(paint, width, this.height);
            this.made = key;
        }
        pen.drawImage(this.picture, 0, 0, width, this.height);
        const [from, to] = this.range().map((part) => Math.max(0, Math.min(1, part)) * width);
        pen.fillStyle = variable("--ground");
        pen.globalAlpha = 0.72;
        pen.fillRect(0, 0, from, this.height);
        pen.fillRect(to, 0, width - to, this.height);
        pen.globalAlpha = 1;
        pen.strokeStyle = variable("--accent");
        pen.lineWidth = 1.5;
        pen.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 2), this.height - 1.5);
    }

    at(event) {
        const area = this.canvas.getBoundingClientRect();
        return (event.clientX - area.left) / area.width;
    }

    press(event) {
        const at = this.at(event);
        const [from, to] = this.range();
        this.canvas.setPointerCapture(event.pointerId);
        this.held = at >= from && at <= to ? at - from : (to - from) / 2;
        this.drag(event);
    }

    drag(event) {
        if (this.held === null || this.held === undefined) return;
        const [from, to] = this.range();
        const start = Math.max(0, Math.min(1 - (to - from), this.at(event) - this.held));
        this.move(start, start + to - from);
    }
}
