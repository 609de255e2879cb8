// A tenant: a one-time link, its PDCIs with their progress, its nodes, what is not its own, how it gives a PDCI back. Two tabs share one stream.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("tenant");
const {page} = walk;
const title = (of = page) => of.getByRole("heading", {level: 1}).textContent();
const dialog = page.getByRole("dialog");

async function link() {
  await walk.open(`/link#${facts.link}`);
  await page.getByLabel("New password").fill("a password of gus");
  await walk.look("link");
  await page.getByRole("button", {name: "Choose it"}).click();
  await until("the account stands there already", async () => (await page.getByLabel("Account").inputValue()) === "globex/gus");
  await walk.logIn("globex/gus", "a password of gus");
  await until("a tenant lands on its PDCIs", async () => (await title()) === "My PDCIs");
}

async function rented() {
  const grid = page.getByRole("grid", {name: "PDCIs"});
  await grid.getByText("web").first().waitFor();
  const text = await grid.textContent();
  need(text.includes("big") && !text.includes("acme") && !text.includes("train1"), "another tenant's PDCIs are not there");
  await grid.getByRole("row").filter({hasText: "infeasible"}).click();
  await page.getByText("4 of 64 nodes are missing").first().waitFor();
  await walk.look("pdcis");
  await grid.getByRole("link", {name: "web"}).click();
  await page.getByRole("table").waitFor();
  await until("its progress", async () => /\d+ %, about/.test(await page.getByRole("table").textContent()));
  await walk.look("pdci");
}

async function progress() {
  const row = page.getByRole("row").filter({hasText: "gpu-0015"});
  const before = await row.textContent();
  await fetch(facts.control + "/progress");
  await until("the share moves by itself", async () => (await row.textContent()) !== before && (await row.textContent()).includes("99 %"), 8);
  // What moves comes by the stream: while it is built nothing is read over and over.
  const asked = {};
  const count = (request) => {
    const path = new URL(request.url()).pathname;
    if (!path.endsWith("/stream")) asked[path] = (asked[path] ?? 0) + 1;
  };
  page.on("request", count);
  await page.waitForTimeout(5000);
  page.off("request", count);
  need(Object.entries(asked).every(([path, times]) => times <= (path.endsWith("/deployments") ? 3 : 1)), `read in five seconds: ${JSON.stringify(asked)}`);
}

async function nodes() {
  await page.getByRole("link", {name: /^My nodes/}).click();
  const grid = page.getByRole("grid", {name: "Nodes"});
  await grid.getByText("gpu-0001").waitFor();
  await page.getByLabel("Filter").fill("gpu-0002");
  await page.getByText("No node has these words").waitFor();
  await page.getByLabel("Filter").fill("");
  await walk.look("nodes");
  await walk.open("/nodes/gpu-0001");
  await page.getByText("EPYC 9654").waitFor();
  await walk.look("node");
  await walk.open("/nodes/gpu-0002");
  await page.getByRole("alert").first().waitFor();
  need(/no(t| such)/.test(await page.getByRole("alert").first().textContent()), "another tenant's node is not there");
  await walk.look("node-none", {narrow: false});
}

/** On a narrow screen: four links and More, which opens all of it until one goes somewhere. */
async function bar() {
  const screens = page.getByRole("navigation", {name: "Screens"});
  const narrow = () => page.setViewportSize({width: 390, height: 800});
  await walk.open("/pdcis");
  await narrow();
  await until("four links and More", async () => (await screens.getByRole("link").count()) === 4 && (await screens.getByRole("button").allTextContents()).join() === "More");
  need(await screens.evaluate((element) => element.scrollWidth <= element.clientWidth), "nothing is beside what is in sight");
  await screens.getByRole("button", {name: "More"}).click();
  await screens.getByRole("button", {name: "Log out"}).waitFor();
  await walk.look("more");
  await narrow();
  await screens.getByRole("link", {name: "My usage"}).click();
  await until("it goes there", async () => (await title()) === "My usage" && (await screens.getByRole("link").count()) === 4);
  await page.setViewportSize({width: 1280, height: 800});
  await walk.look("usage", {narrow: false});
}

async function stream() {
  const other = await walk.context.newPage();
  await other.goto(`${facts.url}/nodes?q=gpu-0001`);
  await other.getByText("live", {exact: true}).waitFor();
  await fetch(facts.control + "/break");
  await until("an event reaches the tab without a stream", async () => (await other.getByRole("grid").textContent()).includes("broken"), 8);
  const {streams} = await (await fetch(facts.control + "/streams")).json();
  need(streams === 1, `two tabs hold ${streams} streams`);
  await other.close();
}

/** Broken, it has a button for an operator: a tenant's page has its power and nothing else. */
async function broken() {
  await walk.open("/nodes/gpu-0001");
  await until("the node is broken here too", async () => (await page.locator(".numbers").textContent()).includes("broken"));
  await page.getByRole("button", {name: "Power on"}).waitFor();
  need((await page.getByRole("button", {name: /^(Accept|Hold|Unhold|Repaired)$/}).count()) === 0, "no button of an operator");
}

/** The node becomes another tenant's while its page is open: nothing of it stays. */
async function moved() {
  await page.getByText("EPYC 9654").waitFor();
  await fetch(facts.control + "/move");
  await until("it is not there any more", async () => /no(t| such)/.test(await page.getByRole("alert").first().textContent()), 15);
  const text = await page.locator("main").textContent();
  need(!text.includes("EPYC") && !text.includes("SN00001") && !text.includes("mainboard"), "what was read of it is gone from the page");
  await page.getByRole("navigation", {name: "Screens"}).getByRole("link", {name: /^My nodes/}).click();
  await until("nor is it in the list", async () => !(await page.getByRole("grid", {name: "Nodes"}).textContent()).includes("gpu-0001"), 20);
}

async function release() {
  await walk.open("/pdcis/web");
  await page.getByRole("button", {name: "Release…"}).click();
  const count = await dialog.locator(".names b").textContent();
  need(count === "31", `it says how many nodes go: ${count}`);
  await walk.look("release");
  await dialog.getByLabel("Type 31, the count of what goes").fill("31");
  await dialog.getByLabel("Why").fill("the project is over");
  await dialog.getByRole("button", {name: "Release", exact: true}).click();
  await page.getByText("releasing").first().waitFor();
}

async function over() {
  await fetch(facts.control + "/end");
  await until("a session that was ended leads to the door", async () => (await title()) === "Log in", 15);
}

for (const part of [link, rented, progress, nodes, bar, stream, broken, moved, release, over]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/tenant-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
