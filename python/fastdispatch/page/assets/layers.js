// A layered layout: callers left of their callees, few crossings, short edges.
//
//     layer 0     layer 1     layer 2
//     [ a ]──────►[ b ]──────►[ d ]      an edge over several layers goes through
//        └────────( · )───────►┘         a point in each of those between

const GAP_X = 38;
const GAP_Y = 14;
const SWEEPS = 10;

/** `boxes`: `{ id, width, height, weight }`; `edges`: `{ from, to, value }` of ids. Returns `places`, id to
 * `{ x, y }` of the upper left corner, `routes`, a list of points per edge, and the total size. */
export function layered(boxes, edges) {
    const items = new Map(boxes.map((box) => [box.id, { ...box, out: [], into: [], layer: 0, y: 0 }]));
    const forward = acyclic(items, edges);
    assignLayers(items, forward);
    const { layers, chains } = withPoints(items, forward);
    order(layers);
    const width = placeX(layers);
    const height = placeY(layers);
    const places = new Map(boxes.map(({ id }) => [id, { x: items.get(id).x, y: items.get(id).y }]));
    return { places, routes: chains.map(route), width, height };
}

/** Reverse edges until the graph has no cycle; the heaviest keep their direction. */
function acyclic(items, edges) {
    const state = new Map();
    const out = new Map([...items.keys()].map((id) => [id, []]));
    edges.forEach((edge, index) => out.get(edge.from).push({ edge, index }));
    for (const list of out.values()) list.sort((a, b) => b.edge.value - a.edge.value || a.index - b.index);
    const turned = new Set();
    const visit = (start) => {
        const stack = [[start, 0]];
        state.set(start, 1);
        while (stack.length > 0) {
            const top = stack.at(-1);
            const next = out.get(top[0])[top[1]++];
            if (next === undefined) {
                state.set(top[0], 2);
                stack.pop();
            } else if (state.get(next.edge.to) === 1) {
                turned.add(next.index);
            } else if (!state.has(next.edge.to)) {
                state.set(next.edge.to, 1);
                stack.push([next.edge.to, 0]);
            }
        }
    };
    const starts = [...items.values()].sort((a, b) => b.weight - a.weight || a.id - b.id);
    for (const { id } of starts) if (!state.has(id)) visit(id);
    return edges.map((edge, index) => (turned.has(index)
        ? { from: edge.to, to: edge.from, value: edge.value, turned: true }
        : { from: edge.from, to: edge.to, value: edge.value, turned: false }));
}

/** The layer of each box: its longest path from a box without callers. */
function assignLayers(items, edges) {
    const waiting = new Map([...items.keys()].map((id) => [id, 0]));
    const out = new Map([...items.keys()].map((id) => [id, []]));
    for (const edge of edges) {
        waiting.set(edge.to, waiting.get(edge.to) + 1);
        out.get(edge.from).push(edge.to);
    }
    const ready = [...items.keys()].filter((id) => waiting.get(id) === 0);
    while (ready.length > 0) {
        const id = ready.shift();
        for (const to of out.get(id)) {
            items.get(to).layer = Math.max(items.get(to).layer, items.get(id).layer + 1);
            waiting.set(to, waiting.get(to) - 1);
            if (waiting.get(to) === 0) ready.push(to);
        }
    }
}

/** Layers of boxes and points, joined to those in adjacent layers; one chain per edge. */
function withPoints(items, edges) {
    const layers = [];
    const put = (item) => {
        (layers[item.layer] ??= []).push(item);
        return item;
    };
    for (const item of items.values()) put(item);
    const chains = edges.map((edge) => {
        const [first, last] = [items.get(edge.from), items.get(edge.to)];
        const chain = [first];
        for (let layer = first.layer + 1; layer < last.layer; layer++) {
            chain.push(put({ point: true, width: 0, height: 4, out: [], into: [], layer, y: 0 }));
        }
        chain.push(last);
        for (let i = 0; i + 1 < chain.length; i++) {
            chain[i].out.push([chain[i + 1], edge.value]);
            chain[i + 1].into.push([chain[i], edge.value]);
        }
        return { chain, turned: edge.turned };
    });
    return { layers, chains };
}

function order(layers) {
    const number = (layer) => layer.forEach((item, place) => { item.place = place; });
    const middle = (item, side) => (item[side].length === 0
        ? item.place
        : item[side].reduce((sum, [other]) => sum + other.place, 0) / item[side].length);
    layers.forEach(number);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const down = sweep % 2 === 0;
        for (const layer of down ? layers : [...layers].reverse()) {
            const wanted = new Map(layer.map((item) => [item, middle(item, down ? "into" : "out")]));
            layer.sort((a, b) => wanted.get(a) - wanted.get(b) || a.place - b.place);
            number(layer);
        }
    }
}

function placeX(layers) {
    let x = 0;
    for (const layer of layers) {
        const wide = Math.max(...layer.map((item) => item.width));
        for (const item of layer) item.x = x;
        for (const item of layer) item.span = wide;
        x += wide + GAP_X;
    }
    return x - GAP_X;
}

/** Move each box towards the mean of its neighbours, without overlaps: the mean of pushing down and up. */
function placeY(layers) {
    for (const layer of layers) {
        let y = 0;
        for (const item of layer) {
            item.y = y;
            y += item.height + GAP_Y;
        }
    }
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) settle(layer);
    }
    const items = layers.flat();
    const least = Math.min(...items.map((item) => item.y));
    for (const item of items) item.y -= least;
    return Math.max(...items.map((item) => item.y + item.height));
}

function settle(layer) {
    const wanted = layer.map((item) => {
        const joined = [...item.into, ...item.out];
        if (joined.length === 0) return item.y;
        return joined.reduce((sum, [other]) => sum + other.y + other.height / 2, 0) / joined.length - item.height / 2;
    });
    const down = [];
    const up = [];
    layer.forEach((item, i) => {
        down[i] = i === 0 ? wanted[i] : Math.max(wanted[i], down[i - 1] + layer[i - 1].height + GAP_Y);
    });
    for (let i = layer.length - 1; i >= 0; i--) {
        up[i] = i === layer.length - 1 ? wanted[i] : Math.min(wanted[i], up[i + 1] - layer[i].height - GAP_Y);
    }
    layer.forEach((item, i) => { item.y = (down[i] + up[i]) / 2; });
}

/** Points from the right side of the caller to the left side of the callee. */
function route({ chain, turned }) {
    const points = chain.flatMap((item, i) => {
        const y = item.y + item.height / 2;
        if (item.point) return [[item.x, y], [item.x + item.span, y]];
        return i === 0 ? [[item.x + item.width, y]] : [[item.x, y]];
    });
    return turned ? points.reverse() : points;
}
