"use strict";
(() => {
  if (typeof vegaEmbed === "undefined") return; // the page was made without charts
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function showTip(_handler, event, _item, value) {
    if (value == null || value === "") {
      // A finger that is lifted leaves the line, but its owner still wants to read.
      if (event.pointerType !== "touch") tip.hidden = true;
      return;
    }
    const lines = typeof value === "object" ? Object.values(value) : [value];
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

  function addTools(view, tools) {
    const field = tools.querySelector("input");
    const count = tools.querySelector("output");
    const names = JSON.parse(document.getElementById("drawn").textContent);
    const whole = [0, Math.max(names.last, 1)];
    field.addEventListener("input", () => {
      const query = field.value.toLowerCase();
      const n = names.names.filter((name) => name.toLowerCase().includes(query)).length;
      count.textContent = query ? `${n} of ${names.names.length}` : "";
      view.signal("query", field.value).runAsync();
    });
    // Vega-Lite's selection "zoom": both of its signals must be there to make a view.
    function setView(plays, rates) {
      view.signal("zoom_play", plays).signal("zoom_selection_rate", rates).runAsync();
    }
    function zoom(factor) {
      const [low, high] = view.scale("x").domain();
      const middle = (low + high) / 2;
      const half = Math.min((high - low) * factor, whole[1]) / 2;
      const start = Math.max(0, Math.min(middle - half, whole[1] - 2 * half));
      setView([start, start + 2 * half], view.scale("y").domain());
    }
    tools.querySelector("[data-zoom=in]").addEventListener("click", () => zoom(0.5));
    tools.querySelector("[data-zoom=out]").addEventListener("click", () => zoom(2));
    tools.querySelector("[data-zoom=all]").addEventListener("click", () => setView(whole, [0, 1]));
    tools.hidden = false;
  }

  const options = {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, hover: false,
    tooltip: showTip,
  };
  for (const place of document.querySelectorAll(".chart")) {
    const spec = JSON.parse(place.querySelector("script").textContent);
    vegaEmbed(place, spec, options).then(({ view }) => {
      const tools = document.querySelector(`[data-for="${place.id}"]`);
      if (tools) addTools(view, tools);
      // A tap does not move, so Vega shows no tip for it.
      view.addEventListener("click", (event, item) => showTip(null, event, item, item?.tooltip));
      place.dataset.ready = "yes";
    }, (error) => {
      place.textContent = "This chart could not be drawn; the table below has its numbers.";
      console.error(error);
    });
  }
  window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  window.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") tip.hidden = true;
  });
  window.addEventListener("beforeprint", () => {
    for (const more of document.querySelectorAll("details.more")) more.open = true;
  });
})();
