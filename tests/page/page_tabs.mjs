// 200 real tabs, one in sight: each a page of its own, with the page's own code. One of them reads the stream. It is closed, loads anew, or its process dies:
// another goes on.
import {Background} from "./background.mjs";
import {facts, need, until} from "./walk.mjs";

// What comes to a tab, at the edge of the browser: by its own stream, or by the channel of the tab that reads it.
const SCRIPT = `
window.came = [];
window.comes = (event) => event?.kind === "test.told" && window.came.push(event.subject);
window.EventSource = class extends EventSource {
  constructor(...words) {
    super(...words);
    window.stream = this;
    this.addEventListener("message", (message) => window.comes(JSON.parse(message.data)));
  }
};
window.BroadcastChannel = class extends BroadcastChannel {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", (message) => window.comes(message.data.event));
  }
};`;
const PLACES = ["/nodes?q=gpu-0068", "/alerts", "/pdcis", "/jobs"];
const LIVE = `document.querySelector(".head .live")?.textContent`;
const READS = "window.stream !== undefined && window.stream.readyState !== EventSource.CLOSED";
const ALERTS = `document.querySelector('.side a[href="/alerts"] .count')?.textContent`;
const GRID = `document.querySelector("[role=grid]")?.textContent ?? ""`;
const LOGIN = JSON.stringify({account: "olga", password: facts.password, cookie: true});
/** Ten tabs a process: what dies takes nine others with it. Without a limit the same tabs want three times the memory. */
const PROCESSES = facts.tabs / 10;
/** A connection of HTTP/1.1 each; one of them is the stream. */
const CONNECTIONS = 6;
/** What a tab in sight asks for while a PDCI is built, doubled. */
const RATE = 1;
/** A change: what the tab in sight reads anew, and another that comes into sight. Not something for each of 200. */
const READ_FOR_CHANGE = 40;
/** As tests/bench/sse has it for 1,000 streams. */
const PORTALD_KB = 65536;
const QUIET_MS = 10000;

const browser = await Background.begin(SCRIPT, PROCESSES);
const happen = async (what) => (await fetch(facts.control + what)).json();
const all = async (expression, value) => (await browser.ask(expression)).every((one) => one === value);
let before;

async function readers() {
  const tabs = browser.alive;
  const reads = await browser.ask(READS, tabs);
  return tabs.filter((_, number) => reads[number]);
}

async function one(when) {
  const now = {...await happen("/facts"), ...await happen("/weight")};
  console.log(`${when}: ${browser.alive.length} tabs in ${now.processes} processes of ${(now.kb / 1e6).toFixed(1)} GB; portald has ${now.portaldKb - before.portaldKb} kB more`);
  need(now.streams === 1 && (await readers()).length === 1, `${when}: one stream: ${now.streams}`);
  need(now.connections <= CONNECTIONS, `${when}: connections of the browser: ${now.connections}`);
  need(now.portaldKb - before.portaldKb <= PORTALD_KB, `${when}: portald grew by ${now.portaldKb - before.portaldKb} kB`);
}

async function open() {
  const first = await browser.open("/login");
  before = await happen("/facts");
  need(before.streams === 0, "no stream yet");
  await until("it is let in", () => first.evaluate(`fetch("/api/v1/login", {method: "POST", headers: {"Content-Type": "application/json"}, body: ${JSON.stringify(LOGIN)}}).then((answer) => answer.ok)`));
  await first.go("/alerts");
  const more = async () => {
    while (browser.tabs.length < facts.tabs) await browser.open(PLACES[browser.tabs.length % PLACES.length]);
  };
  await Promise.all([more(), more(), more()]);
  await until("each tab is live", () => all(LIVE, "live"), 60);
  need(browser.alive.length === facts.tabs, `${browser.alive.length} tabs`);
  need((await browser.ask("document.visibilityState")).filter((state) => state === "visible").length === 1, "one tab is in sight");
  await one("all are open");
}

/** Nothing happens: the tab in sight asks, and no other. */
async function quiet() {
  const {requests} = await happen("/facts");
  const began = Date.now();
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const rate = 1000 * ((await happen("/facts")).requests - requests) / (Date.now() - began);
  console.log(`${rate.toFixed(1)} requests a second of ${browser.alive.length} tabs`);
  need(rate > 0 && rate <= RATE, `requests a second: ${rate}`);
}

/** Each tab shows it, most of them without a request. */
async function change() {
  const {requests} = await happen("/facts");
  const [shown] = await browser.ask(ALERTS);
  const began = Date.now();
  await happen("/change");
  await until("each shows one alert more", () => all(ALERTS, String(Number(shown) + 1)));
  console.log(`each shows a change after ${Date.now() - began} ms`);
  const list = browser.alive[PLACES.length * 7];
  await list.show();
  await until("a hidden list is read when it comes into sight", async () => (await list.evaluate(GRID)).includes("broken"));
  const asked = (await happen("/facts")).requests - requests;
  console.log(`${asked} requests for it`);
  need(asked <= READ_FOR_CHANGE, `requests for a change: ${asked}`);
}

const ENDS = {
  "is closed": (tab) => tab.close(),
  "loads anew": (tab) => tab.send("Page.reload"),
  "dies with its process": (tab) => tab.crash(),
};
const TIMES = 2;

/** While events come, the tab that reads them ends: nothing is lost, and nothing is out of order. */
async function ends() {
  const anew = new Set();
  await happen("/drip");
  for (const how of Array.from({length: TIMES}, () => Object.keys(ENDS)).flat()) {
    let [reader, more] = [];
    await until("one tab reads", async () => ([reader, more] = await readers()) && reader !== undefined && more === undefined);
    const other = browser.alive.findLast((tab) => tab !== reader && !anew.has(tab));
    const came = await other.evaluate("window.came.length");
    await until(`events come before it ${how}`, async () => (await other.evaluate("window.came.length")) >= came + 20);
    if (how === "loads anew") anew.add(reader);
    await ENDS[how](reader);
    if (how.startsWith("dies")) await until("it is dead", async () => reader.gone);
    await until(`another reads when one ${how}`, async () => (await readers()).some((tab) => tab !== reader));
  }
  const {told, lasted} = await happen("/dripped");
  need(lasted, "events came until the last has ended");
  await until("each has the last", () => all("window.came.at(-1)", told.at(-1)));
  let twice = 0;
  for (const tab of browser.alive) {
    const came = await tab.evaluate("window.came");
    const once = [...new Set(came)];
    const wanted = anew.has(tab) ? told.slice(-once.length) : told;
    twice += came.length - once.length;
    need(once.join(" ") === wanted.join(" "), `lost or out of order: ${once.length} of ${wanted.length}, ${once.find((one, number) => one !== wanted[number])} instead of ${wanted.find((one, number) => one !== once[number])}`);
  }
  console.log(`${told.length} events, ${twice} came a second time to one of ${browser.alive.length} tabs`);
  await until("each tab is live", () => all(LIVE, "live"), 60);
  await one("some have ended");
}

async function none() {
  await Promise.all(browser.alive.map((tab) => tab.close()));
  await until("it ends with the last of them", async () => (await happen("/facts")).streams === 0);
}

for (const part of [open, quiet, change, ends, none]) {
  const began = Date.now();
  await part().catch(async (error) => {
    console.log(`${part.name}: ${error.stack}\n${browser.complaints.join("\n")}\n${JSON.stringify(await happen("/facts"))}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await browser.end();
