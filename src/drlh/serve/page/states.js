// What is shown while there is nothing, not yet, or not any more.
import { make } from "./element.js";

const TITLES = {
  0: "The server does not answer",
  404: "There is no such item",
  413: "This picture is too large",
  415: "This is not a picture",
  422: "This cannot be read",
  429: "Too many requests at once",
  503: "The server is not ready yet",
};
const HINTS = {
  0: "It may have been stopped. Once it runs again, this page goes on by itself.",
  413: "Make it smaller and try again.",
  415: "Choose a PNG, a JPEG or another image file.",
  422: "The file may be damaged; open it elsewhere and save it again.",
};

const title = (status) => TITLES[status] ?? (status >= 500 ? "The server failed" : "That did not work");

export function failed(error, again = null) {
  const status = error.status ?? -1;
  const button = again && make("button", { type: "button", onclick: again }, "Try again");
  if (button && error.wait) holdBack(button, error.wait);
  const hint = HINTS[status] && make("p", { class: "faint" }, HINTS[status]);
  const said = status === 0 ? null : make("p", {}, asSentence(error.message)); // the title says it all
  const heading = [face("!"), make("h3", {}, title(status))];
  return make("div", { class: "state failed", role: "alert", "data-status": status }, ...heading, said, hint, button);
}

const asSentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

// Pressing sooner than the server asks would only be refused again.
function holdBack(button, seconds) {
  button.disabled = true;
  let left = Math.min(seconds, 120);
  const tick = () => {
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    button.disabled = left > 0;
    if (left-- > 0) setTimeout(tick, 1000);
  };
  tick();
}

export function empty(heading, ...text) {
  return make("div", { class: "state" }, face("∅"), make("h3", {}, heading), make("p", {}, ...text));
}

const face = (sign) => make("span", { class: "face", "aria-hidden": "true" }, sign);

export function remark(text) {
  return make("p", { class: "remark" }, text);
}

export function skeletons(number, kind) {
  return Array.from({ length: number }, () => make("span", { class: `skeleton ${kind}`, "aria-hidden": "true" }));
}
