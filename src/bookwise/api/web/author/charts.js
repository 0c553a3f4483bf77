// Charts as inline SVG, drawn for the width they have. A table beside each one holds the same figures.

import { h, svg } from "./elements.js";

const HEIGHT = 180;
const LEFT = 46, RIGHT = 8, TOP = 10, BOTTOM = 24;
const LABEL_WIDTH = 64;

/** Stacked bars. `series`: {name, color}; `points`: {label, values}, one value per series. */
export function barChart(label, series, points) {
  const highest = Math.max(1, ...points.map((point) => point.values.reduce((sum, value) => sum + value, 0)));
  return chart(label, series, points, niceTop(highest), (value) => String(value), (area) => {
    const width = Math.max(1, area.step * 0.7);
    return points.flatMap(({ values }, at) => {
      let base = 0;
      return values.map((value, which) => {
        const top = area.y(base + value), bottom = area.y(base);
        base += value;
        return value > 0 && svg("rect", {
          x: area.x(at) - width / 2, y: top, width, height: bottom - top, class: `fill ${series[which].color}` });
      });
    });
  });
}

/** Lines of shares from 0 to 1. A value of null is a gap. */
export function lineChart(label, series, points) {
  return chart(label, series, points, 1, (value) => `${Math.round(value * 100)} %`, (area) =>
    series.flatMap(({ color }, which) => {
      const known = points.map(({ values }, at) => [at, values[which]]);
      const dots = known.filter(([, value]) => value !== null)
        .map(([at, value]) => svg("circle", { cx: area.x(at), cy: area.y(value), r: 3, class: `fill ${color}` }));
      return [...runs(known).map((run) => svg("polyline", {
        points: run.map(([at, value]) => `${area.x(at)},${area.y(value)}`).join(" "), class: `line ${color}` })), ...dots];
    }));
}

function runs(known) {
  const found = [[]];
  for (const item of known) {
    if (item[1] === null) found.push([]);
    else found.at(-1).push(item);
  }
  return found.filter((run) => run.length > 1);
}

function chart(label, series, points, top, format, draw) {
  const box = h("div", { class: "plot" });
  const redraw = () => box.replaceChildren(picture(label, points, top, format, draw, box.clientWidth || 600));
  new ResizeObserver(redraw).observe(box);
  const legend = series.map(({ name, color }) => h("li", { class: color }, name));
  return h("div", {}, h("ul", { class: "legend", "aria-hidden": "true" }, legend), box);
}

function picture(label, points, top, format, draw, width) {
  const step = (width - LEFT - RIGHT) / Math.max(1, points.length);
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const x = (at) => LEFT + (at + 0.5) * step;
  const lines = [0, top / 2, top].filter((value) => top === 1 || Number.isInteger(value)).flatMap((value) => [
    svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
    svg("text", { x: LEFT - 6, y: y(value) + 4, class: "tick end" }, format(value)),
  ]);
  const every = Math.max(1, Math.ceil((points.length * LABEL_WIDTH) / (width - LEFT - RIGHT)));
  const dates = points.map(({ label: text }, at) =>
    at % every === 0 && svg("text", { x: x(at), y: HEIGHT - 6, class: "tick middle" }, text));
  return svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": label },
    lines, dates, draw({ x, y, step }));
}

/** A round even number that is not lower. */
function niceTop(highest) {
  const power = 10 ** Math.floor(Math.log10(highest));
  const top = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((value) => value >= highest);
  return Math.max(2, top);
}
