// Formats of numbers.

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

/** `12 345`, with narrow spaces. */
export function grouped(number) {
    return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Nanoseconds with a unit that keeps three digits: `41.2 s`, `7.31 ms`. */
export function seconds(nanoseconds) {
    for (const [unit, size] of UNITS) {
        const number = nanoseconds / size;
        if (number >= 0.9995) return `${number < 999.5 ? Number(number.toPrecision(3)) : grouped(number)} ${unit}`;
    }
    return `${Math.round(nanoseconds)} ns`;
}

export function figure(value, unit) {
    if (unit === "ns") return seconds(value);
    if (unit === "B") return bytes(value);
    if (unit === "FLOP") return flops(value);
    return Number.isInteger(value) || value >= 100 ? grouped(value) : String(Number(value.toPrecision(3)));
}

/** `1 call`; per step of two recordings also `0.5 calls`. */
export function callsText(number) {
    return `${figure(number, "count")} ${number === 1 ? "call" : "calls"}`;
}

export function share(part, whole) {
    if (!whole || !part) return "0 %";
    const percent = (100 * part) / whole;
    return percent < 0.01 ? "< 0.01 %" : `${percent.toFixed(percent < 9.995 ? 2 : 1)} %`;
}

export function counted(number, one, many = `${one}s`) {
    return `${grouped(number)} ${number === 1 ? one : many}`;
}

/** Bytes: `512 B`, `6.29 MB`. */
export function bytes(number) {
    const unit = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, size]) => number >= 0.9995 * size);
    return unit ? `${Number((number / unit[1]).toPrecision(3))} ${unit[0]}` : `${Math.round(number)} B`;
}

/** Floating-point operations: `6.29 MFLOP`. */
function flops(number) {
    const [letter, size] = [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]].find(([, size]) => number >= 0.9995 * size) ?? ["", 1];
    return `${Number((number / size).toPrecision(3))} ${letter}FLOP`;
}

/** Replace `_` by a space in names of counters and facts. */
export function words(name) {
    return name.replaceAll("_", " ");
}
