// State of all views: the selection, the filters, the settings of views. It is stored in the URL's fragment, so that a
// link or a bookmark restores it.

const DEFAULTS = {
    view: "overview",
    weight: "", // empty: the first
    query: "",
    package: "",
    kind: "",
    phase: "",
    thread: "", // role; empty: threads that are not idle; *: all
    plumbing: false, // show functions that only pass a call on
    rank: -1, // index of the selected rank; -1: all
    changes: "", // verdict of a comparison: changed, new, gone, ...
    min: 0, // minimum share, in percent
    node: -1, // the selected function
    zoom: "", // zoomed frame of the flame view
    reverse: false,
    join: true, // merge repeats of a module
    open: "", // groups of the graph that are unfolded
    focus: -1, // group of the graph
    depth: 1, // distance from the focus
    heaviest: true, // mark the heaviest path of the graph
    sort: "",
    ascending: false,
    from: 0, // visible part of the timeline, ns
    to: 0,
    slice: -1, // selected slice
    theme: "",
};

export const state = { ...DEFAULTS };

/** Set defaults of this page. */
export function begin(defaults) {
    Object.assign(DEFAULTS, defaults);
}

const listeners = [];

/** Call `listener(names)` with a Set of names after changes. */
export function listen(listener) {
    listeners.push(listener);
}

function parsed(name, text) {
    const kind = typeof DEFAULTS[name];
    if (kind === "boolean") return text === "1";
    if (kind === "number") return Number.isFinite(Number(text)) ? Number(text) : DEFAULTS[name];
    return text;
}

function fragment() {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
        if (value !== DEFAULTS[name]) words.set(name, value === true ? "1" : value === false ? "0" : String(value));
    }
    return `#${words}`;
}

/** Change some of the state. Only changes of the view become entries of the browser's history. */
export function set(changes) {
    const names = new Set(Object.keys(changes).filter((name) => state[name] !== changes[name]));
    if (names.size === 0) return;
    Object.assign(state, changes);
    const method = names.has("view") ? "pushState" : "replaceState";
    window.history[method](null, "", fragment());
    notify(names);
}

function notify(names) {
    for (const listener of listeners) listener(names);
}

/** Read the state from the address: at the start, and when the user edits it or goes back. */
export function restore() {
    const words = new URLSearchParams(window.location.hash.slice(1));
    for (const name of Object.keys(DEFAULTS)) {
        state[name] = words.has(name) ? parsed(name, words.get(name)) : DEFAULTS[name];
    }
}

window.addEventListener("popstate", () => {
    restore();
    notify(new Set(Object.keys(DEFAULTS)));
});

/** Reset everything except the view, the weight and the theme. */
export function reset() {
    const { view, theme, weight } = state;
    set({ ...DEFAULTS, view, theme, weight });
}
