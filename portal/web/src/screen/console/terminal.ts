// The terminal: xterm, on this screen alone. What the node says is bytes for it; nothing of it becomes HTML.
import {Terminal} from "@xterm/xterm";

/** As serial consoles have it: nobody tells a node another size. */
const COLUMNS = 80;
const ROWS = 24;
const KEPT_LINES = 5000;

/** xterm's style sheets as the policy of the page allows them (no inline style): made by script, adopted by the document. */
function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet();
  const element = document.createElement("span");
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", {set: (css: string) => sheet.replaceSync(css)});
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

/** The same for a cell with a colour of its own. The policy would refuse the attribute; it allows what script sets. */
function allowCellStyles(): () => void {
  HTMLSpanElement.prototype.setAttribute = function (this: HTMLSpanElement, name: string, value: string) {
    if (name === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
  return () => void delete (HTMLSpanElement.prototype as Partial<HTMLSpanElement>).setAttribute;
}

const ownDocument = () =>
  new Proxy(document, {
    get(target, name) {
      if (name === "createElement") return (word: string) => (word === "style" ? sheetElement() : target.createElement(word));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });

/** A colour of scale.css, as the scheme has it now. */
function colourOf(box: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  box.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function themeOf(box: HTMLElement) {
  const text = colourOf(box, "text");
  return {background: colourOf(box, "panel"), foreground: text, cursor: text, cursorAccent: colourOf(box, "panel"), selectionBackground: colourOf(box, "work-back")};
}

export interface Screen {
  /** Begins anew: what comes next is all that is kept. */
  begin: () => void;
  say: (bytes: Uint8Array) => void;
  /** Whether one only looks. */
  look: (only: boolean) => void;
  end: () => void;
}

/** `typed` gets what is pressed, unless one only looks; Ctrl+] is for `leave`, since Tab is the node's. */
export function openTerminal(box: HTMLElement, typed: (text: string) => void, leave: () => void): Screen {
  const terminal = new Terminal({
    cols: COLUMNS, rows: ROWS, scrollback: KEPT_LINES, disableStdin: true, cursorBlink: false, documentOverride: ownDocument(),
    fontFamily: getComputedStyle(box).fontFamily, fontSize: 13, minimumContrastRatio: 4.5, theme: themeOf(box),
    // A link that a node prints is text: nobody is led away by it.
    linkHandler: {activate: () => undefined},
  });
  const forbid = allowCellStyles();
  terminal.open(box);
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.key !== "]" || !event.ctrlKey) return true;
    if (event.type === "keydown") leave();
    return false;
  });
  terminal.onData(typed);
  terminal.onBinary(typed);
  const scheme = new MutationObserver(() => (terminal.options.theme = themeOf(box)));
  scheme.observe(document.documentElement, {attributes: true});
  const machine = matchMedia("(prefers-color-scheme: dark)");
  const repaint = () => (terminal.options.theme = themeOf(box));
  machine.addEventListener("change", repaint);
  return {
    begin: () => terminal.reset(),
    say: (bytes) => terminal.write(bytes),
    look: (only) => {
      terminal.options.disableStdin = only;
      if (!only) terminal.focus();
    },
    end: () => {
      scheme.disconnect();
      machine.removeEventListener("change", repaint);
      terminal.dispose();
      forbid();
    },
  };
}
