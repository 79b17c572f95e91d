"use strict";
(() => {
  const svgElement = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function showTip(event, lines) {
    tip.replaceChildren(...lines.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const fits = below + tip.offsetHeight <= window.innerHeight;
    const y = fits ? below : event.clientY - tip.offsetHeight - 10;
    tip.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
  }

  // Lines are thin: what is pointed at is a wide copy of each that cannot be seen.
  function makeMark(shape, lines, layer) {
    const caught = shape.cloneNode(true);
    caught.classList.add("caught");
    layer.append(caught);
    const point = (event) => {
      shape.classList.add("pointed");
      showTip(event, lines);
    };
    caught.addEventListener("pointermove", point);
    caught.addEventListener("click", point); // a tap does not move
    caught.addEventListener("pointerleave", (event) => {
      shape.classList.remove("pointed");
      // A finger that is lifted leaves the line, but its owner still wants to read.
      if (event.pointerType !== "touch") tip.hidden = true;
    });
    return { name: lines[0], shapes: [shape, caught] };
  }

  function makeMarks(tips, layer) {
    return Object.entries(tips).flatMap(([id, texts]) => {
      const group = document.getElementById(id);
      const shapes = [...(group?.querySelectorAll("path, use") ?? [])]
        .filter((shape) => !shape.closest("defs"));
      const marks = shapes.map((shape, i) => makeMark(shape, texts[i], layer));
      const number = /-line-(\d+)$/.exec(id)?.[1];
      for (const kind of number === undefined ? [] : ["label", "leader"]) {
        const beside = document.getElementById(id.replace("-line-", `-${kind}-`));
        if (beside) marks[0].shapes.push(beside);
      }
      return marks;
    });
  }

  // What is drawn inside of the axes, in one group that can be stretched and moved; and the axes.
  function gatherInside(svg) {
    const inside = [...svg.querySelectorAll("[clip-path]")]
      .filter((shape) => !shape.closest("[id*='-axis-']"));
    const frame = svgElement("g");
    const moving = svgElement("g");
    moving.classList.add("moving");
    const clip = inside[0].getAttribute("clip-path");
    const axes = document.getElementById(/#(.+)\)/.exec(clip)[1]).querySelector("rect");
    frame.setAttribute("clip-path", clip);
    frame.append(moving);
    svg.append(frame);
    moving.append(...new Set(inside.map((shape) => shape.parentNode)));
    for (const shape of inside) shape.removeAttribute("clip-path");
    const box = ["x", "y", "width", "height"].map((name) => Number(axes.getAttribute(name)));
    return [moving, box];
  }

  function addView(chart, svg, moving, [left, top, width, height]) {
    const last = Number(chart.dataset.last);
    const whole = { x: [0, 1], y: [0, 1] };
    let view = whole;
    const ticks = ["x", "y"].flatMap((axis) =>
      [...document.getElementById(`${chart.id}-axis-${axis}`).querySelectorAll("text")]
        .map((text) => ({ axis, text, value: Number(text.textContent.replaceAll(",", "")) }))
        .filter(({ value }) => !Number.isNaN(value)));

    function apply() {
      const [x0, x1] = view.x;
      const [y0, y1] = view.y;
      const [across, up] = [1 / (x1 - x0), 1 / (y1 - y0)];
      const dx = left - across * (left + x0 * width);
      const dy = top + height - up * (top + height * (1 - y0));
      moving.setAttribute("transform", `matrix(${across} 0 0 ${up} ${dx} ${dy})`);
      for (const { axis, text, value } of ticks) {
        const [low, high] = view[axis];
        const most = axis === "x" ? last : 1;
        const span = most * (high - low);
        const here = most * low + value * (high - low);
        const digits = axis === "x" ? (span < 10 && span < last ? 1 : 0) : span < 0.5 ? 3 : 1;
        text.textContent = here.toLocaleString("en", {
          minimumFractionDigits: digits, maximumFractionDigits: digits,
        });
      }
      svg.classList.toggle("part", y0 > 0 || y1 < 1);
    }
    function part([low, high], factor, at) {
      const span = Math.min((high - low) * factor, 1);
      return keep(low + (high - low - span) * at, span);
    }
    function keep(start, span) {
      const from = Math.max(0, Math.min(start, 1 - span));
      return [from, from + span];
    }
    function set(next) {
      view = { ...view, ...next };
      apply();
    }
    function at(event) {
      const place = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
      return [(place.x - left) / width, (top + height - place.y) / height];
    }
    svg.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
      event.preventDefault();
      const factor = 1.0015 ** (event.deltaY || event.deltaX);
      const [x, y] = at(event);
      set({ x: part(view.x, factor, x), y: part(view.y, factor, y) });
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      const from = at(event);
      const before = view;
      const move = (now) => {
        const [x, y] = at(now);
        const shift = ([low, high], by) => keep(low - by * (high - low), high - low);
        set({ x: shift(before.x, x - from[0]), y: shift(before.y, y - from[1]) });
      };
      window.addEventListener("pointermove", move);
      for (const done of ["pointerup", "pointercancel"]) {
        window.addEventListener(done, () => window.removeEventListener("pointermove", move));
      }
    });
    const tools = document.querySelector(`[data-for="${chart.id}"]`);
    const zoom = (factor) => () => set({ x: part(view.x, factor, 0.5) });
    tools.querySelector("[data-zoom=in]").addEventListener("click", zoom(0.5));
    tools.querySelector("[data-zoom=out]").addEventListener("click", zoom(2));
    tools.querySelector("[data-zoom=all]").addEventListener("click", () => set(whole));
    return tools;
  }

  function addSearch(tools, marks) {
    const field = tools.querySelector("input");
    const count = tools.querySelector("output");
    field.addEventListener("input", () => {
      const query = field.value.toLowerCase();
      const found = marks.filter(({ name }) => name.toLowerCase().includes(query));
      for (const mark of marks) {
        for (const shape of mark.shapes) shape.classList.toggle("gone", !found.includes(mark));
      }
      count.textContent = query ? `${found.length} of ${marks.length}` : "";
    });
    tools.hidden = false;
  }

  for (const chart of document.querySelectorAll(".chart")) {
    const svg = chart.querySelector("svg");
    const tips = JSON.parse(chart.querySelector("script").textContent);
    const [layer, box] = chart.dataset.last ? gatherInside(svg) : [svg];
    const marks = makeMarks(tips, layer);
    if (box) addSearch(addView(chart, svg, layer, box), marks);
    chart.dataset.ready = "yes";
  }
  window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  window.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") tip.hidden = true;
  });
  window.addEventListener("beforeprint", () => {
    for (const more of document.querySelectorAll("details.more")) more.open = true;
  });
})();
