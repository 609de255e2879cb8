// An operator and an on-call engineer: the fleet, one node, provisioning, PDCIs, alerts; actions with their count typed; what strangers wrote is text.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("operator");
const {page} = walk;
const title = () => page.getByRole("heading", {level: 1}).textContent();
const rows = (label) => page.getByRole("grid", {name: label}).getByRole("row");
const filter = (words) => page.getByLabel("Filter").fill(words);
const row = (label, text) => rows(label).filter({hasText: text}).first();
const dialog = page.getByRole("dialog");

async function door() {
  await walk.open("/nodes?q=state:free");
  await page.getByLabel("Account").fill("olga");
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", {name: "Log in", exact: true}).click();
  await page.getByRole("alert").waitFor();
  await walk.look("login");
  await walk.logIn("olga");
  need((await title()) === "Nodes" && page.url().endsWith("/nodes?q=state:free"), "the link that was asked for is kept");
}

async function fleet() {
  await filter("");
  await until("the whole fleet is counted", async () => (await page.locator(".head .about").textContent()).replace(/\s/g, "").startsWith(`${facts.nodes}nodes`));
  need((await rows("Nodes").count()) < 80, "only rows in sight are drawn");
  const least = (await page.getByRole("grid", {name: "Nodes"}).evaluate((grid) => grid.scrollHeight)) / 33;
  need(least >= facts.nodes, `the grid is as long as the fleet: ${least}`);
  await walk.look("nodes");
  await page.getByRole("grid", {name: "Nodes"}).focus();
  await page.keyboard.press("/");
  await page.keyboard.type("state:free class:gpu8 -r01");
  await until("the filter holds", async () => (await rows("Nodes").allTextContents()).slice(1).every((text) => text.includes("free") && text.includes("gpu8")));
  need((await page.locator(".command code").last().textContent()) === "haasctl node list --where 'state:free class:gpu8 -r01'", "the command line follows");
  await page.getByRole("columnheader", {name: "Node"}).getByRole("button").click();
  await page.getByRole("columnheader", {name: "Node"}).getByRole("button").click();
  const first = await rows("Nodes").nth(1).textContent();
  need(first.startsWith("gpu-4995"), `sorted downwards: ${first}`);
  await filter("");
  const grid = page.getByRole("grid", {name: "Nodes"});
  await grid.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("End");
  await until("the last row was chosen", async () => (await page.getByRole("region", {name: "Chosen"}).textContent()).includes("gpu-0001"));
  await page.keyboard.press("Home");
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press(" ");
    await page.keyboard.press("ArrowDown");
  }
  await page.getByText("3 picked").waitFor();
  await walk.look("nodes-picked");
  await page.getByText("Columns", {exact: true}).click();
  await page.getByLabel("Serial").check();
  await page.getByRole("heading", {level: 1}).click();
  need(!(await page.getByLabel("Serial").isVisible()), "a menu closes when one looks elsewhere");
  await page.reload();
  await page.getByRole("columnheader", {name: "Serial"}).waitFor();
  await filter("no such node");
  await page.getByText("No node has these words").waitFor();
  await walk.look("nodes-empty", {narrow: false});
}

async function powers() {
  await walk.open("/nodes?at=gpu-0006");
  const panel = page.getByRole("region", {name: "Chosen"});
  await panel.getByRole("button", {name: "Power off…", exact: true}).click();
  const go = dialog.getByRole("button", {name: "Power off", exact: true});
  need(await go.isDisabled(), "a count has to be typed");
  await dialog.getByLabel("Type 1, the count of what goes").fill("2");
  need(await go.isDisabled(), "the wrong count");
  need((await dialog.locator("code").textContent()) === "haasctl node power off gpu-0006", "its command");
  await walk.look("dialog");
  await dialog.getByLabel("Type 1, the count of what goes").fill("1");
  await go.click();
  await dialog.getByRole("alert").waitFor();
  need((await dialog.textContent()).includes("gpu-0006"), "a refusal is told in the dialog, with its node");
  await walk.look("dialog-refused", {narrow: false});
  await page.keyboard.press("Escape");
  await walk.open("/nodes?at=gpu-0003&q=gpu-0066");
  await row("Nodes", "gpu-0066").click();
  await panel.getByRole("button", {name: "Hold", exact: true}).click();
  await dialog.getByLabel("Why").fill("its fan is loud");
  await dialog.getByRole("button", {name: "Hold", exact: true}).click();
  await until("the node is held, and says why", async () => (await panel.textContent()).includes("its fan is loud"));
  await walk.open("/nodes?at=gpu-0069&q=gpu-0069");
  await panel.getByRole("button", {name: "Inspect", exact: true}).click();
  need((await dialog.locator("code").textContent()) === "haasctl deployment create --plan inspect gpu-0069", "a plan begins here, by its command");
  await dialog.getByRole("button", {name: "Inspect", exact: true}).click();
  await until("it is asked for", async () => (await dialog.count()) === 0);
}

async function one() {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", {name: /^Find/}).fill("02:00:00:00:00:01");
  await page.getByRole("listbox").getByRole("option").first().waitFor();
  await walk.look("palette");
  await page.keyboard.press("Enter");
  await until("the node is shown", async () => (await title()) === "gpu-0001");
  for (const text of ["lost_psu", "power supply 2 has no input", "is given to nobody", "leaf1:c1", "EPYC 9654", "2.0 TiB", "PSU 2", "reserved -> active"]) {
    await page.getByText(text).first().waitFor();
  }
  const script = page.getByText(facts.script, {exact: false});
  need((await script.count()) >= 2, "what the agent and a person wrote is text, not a script");
  await walk.look("node");
}

async function work() {
  await page.locator("main").focus().catch(() => undefined);
  await page.getByRole("link", {name: /^Provisioning/}).click();
  await page.getByLabel("Wall of install").waitFor();
  // Those of the site, and the inspection that powers() began.
  need((await page.locator(".cell").count()) === 62 + 1, `a cell each: ${await page.locator(".cell").count()}`);
  await walk.look("deployments");
  await page.locator(".cell.wait").first().click();
  const panel = page.getByRole("region", {name: "Chosen"});
  await panel.getByText("the BMC does not answer").waitFor();
  await panel.getByText("look at its power, cable and address").waitFor();
  await walk.look("deployments-waits");
  const failed = await page.locator(".cell.fail").count();
  await page.getByRole("button", {name: `Clear ${failed}`, exact: true}).click();
  await dialog.getByRole("button", {name: "Clear", exact: true}).click();
  await until("those that failed are put aside", async () => (await page.locator(".cell.fail").count()) === 0);
}

async function rented() {
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await until("g p goes to the PDCIs", async () => (await title()) === "PDCIs");
  await row("PDCIs", "infeasible").waitFor();
  await walk.look("pdcis");
  await page.getByRole("link", {name: "train1"}).click();
  await page.getByRole("table").waitFor();
  await walk.look("pdci");
  await page.getByRole("button", {name: "Lock", exact: true}).click();
  await dialog.getByRole("button", {name: "Lock", exact: true}).click();
  await page.getByRole("button", {name: "Unlock", exact: true}).waitFor();
  need(await page.getByRole("button", {name: "Release…", exact: true}).isDisabled(), "locked");
}

async function onCall() {
  await page.getByRole("button", {name: "Log out", exact: true}).click();
  await walk.logIn("oscar");
  await walk.open("/");
  await until("on-call lands on alerts", async () => (await title()) === "Alerts");
  await row("Alerts", "lost a power supply").click();
  await walk.look("alerts");
  const panel = page.getByRole("region", {name: "Chosen"});
  await panel.getByRole("button", {name: "Acknowledge", exact: true}).click();
  await dialog.getByRole("button", {name: "Acknowledge", exact: true}).click();
  await until("it is taken", async () => (await panel.textContent()).includes("taken by oscar"));
  await page.getByLabel("Filter").fill("planned");
  await row("Alerts", "a host that nobody planned").click();
  await panel.getByText(facts.script, {exact: false}).first().waitFor();
  await panel.getByRole("button", {name: "Silence", exact: true}).click();
  await dialog.getByLabel("Why").fill("its owner comes tomorrow");
  await walk.look("silence", {narrow: false});
  await dialog.getByRole("button", {name: "Silence", exact: true}).click();
  await page.getByRole("region", {name: "Silences"}).getByText("its owner comes tomorrow").waitFor();
  await until("it is silent", async () => (await row("Alerts", "a host that nobody planned").count()) === 0);
  await walk.open("/nodes/gpu-0066");
  await page.getByText("its fan is loud").first().waitFor();
  need((await page.getByRole("button", {name: "Unhold", exact: true}).count()) === 0, "an on-call engineer is shown no button that is refused");
  await page.keyboard.press("?");
  await walk.look("keys", {narrow: false});
}

for (const part of [door, fleet, powers, one, work, rented, onCall]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/operator-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
