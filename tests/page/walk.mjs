// The browser of the page's stories: one walk through screens, each looked at in both schemes by axe, with the strict CSP listening, and kept as a picture.
import {createRequire} from "node:module";
import {mkdirSync, readFileSync} from "node:fs";

export const facts = JSON.parse(process.env.PAGE_FACTS);
const require = createRequire(`${facts.work}/`);
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** What another scheme can change: the document is the same. */
const COLOURS = ["color-contrast", "link-in-text-block"];
let checks = 0;
// Waits end what hangs, and promise nothing of the product: they are said for a quick machine.
const PATIENCE = 4;
const HACKED = "a script of a stranger ran";

export function need(good, what) {
  checks++;
  if (!good) throw new Error(`FAILED: ${what}`);
}

/** True within `seconds`, or the walk ends. Long enough for a busy machine: nothing here is a promise of the product. */
export async function until(what, fn, seconds = 30) {
  const end = Date.now() + PATIENCE * seconds * 1000;
  for (;;) {
    if (await fn().catch(() => false)) return need(true, what);
    if (Date.now() > end) need(false, `in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Walk {
  complaints = [];

  static async begin(name) {
    const walk = new Walk();
    walk.name = name;
    mkdirSync(facts.pictures, {recursive: true});
    walk.browser = await chromium.launch({executablePath: facts.chromium, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"]});
    walk.context = await walk.browser.newContext({ignoreHTTPSErrors: true, viewport: {width: 1280, height: 800}, reducedMotion: "reduce", permissions: ["clipboard-write"]});
    // In each document of each tab: what the policy stops, and a script of a stranger at the moment that it runs. axe runs in a world of its own: the page's
    // policy lets no foreign script in.
    await walk.context.addInitScript((word) => {
      document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
      Object.defineProperty(window, "hacked", {get: () => undefined, set: (value) => console.error(`${word}: ${value}`)});
    }, HACKED);
    walk.context.on("console", (message) => {
      // An answer of 4xx that the walk asked for is the browser's own line.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) walk.complaints.push(message.text());
    });
    walk.context.on("weberror", (error) => walk.complaints.push(`${error.error()}\n${error.error().stack}`));
    walk.context.setDefaultTimeout(PATIENCE * 30000);
    walk.page = await walk.context.newPage();
    await walk.listens();
    return walk;
  }

  /** What is listened for is heard: of a second tab, in a document that is gone at once. */
  async listens() {
    const probe = await this.context.newPage();
    await probe.goto(`${facts.url}/login`);
    await probe.evaluate(() => void (window.hacked = "a probe"));
    await probe.evaluate(() => void setTimeout(() => { throw new Error("a probe of errors"); }));
    await until("a script and an error in another tab are heard", async () => this.complaints.length === 2);
    need(this.complaints[0] === `${HACKED}: a probe` && this.complaints[1].includes("a probe of errors"), `they are told: ${this.complaints}`);
    await probe.close();
    this.complaints.length = 0;
  }

  /** Once more where Chromium gives up: behind a restart of portald all of its kept connections are dead, and it tries only a few of them. */
  async open(path) {
    const dead = (error) => need(error.message.includes("ERR_TOO_MANY_RETRIES"), error.message);
    await this.page.goto(facts.url + path).catch((error) => { dead(error); return this.page.goto(facts.url + path); });
  }

  async logIn(account, password = facts.password) {
    await this.page.getByLabel("Account").fill(account);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", {name: "Log in"}).click();
    await this.page.getByRole("navigation", {name: "Screens"}).waitFor();
  }

  /** The violations of axe, of these rules or of all. By the protocol: neither eval nor a script element, which the policy forbids. */
  async axe(rules) {
    if (this.lookedAt !== this.page) this.session = await this.context.newCDPSession(this.page);
    this.lookedAt = this.page;
    const session = this.session;
    const {frameTree} = await session.send("Page.getFrameTree");
    const {executionContextId} = await session.send("Page.createIsolatedWorld", {frameId: frameTree.frame.id, worldName: "axe"});
    const {result: there} = await session.send("Runtime.evaluate", {expression: "typeof axe", contextId: executionContextId});
    if (there.value === "undefined") await session.send("Runtime.evaluate", {expression: axe, contextId: executionContextId});
    const {result, exceptionDetails} = await session.send("Runtime.evaluate", {
      expression: `axe.run(document, ${JSON.stringify({resultTypes: ["violations"], ...(rules && {runOnly: {type: "rule", values: rules}})})}).then((r) => JSON.stringify(r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? n.failureSummary)).slice(0, 4).join("; "))))`,
      contextId: executionContextId, awaitPromise: true, returnByValue: true,
    });
    need(!exceptionDetails, `axe runs: ${JSON.stringify(exceptionDetails)}`);
    return JSON.parse(result.value);
  }

  /** This screen in both schemes, and narrow: no violation, and a picture of each. */
  async look(name, {narrow = true} = {}) {
    const found = [];
    for (const scheme of ["light", "dark"]) {
      await this.page.emulateMedia({colorScheme: scheme});
      found.push(...(await this.axe(scheme === "dark" ? COLOURS : undefined)).map((one) => `${name} ${scheme}: ${one}`));
      await this.page.screenshot({path: `${facts.pictures}/${this.name}-${name}-${scheme}.png`});
    }
    if (narrow) {
      await this.page.setViewportSize({width: 390, height: 800});
      await until("the narrow screen is drawn", async () => (await this.page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
      found.push(...(await this.axe()).map((one) => `${name} narrow: ${one}`));
      found.push(...(await this.outOfReach()).map((one) => `${name} narrow: out of reach: ${one}`));
      await this.page.screenshot({path: `${facts.pictures}/${this.name}-${name}-narrow.png`});
      await this.page.setViewportSize({width: 1280, height: 800});
    }
    await this.page.emulateMedia({colorScheme: "light"});
    this.violations = [...(this.violations ?? []), ...found];
  }

  /** Links and buttons that lie beyond the edge where nothing scrolls. The head of a table is there for readers of the screen alone. */
  outOfReach() {
    return this.page.evaluate(() => [...document.querySelectorAll("a, button, input, select")].filter((one) => {
      if (!one.checkVisibility() || one.closest("[role=columnheader]") || one.getBoundingClientRect().right <= innerWidth + 1) return false;
      for (let above = one.parentElement; above; above = above.parentElement) if (/auto|scroll/.test(getComputedStyle(above).overflowX) && above.scrollWidth > above.clientWidth) return false;
      return true;
    }).map((one) => one.textContent || one.getAttribute("aria-label") || one.tagName).slice(0, 5));
  }

  async end() {
    await this.browser.close();
    need(this.complaints.length === 0, `complaints of the browser:\n${this.complaints.join("\n")}`);
    need(!this.violations?.length, `axe:\n${this.violations?.join("\n")}`);
    console.log(`${this.name}: ${checks} checks`);
  }
}
