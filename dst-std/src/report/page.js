(() => {
"use strict";
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);
const hint = document.querySelector(".hint");
if (hint) hint.hidden = false;
const show = (v, digits = 6) => {
  const size = Math.abs(v), text = size && (size < 1e-3 || size >= 1e6) ? v.toExponential(digits - 1) : String(+v.toPrecision(digits));
  const [mantissa, e] = text.split("e");
  return (+mantissa + (e ? "e" + +e : "")).replaceAll("-", "−");
};
const clamp = (v, a, b) => Math.max(a, Math.min(b, v));

// An axis: place 0…1 along the drawn range to a value. Drawn points are rounded to 0.01 px, and so are the values read off.
const axis = (text, length) => {
  const [scale, low, high] = text.split(" ");
  const log = scale === "log", f = log ? Math.log : v => v, g = log ? Math.exp : v => v;
  const a = f(+low), b = f(+high);
  const unit = 10 ** Math.ceil(Math.log10((b - a) * .01 / length));
  const value = s => g(a + s * (b - a));
  return { log, value, place: v => (f(v) - a) / (b - a), read: s => log ? show(value(s), 3) : show(Math.round(value(s) / unit) * unit) };
};

// Values worth a tick between low and high.
const ticks = (low, high, log) => {
  const out = [];
  if (log && high / low > 100) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const stride = Math.ceil((last - first + 1) / 8);
    for (let e = first; e <= last; e += stride) out.push(+("1e" + e));
    return out;
  }
  const raw = (high - low) / 6, p = 10 ** Math.floor(Math.log10(raw));
  const step = p * [1, 2, 5, 10].find(m => m * p >= raw);
  for (let i = Math.ceil(low / step); i * step <= high && out.length < 20; i++) out.push(+(i * step).toPrecision(12));
  return out;
};

for (const plot of document.querySelectorAll("figure .plot")) {
  const svg = plot.ownerSVGElement, layers = plot.querySelector(".layers");
  const [left, top, right, bottom] = plot.dataset.frame.split(" ").map(Number);
  const wide = right - left, tall = bottom - top;
  const x = axis(plot.dataset.x, wide), y = axis(plot.dataset.y, tall);
  const names = plot.dataset.names.split("|");
  const make = (tag, attributes, to) => {
    const e = document.createElementNS(svg.namespaceURI, tag);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    to.append(e);
    return e;
  };
  // Every path as points in 0…1; markers keep their shape as a tail of relative commands.
  const paths = [...layers.querySelectorAll("path")].map(path => {
    const bars = path.classList.contains("bars"), group = path.parentNode;
    const points = [...path.getAttribute("d").matchAll(/([ML])([-\d.]+) ([-\d.]+)([^ML]*)/g)]
      .map(m => [(m[2] - left) / wide, (bottom - m[3]) / tall, m[1], m[4]]);
    return { path, bars, points, name: group.dataset.name };
  });
  let view = [0, 1, 0, 1], clip = null, own = null;
  const px = s => left + (s - view[0]) / (view[1] - view[0]) * wide;
  const py = s => bottom - (s - view[2]) / (view[3] - view[2]) * tall;

  const redraw = () => {
    const zoomed = view.join() !== "0,1,0,1";
    if (!clip) {
      const id = "clip" + Math.random().toString(36).slice(2);
      clip = make("clipPath", { id }, plot);
      make("rect", { x: left, y: top, width: wide, height: tall }, clip);
      layers.setAttribute("clip-path", `url(#${id})`);
    }
    for (const { path, points } of paths)
      path.setAttribute("d", points.map(p => p[2] + px(p[0]).toFixed(2) + " " + py(p[1]).toFixed(2) + p[3]).join(""));
    for (const e of plot.querySelectorAll(".ticks,.grid")) if (e !== own) e.style.display = zoomed ? "none" : "";
    if (own) own.remove();
    own = null;
    if (!zoomed) return;
    own = make("g", { class: "ticks" }, plot);
    let d = "", grid = "";
    for (const v of ticks(x.value(view[0]), x.value(view[1]), x.log)) {
      const at = px(x.place(v));
      grid += `M${at} ${top}V${bottom}`;
      d += `M${at} ${bottom}v-6`;
      make("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, own).textContent = show(v);
    }
    for (const v of ticks(y.value(view[2]), y.value(view[3]), y.log)) {
      const at = py(y.place(v));
      grid += `M${left} ${at}H${right}`;
      d += `M${left} ${at}h6`;
      make("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, own).textContent = show(v);
    }
    make("path", { d, class: "ink", fill: "none" }, own);
    const lines = make("path", { d: grid, class: "grid", fill: "none" }, own);
    plot.insertBefore(lines, layers);
    own.remove = () => { lines.remove(); Element.prototype.remove.call(own); };
  };
  const look = v => {
    // Not closer than rounding, not farther than the drawing.
    for (const i of [0, 2]) {
      const size = clamp(v[i + 1] - v[i], 1e-3, 1);
      v[i] = clamp(v[i], 0, 1 - size);
      v[i + 1] = v[i] + size;
    }
    view = v;
    redraw();
  };
  const scale = (factor, u, w) => {
    const [a, b, c, d] = view;
    look([u - (u - a) * factor, u + (b - u) * factor, w - (w - c) * factor, w + (d - w) * factor]);
  };

  const place = event => {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { x: p.x, y: p.y, in: p.x >= left && p.x <= right && p.y >= top && p.y <= bottom,
      u: view[0] + (p.x - left) / wide * (view[1] - view[0]), w: view[2] + (bottom - p.y) / tall * (view[3] - view[2]) };
  };
  let ring = null;
  const hide = () => { tip.hidden = true; if (ring) ring.remove(); ring = null; };
  const hover = (event, at) => {
    let best = null, least = 30;
    for (const { points, bars, name } of paths) {
      if (name === undefined || !at.in) continue;
      for (let i = 0; i < points.length; i += bars ? 4 : 1) {
        const p = points[i + (bars ? 1 : 0)];
        const e = bars ? points[i + 2] : p;
        const qx = px(clamp(at.u, p[0], Math.max(p[0], e[0]))), qy = py(p[1]);
        if (qx < left - 1 || qx > right + 1 || qy < top - 1 || qy > bottom + 1) continue;
        const distance = bars ? Math.abs(qx - at.x) * 4 : Math.hypot(qx - at.x, qy - at.y);
        if (distance < least) { least = distance; best = { p, e, qx, qy, name, bars }; }
      }
    }
    hide();
    if (!best) return;
    const { p, e, name, bars } = best;
    ring = make("circle", { cx: best.qx, cy: best.qy, r: 5, fill: "none", class: "ink" }, plot);
    const across = x.read(p[0]) + (bars ? " to " + x.read(e[0]) : "");
    tip.textContent = "";
    if (name) { const b = document.createElement("b"); b.textContent = name; tip.append(b); }
    tip.append(`${names[0] || "x"}: ${across}; ${names[1] || "y"}: ${y.read(p[1])}`);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = clamp(event.clientX + 14, 4, innerWidth - box.width - 4) + "px";
    tip.style.top = (event.clientY - box.height - 12 > 4 ? event.clientY - box.height - 12 : event.clientY + 16) + "px";
  };

  let drag = null;
  make("rect", { x: left, y: top, width: wide, height: tall, fill: "transparent" }, plot);
  plot.setAttribute("tabindex", 0);
  plot.addEventListener("pointermove", event => {
    const at = place(event);
    if (!drag) return hover(event, at);
    hide();
    if (drag.move) {
      const [a, b, c, d] = drag.view;
      const du = (drag.x - at.x) / wide * (b - a), dw = (at.y - drag.y) / tall * (d - c);
      return look([a + du, b + du, c + dw, d + dw]);
    }
    drag.to = [clamp(at.x, left, right), clamp(at.y, top, bottom)];
    if (!drag.box) drag.box = make("rect", { class: "box" }, plot);
    const [p, q] = drag.to;
    for (const [k, v] of [["x", Math.min(p, drag.x)], ["y", Math.min(q, drag.y)], ["width", Math.abs(p - drag.x)], ["height", Math.abs(q - drag.y)]])
      drag.box.setAttribute(k, v);
  });
  plot.addEventListener("pointerleave", () => { if (!drag) hide(); });
  plot.addEventListener("pointerdown", event => {
    const at = place(event);
    // A finger scrolls the page; a tap still shows values.
    if (event.pointerType === "touch") return hover(event, at);
    if (event.button || !at.in) return;
    event.preventDefault();
    plot.focus({ preventScroll: true });
    drag = { ...at, move: event.shiftKey, view };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointerup", () => {
    if (!drag) return;
    const { box, to } = drag;
    if (box) box.remove();
    if (to && Math.abs(to[0] - drag.x) > 5 && Math.abs(to[1] - drag.y) > 5) {
      const [a, b, c, d] = view;
      const u = p => a + (p - left) / wide * (b - a), w = q => c + (bottom - q) / tall * (d - c);
      const [u0, u1] = [u(drag.x), u(to[0])].sort((p, q) => p - q), [w0, w1] = [w(drag.y), w(to[1])].sort((p, q) => p - q);
      look([u0, u1, w0, w1]);
    }
    drag = null;
  });
  plot.addEventListener("pointercancel", () => { if (drag && drag.box) drag.box.remove(); drag = null; });
  plot.addEventListener("dblclick", () => look([0, 1, 0, 1]));
  plot.addEventListener("wheel", event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = place(event);
    scale(event.deltaY < 0 ? 0.8 : 1.25, at.u, at.w);
  }, { passive: false });
  plot.addEventListener("keydown", event => {
    const [a, b, c, d] = view, u = (b - a) / 8, w = (d - c) / 8;
    const move = { ArrowLeft: [-u, 0], ArrowRight: [u, 0], ArrowUp: [0, w], ArrowDown: [0, -w] }[event.key];
    if (event.key === "0" || event.key === "Escape") look([0, 1, 0, 1]);
    else if (event.key === "+" || event.key === "=") scale(0.8, (a + b) / 2, (c + d) / 2);
    else if (event.key === "-") scale(1.25, (a + b) / 2, (c + d) / 2);
    else if (move && b - a < 1) look([a + move[0], b + move[0], c + move[1], d + move[1]]);
    else return;
    event.preventDefault();
  });
}
})();
