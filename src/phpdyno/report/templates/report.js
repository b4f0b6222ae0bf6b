"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const variable = /^var\((--[a-z]+)\)$/;
  const config = { displayModeBar: false, scrollZoom: false, doubleClick: false };
  const root = document.documentElement;

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
    const { wide, ...narrow } = figures[element.id];
    const { data, layout } = themed(wide && element.clientWidth >= wide.from ? wide : narrow, getComputedStyle(root));
    Plotly.react(element, data, { ...layout, width: element.clientWidth }, config);
  };

  const elements = Object.keys(figures).map((id) => document.getElementById(id));
  const drawn = new WeakMap();
  const redraw = () => {
    for (const element of elements) {
      drawn.set(element, element.clientWidth);
      draw(element);
    }
  };
  redraw();

  // A plot follows its own element, which also changes when a phone is turned.
  const follow = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (drawn.get(target) === target.clientWidth) continue;
      drawn.set(target, target.clientWidth);
      draw(target);
    }
  });
  elements.forEach((element) => follow.observe(element));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Paper is white and narrow, whatever the screen is; the page is laid out for it before the plots are measured.
  const folded = [...document.querySelectorAll("details:not([open])")];
  addEventListener("beforeprint", () => {
    root.classList.add("paper");
    folded.forEach((each) => { each.dataset.folded = each.open ? "" : "yes"; each.open = true; });
    redraw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("paper");
    folded.forEach((each) => { if (each.dataset.folded) each.open = false; });
    redraw();
  });
})();
