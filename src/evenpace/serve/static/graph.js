// Draw the graph of the page; everything it shows is also in the tables beside it.
"use strict";

const box = document.getElementById("graph");
const status_ = document.getElementById("graph-status");
const data = JSON.parse(document.getElementById("graph-data").textContent);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const SHAPES = { cause: "ellipse", component: "rectangle", symptom: "diamond", factor: "triangle", case: "round-rectangle" };
const largest = Math.max(1, ...data.nodes.map((node) => node.count));
const size = (node) => (node.data("kind") === "case" ? 8 : 14 + 34 * Math.sqrt(node.data("count") / largest));

function style() {
  return [
    { selector: "node", style: { label: "data(label)", "font-size": 13, color: colour("ink"), "text-outline-color": colour("paper"), "text-outline-width": 2, "text-valign": "bottom", "text-margin-y": 2, "text-wrap": "wrap", "text-max-width": 110, width: size, height: size, shape: (node) => SHAPES[node.data("kind")], "background-color": (node) => colour(node.data("kind")), "min-zoomed-font-size": box.clientWidth < 600 ? 4 : 7 } },
    { selector: "edge", style: { width: (edge) => 0.6 + Math.min(4, edge.data("count") / 5), "line-color": colour("line"), opacity: (edge) => Math.min(1, 0.3 + edge.data("lift") / 5), "curve-style": "haystack" } },
    { selector: ".faded", style: { opacity: 0.12 } },
    { selector: "node.here", style: { "border-width": 3, "border-color": colour("focus") } },
  ];
}

function draw() {
  box.classList.add("drawn");
  const elements = [...data.nodes, ...data.edges].map((one) => ({ data: one }));
  const still = { name: "circle", animate: false, sort: (a, b) => a.data("kind").localeCompare(b.data("kind")) };
  const view = cytoscape({ container: box, elements, style: style(), layout: still, minZoom: 0.2, maxZoom: 4 });
  view.layout({ name: "cose", animate: false, randomize: false, nodeRepulsion: () => 60000, idealEdgeLength: () => 90, numIter: 800, padding: 20 }).run();
  return view;
}

function focus(view, node) {
  view.elements().removeClass("here faded");
  const near = node.closedNeighborhood();
  view.elements().not(near).addClass("faded");
  node.addClass("here");
  status_.textContent = `${node.data("title") || node.data("label")} (${node.data("count")})`;
}

function keys(view) {
  const order = view.nodes().sort((a, b) => b.data("count") - a.data("count"));
  let at = -1;
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      at = (at + step + order.length) % order.length;
      focus(view, order[at]);
      event.preventDefault();
    } else if (event.key === "Enter" && at >= 0) {
      location.assign(order[at].data("url"));
    } else if (event.key === "Escape") {
      view.elements().removeClass("here faded");
      at = -1;
    }
  });
}

if (data.nodes.length) {
  const view = draw();
  keys(view);
  view.on("mouseover", "node", (event) => focus(view, event.target));
  view.on("mouseout", "node", () => view.elements().removeClass("here faded"));
  view.on("tap", "node", (event) => location.assign(event.target.data("url")));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.style(style()));
  box.dataset.nodes = String(view.nodes().length);
}
