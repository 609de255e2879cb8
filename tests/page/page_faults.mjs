// What goes wrong around the page: a second factor, a database that is away, a portald that was killed, a browser that slept, a tab that is closed, the stream of 200 tabs, a node that is gone.
import {createRequire} from "node:module";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("faults");
const {page} = walk;
const happen = async (what) => (await fetch(facts.control + what)).json();
const title = (of = page) => of.getByRole("heading", {level: 1}).textContent();
const live = (of = page) => of.locator(".head .live");

async function factor() {
  await walk.open("/alerts");
  await page.getByLabel("Account").fill("tom");
  await page.getByLabel("Password").fill(facts.password);
  await page.getByRole("button", {name: "Log in"}).click();
  await page.getByLabel(/^Code/).fill("000000");
  await page.getByRole("button", {name: "Log in"}).click();
  await page.getByRole("alert").waitFor();
  await walk.look("code");
  await page.getByLabel(/^Code/).fill((await happen("/code")).code);
  await page.getByRole("button", {name: "Log in"}).click();
  await until("a code lets in", async () => (await title()) === "Alerts");
}

async function database() {
  await page.getByRole("grid", {name: "Alerts"}).getByText("lost a power supply").waitFor();
  await happen("/database/stop");
  await until("it says since when it is stale", async () => /stale since \d\d:\d\d:\d\d/.test(await live().textContent()), 20);
  need((await page.getByRole("grid", {name: "Alerts"}).textContent()).includes("lost a power supply"), "what was read stays");
  await walk.look("away");
  await page.getByRole("button", {name: "Log out", exact: true}).click();
  await page.getByText("You are still logged in").waitFor();
  need((await title()) === "Alerts", "a logout that failed is no logout");
  await walk.look("still-in");
  await page.getByRole("button", {name: "Stay"}).click();
  await walk.open("/pdcis");
  await until("what was never read says why", async () => (await page.getByRole("alert").count()) > 0, 20);
  await walk.look("away-refused", {narrow: false});
  await happen("/database/start");
  await until("it comes back by itself", async () => (await page.getByRole("grid", {name: "PDCIs"}).getByText("train1").count()) > 0, 30);
}

/** One thing that is shown, and one that was never read: stale, refused, and read again by a person's word. */
async function pdci() {
  await walk.open("/pdcis/web?tenant=globex");
  await page.getByRole("table").waitFor();
  await happen("/database/stop");
  await until("one PDCI says since when it is stale", async () => /stale since/.test(await live().textContent()), 20);
  need((await page.getByRole("table").count()) > 0, "its nodes stay");
  await walk.look("pdci-stale");
  await page.getByRole("link", {name: /^PDCIs/}).click();
  await walk.open("/pdcis/train1?tenant=acme");
  await page.getByRole("alert").waitFor();
  await walk.look("pdci-refused", {narrow: false});
  await happen("/database/start");
  await page.getByRole("button", {name: "Try again", exact: true}).click().catch(() => undefined); // it may have come back by itself
  await until("it is read again", async () => (await page.getByRole("table").count()) > 0, 30);
}

async function killed() {
  await walk.open("/nodes?q=gpu-0068");
  const grid = page.getByRole("grid", {name: "Nodes"});
  await grid.getByText("gpu-0068").first().waitFor();
  await until("it is live", async () => (await live().textContent()) === "live", 20);
  await happen("/portald/kill");
  await until("it is live no more", async () => (await live().textContent()) !== "live", 20);
  await happen("/portald/start");
  await until("it is live again, by the same login", async () => (await live().textContent()) === "live", 30);
  await happen("/break");
  await until("and hears what happens", async () => (await grid.textContent()).includes("broken"), 20);
}

/** Its machine slept for an hour: connections are gone, and more happened than portald keeps in memory. */
async function asleep() {
  const session = await walk.context.newCDPSession(page);
  await session.send("Network.enable");
  let again = 0;
  session.on("Network.eventSourceMessageReceived", (message) => (again += message.eventName === "again"));
  const begun = Date.now();
  await walk.open("/nodes?q=gpu-0070");
  const grid = page.getByRole("grid", {name: "Nodes"});
  await grid.getByText("gpu-0070").first().waitFor();
  await until("it is live", async () => (await live().textContent()) === "live", 20);
  need(again === 0 && !(await grid.textContent()).includes("broken"), "it missed nothing yet");
  await happen("/hour");
  await until("it is told to read anew", async () => again === 1, 30);
  await until("it shows what happened meanwhile", async () => (await grid.textContent()).includes("broken"), 20);
  await until("and is live", async () => (await live().textContent()) === "live", 20);
  console.log(`an hour asleep: ${Date.now() - begun} ms`);
  await session.detach();
}

async function tabs() {
  const other = await walk.context.newPage();
  await other.goto(`${facts.url}/nodes?q=gpu-0069`);
  await until("the second tab is live by the first one's stream", async () => (await live(other).textContent()) === "live", 20);
  await page.close();
  walk.page = other;
  await until("one stream is left", async () => (await happen("/streams")).streams === 1, 20);
  await until("the second tab reads it now", async () => (await live(other).textContent()) === "live", 20);
  await happen("/break-other");
  await until("and hears what happens", async () => (await other.getByRole("grid", {name: "Nodes"}).textContent()).includes("broken"), 20);
}

/** The part of the page that reads the stream, as 200 tabs have it: one reads, and whoever takes over loses nothing. */
async function many() {
  const require = createRequire(`${facts.work}/`);
  const {outputFiles} = require("esbuild").buildSync({entryPoints: [`${facts.work}/src/api/stream.ts`], bundle: true, format: "iife", globalName: "stream", write: false});
  const session = await walk.context.newCDPSession(walk.page);
  const {frameTree} = await session.send("Page.getFrameTree");
  const {executionContextId} = await session.send("Page.createIsolatedWorld", {frameId: frameTree.frame.id, worldName: "tabs"});
  const inside = async (expression) => {
    const {result, exceptionDetails} = await session.send("Runtime.evaluate", {expression, contextId: executionContextId, awaitPromise: true, returnByValue: true});
    need(!exceptionDetails, `${expression.slice(0, 80)}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const before = (await happen("/streams")).streams;
  await inside(`var tabs = Array.from({length: 200}, () => {
    ${outputFiles[0].text}
    const heard = [];
    stream.listen((event) => event.kind === "test.told" && heard.push(event.subject));
    return {...stream, heard};
  });
  fetch("/api/v1/nodes?limit=1").then((answer) => { for (const tab of tabs) tab.startStream("two hundred", answer.headers.get("Haas-Stream-Position")); })`);
  await until("all of them are live", () => inside("tabs.every((tab) => tab.live.value.on)"));
  need((await happen("/streams")).streams === before + 1, "by one stream");
  await happen("/tell");
  await until("each hears it", () => inside("tabs.every((tab) => tab.heard.length === 50)"));
  await happen("/drip");
  for (const [number, heard] of [[0, 100], [1, 200]]) {
    await until(`it goes on before tab ${number} ends`, () => inside(`tabs[199].heard.length > ${heard}`));
    await inside(`tabs[${number}].stopStream()`);
  }
  const {told} = await happen("/dripped");
  need(told.length === 450, `what was told: ${told.length}`);
  await until("198 are live", () => inside("tabs.slice(2).every((tab) => tab.live.value.on)"));
  await until("each heard all of it", () => inside(`tabs.slice(2).every((tab) => tab.heard.at(-1) === "${told.at(-1)}")`));
  const wrong = await inside(`tabs.slice(2).map((tab) => tab.heard.join(" ")).filter((text) => text !== ${JSON.stringify(told.join(" "))}).slice(0, 2)`);
  need(wrong.length === 0, `nothing lost, doubled or out of order: ${wrong}`);
  need((await happen("/streams")).streams === before + 1, "by one stream still");
  // One that takes over after a crash reads anew what some had heard already.
  await inside(`new BroadcastChannel("haas-two hundred").postMessage({id: "1-1", event: {kind: "test.told", subject: "twice"}})`);
  await happen("/tell");
  await until("each hears what comes after it", () => inside(`tabs.slice(2).every((tab) => tab.heard.length >= ${told.length} + 50)`));
  need(await inside(`tabs.slice(2).every((tab) => tab.heard.length === ${told.length} + 50)`), "what was heard is heard once");
  await inside("for (const tab of tabs) tab.stopStream()");
  await until("it ends with the last of them", async () => (await happen("/streams")).streams === before);
}

async function nowhere() {
  const here = walk.page;
  await walk.page.goto(`${facts.url}/nodes/gpu-9999`);
  await here.getByRole("alert").first().waitFor();
  await walk.look("node-nowhere", {narrow: false});
  need((await here.goto(`${facts.url}/nowhere`)).status() === 404, "an address without a screen");
}

for (const part of [factor, database, pdci, killed, asleep, tabs, many, nowhere]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await walk.page.screenshot({path: `${facts.pictures}/faults-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
