// A browser as a person has it: one tab in sight, all others hidden. By the browser's own protocol over a pipe: playwright shows each page as one in sight.
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {facts, need} from "./walk.mjs";

/** One tab. `evaluate` runs an expression in the page itself, not in a world beside it. */
class Tab {
  constructor(browser, id, session) {
    Object.assign(this, {browser, id, session, gone: false});
  }

  send(method, words) {
    return this.browser.send(method, words, this.session);
  }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});
    need(!exceptionDetails, `${expression.slice(0, 80)}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  }

  go(path) {
    return this.send("Page.navigate", {url: facts.url + path});
  }

  /** In sight; the one before is hidden. */
  show() {
    return this.browser.send("Target.activateTarget", {targetId: this.id});
  }

  close() {
    this.gone = true;
    return this.browser.send("Target.closeTarget", {targetId: this.id});
  }

  /** Its process dies at once, and with it each tab that shares the process. */
  crash() {
    void this.send("Page.crash").catch(() => undefined);
  }
}

export class Background {
  tabs = [];
  complaints = [];
  number = 0;
  waiting = new Map();

  /** `script` runs in each document before the page. `processes`: how many tabs are spread over. */
  static async begin(script, processes) {
    const browser = new Background();
    browser.script = script;
    browser.home = mkdtempSync(join(tmpdir(), "haas-tabs-"));
    const words = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-component-update", "--disable-background-networking", "--mute-audio",
      "--ignore-certificate-errors", "--remote-debugging-pipe", `--renderer-process-limit=${processes}`, `--user-data-dir=${browser.home}`, "about:blank"];
    browser.program = spawn(facts.chromium, words, {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
    let rest = "";
    browser.program.stdio[4].setEncoding("utf8").on("data", (part) => {
      const messages = (rest + part).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.hear(JSON.parse(message));
    });
    await browser.send("Target.setDiscoverTargets", {discover: true});
    return browser;
  }

  hear({id, method, params, result, error}) {
    const wait = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) wait?.no(new Error(`${wait.method}: ${error.message}`));
    else wait?.yes(result);
    if (method === "Target.targetCrashed") for (const tab of this.tabs) tab.gone ||= tab.id === params.targetId;
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.number;
    return new Promise((yes, no) => {
      this.waiting.set(id, {method, yes, no});
      this.program.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    });
  }

  async open(path) {
    const {targetId} = await this.send("Target.createTarget", {url: "about:blank", background: this.tabs.length > 0});
    const {sessionId} = await this.send("Target.attachToTarget", {targetId, flatten: true});
    const tab = new Tab(this, targetId, sessionId);
    this.tabs.push(tab);
    await Promise.all([tab.send("Page.enable"), tab.send("Runtime.enable"), tab.send("Page.addScriptToEvaluateOnNewDocument", {source: this.script})]);
    await tab.go(path);
    return tab;
  }

  /** Those that are neither closed nor dead. */
  get alive() {
    return this.tabs.filter((tab) => !tab.gone);
  }

  /** The same asked of each. */
  ask(expression, tabs = this.alive) {
    return Promise.all(tabs.map((tab) => tab.evaluate(expression)));
  }

  async end() {
    const ended = new Promise((resolve) => this.program.once("exit", resolve));
    await this.send("Browser.close");
    await ended;
    rmSync(this.home, {recursive: true, force: true});
    need(this.complaints.length === 0, `complaints of the browser:\n${this.complaints.slice(0, 5).join("\n")}`);
  }
}
