// Drop logs anywhere, see what is chosen, and watch it go; without this the form is an ordinary one.
"use strict";

const form = document.getElementById("logs");
const at = (id) => document.getElementById(id);
const said = (word, values) => form.dataset[word].replace(/\{(\w+)\}/g, (_, name) => values[name]);
let chosen = []; // {name, file}

function megabytes(size) {
  return size < 1e6 ? `${Math.max(1, Math.round(size / 1e3))} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

function show() {
  const size = chosen.reduce((sum, one) => sum + one.file.size, 0);
  at("chosen").hidden = chosen.length === 0;
  at("count").textContent = said(chosen.length === 1 ? "chosenOne" : "chosen", { files: chosen.length, size: megabytes(size) });
  at("names").replaceChildren(...chosen.map((one) => {
    const item = document.createElement("li");
    const bytes = document.createElement("span");
    bytes.textContent = megabytes(one.file.size);
    item.append(one.name, bytes);
    return item;
  }));
  const beyond = size > Number(form.dataset.most) || chosen.length > Number(form.dataset.files);
  refuse(beyond ? form.dataset.beyond : "");
  form.querySelector(".send button").disabled = beyond;
}

function refuse(text) {
  at("refusal").textContent = text.replaceAll("`", "");
  at("refusal").hidden = text === "";
}

function add(found) {
  const known = new Set(chosen.map((one) => `${one.name} ${one.file.size} ${one.file.lastModified}`));
  chosen.push(...found.filter((one) => !known.has(`${one.name} ${one.file.size} ${one.file.lastModified}`)));
  show();
}

function pick(event) {
  add([...event.target.files].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
  event.target.value = "";
}

async function within(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ name: entry.fullPath.replace(/^\//, ""), file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (some.length === 0 || found.length > Number(form.dataset.files)) return found;
    for (const one of some) found.push(...await within(one));
  }
}

async function drop(event) {
  event.preventDefault();
  document.body.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return add([...event.dataTransfer.files].map((file) => ({ name: file.name, file })));
  try {
    add((await Promise.all(entries.map(within))).flat());
  } catch (error) {
    refuse(error.message);
  }
}

function busy(is) {
  form.querySelector(".send button").disabled = is;
  at("bar").hidden = !is;
  if (!is) at("state").textContent = "";
}

function send(event) {
  event.preventDefault();
  if (chosen.length === 0 && at("text").value.trim() === "") return refuse(form.dataset.none);
  const body = new FormData();
  for (const { name, file } of chosen) body.append(form.dataset.field, file, name);
  body.append(at("text").name, at("text").value);
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.upload.onprogress = ({ loaded, total }) => {
    const percent = Math.floor((100 * loaded) / total);
    at("bar").value = percent;
    at("state").textContent = said("sending", { percent });
  };
  request.upload.onload = () => {
    at("bar").removeAttribute("value");
    at("state").textContent = form.dataset.reading;
  };
  request.onload = () => answered(request.status, request.response);
  request.onerror = () => answered(0, null);
  refuse("");
  busy(true);
  request.open("POST", form.action);
  request.send(body);
}

function answered(status, page) {
  busy(false);
  if (status !== 200 || page === null) {
    const lang = document.documentElement.lang;
    const told = page?.querySelector(`[role=alert], main p[lang=${lang}], main p`);
    return refuse(told ? told.textContent : form.dataset.failed);
  }
  history.pushState({}, "");
  addEventListener("popstate", () => location.reload());
  document.title = page.title;
  document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
  document.querySelector("main h1").focus({ preventScroll: true });
  scrollTo(0, 0);
}

form.classList.add("alive");
document.querySelectorAll(".script").forEach((one) => { one.hidden = false; });
at("files").addEventListener("change", pick);
at("folder").addEventListener("change", pick);
at("empty").addEventListener("click", () => { chosen = []; show(); at("files").focus(); });
form.addEventListener("submit", send);
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", (event) => { if (event.relatedTarget === null) document.body.classList.remove("over"); });
addEventListener("drop", drop);
