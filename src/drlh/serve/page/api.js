// The server's answers. Addresses are relative, so the page also works below a path of a proxy.

export class Failure extends Error {
  constructor(status, sentence, wait = null) {
    super(sentence);
    this.status = status; // 0: no answer at all
    this.wait = wait; // seconds the server asks to wait
  }
}

// Pictures that were dropped live as long as the page does.
const uploads = new Map();

export function keepUpload(file) {
  const name = String(uploads.size + 1);
  uploads.set(name, { file, address: URL.createObjectURL(file) });
  return name;
}

export const uploadOf = (name) => uploads.get(name);

export const local = (path) => path.replace(/^\//, "");

export async function ask(path, { body = null, signal = null } = {}) {
  const options = { signal };
  if (body instanceof FormData) Object.assign(options, { method: "POST", body });
  else if (body) {
    const headers = { "Content-Type": "application/json" };
    Object.assign(options, { method: "POST", body: JSON.stringify(body), headers });
  }
  const answer = await reach(path, options);
  const value = await bodyOf(answer);
  if (answer.ok) return value;
  const wait = Number.parseInt(answer.headers.get("Retry-After"), 10);
  throw new Failure(answer.status, value.error ?? `The server answered ${answer.status}.`, wait || null);
}

async function bodyOf(answer) {
  try {
    return await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error; // the query was left while its answer came
    if (answer.ok) throw new Failure(0, "The server broke off its answer.");
    return {}; // a proxy's error, which has no sentence of ours
  }
}

async function reach(path, options) {
  try {
    const answer = await fetch(local(path), options);
    tell(true);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // A server that refuses a large upload may hang up before the browser has sent it all.
    if (options.body instanceof FormData && (await alive())) {
      throw new Failure(413, "The server broke off the upload; the picture may be too large.");
    }
    tell(false);
    throw new Failure(0, "The server does not answer.");
  }
}

export async function alive() {
  return fetch("healthz", { cache: "no-store" }).then((answer) => answer.ok, () => false);
}

function tell(answers) {
  document.dispatchEvent(new CustomEvent("server", { detail: answers }));
}

// One query, as an item of the collection or as a picture, with whatever else an endpoint takes.
function query(state, more) {
  const wanted = Object.entries(more).filter(([, value]) => value !== "" && value !== null);
  if (state.item !== null) return { id: Number(state.item), ...Object.fromEntries(wanted) };
  const form = new FormData();
  const { file } = uploads.get(state.upload);
  form.append("image", file, file.name || "pasted");
  for (const [name, value] of wanted) form.append(name, value);
  return form;
}

export const search = (state, signal) =>
  ask("search", { body: query(state, { k: state.k, label: state.label }), signal });

export const compare = (state, label, signal) => ask("compare", { body: query(state, { k: state.k, label }), signal });

export const walk = (state, signal) =>
  state.item !== null ? ask(`walk/${state.item}`, { signal }) : ask("walk", { body: query(state, {}), signal });
