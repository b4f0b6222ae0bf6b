"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const variable = /^var\((--[a-z]+)\)$/;
  const config = { displayModeBar: false, scrollZoom: false, doubleClick: false };

  const themed = (value, styles) => {
    if (typeof value === "string") {
      const name = variable.exec(value);
      return name ? styles.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((each) => themed(each, styles));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, themed(each, styles)]));
  };

  const draw = (element) => {
    const { data, layout } = themed(figures[element.id], getComputedStyle(document.documentElement));
    Plotly.react(element, data, { ...layout, width: element.clientWidth }, config);
  };

  const elements = Object.keys(figures).map((id) => document.getElementById(id));
  elements.forEach(draw);

  // A plot follows its own element, which also changes when a phone is turned or the page is printed.
  const drawn = new WeakMap(elements.map((element) => [element, element.clientWidth]));
  const follow = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (drawn.get(target) === target.clientWidth) continue;
      drawn.set(target, target.clientWidth);
      draw(target);
    }
  });
  elements.forEach((element) => follow.observe(element));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => elements.forEach(draw));
})();
