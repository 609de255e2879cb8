// Who runs the site: overview, tenants with limits, usage, people and their links, audit, settings; jobs, certificates, rotations, webhooks with their log. Two
// stories walk a part each.
import {readFileSync} from "node:fs";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("site");
const {page} = walk;
const happen = (what) => fetch(facts.control + what);
const title = () => page.getByRole("heading", {level: 1}).textContent();
const panel = page.getByRole("region", {name: "Chosen"});
const dialog = page.getByRole("dialog");
const grid = (label) => page.getByRole("grid", {name: label});
const row = (label, text) => grid(label).getByRole("row").filter({hasText: text}).first();
const press = (name, of = page) => of.getByRole("button", {name, exact: true}).click();
const line = (of = page) => of.locator(".command code").last().textContent();

/** Who comes second sees by whom, and of each member what it was, is now, and would be. */
async function changed(said, rows) {
  await until(`it says who: ${said}`, async () => said.test(await dialog.getByRole("alert").textContent()));
  for (const [name, cells] of Object.entries(rows)) {
    const text = await dialog.getByRole("alert").getByRole("row").filter({has: page.getByRole("rowheader", {name, exact: true})}).textContent();
    need(cells.test ? cells.test(text) : text === cells, `${name}: ${text}`);
  }
}

async function goes(key, name) {
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await until(`g ${key} goes to ${name}`, async () => (await title()) === name);
}

async function overview() {
  await walk.open("/");
  await walk.logIn("olga");
  await until("an operator lands on the overview", async () => (await title()) === "Overview");
  for (const text of ["the last backup is 3 days old", "gpu8", "infeasible", "install", /\d of \d heard/]) await page.getByText(text).first().waitFor();
  const needs = page.getByRole("region", {name: "What needs a person"});
  need(/^\/alerts\?at=\d+$/.test(await needs.getByRole("link", {name: "the last backup is 3 days old"}).getAttribute("href")), "what is wrong leads to what says why");
  await until("the whole fleet is counted", async () => (await page.locator(".numbers").textContent()).includes(String(facts.nodes)));
  need((await line()) === "haasctl status", "its command");
  await walk.look("overview");
  await fleet();
}

/** The fleet as an area: as many nodes as the table says, and each cell leads to its own. */
async function fleet() {
  const area = page.getByRole("figure", {name: "Nodes by class and use"});
  const cells = await area.locator("a.use").evaluateAll((list) => list.map((one) => ({name: one.getAttribute("aria-label"), href: one.getAttribute("href"), size: one.offsetWidth * one.offsetHeight})));
  const nodes = (text) => Number(text.replace(/\D/g, ""));
  const of = (text) => nodes(/ ([^ ]+) of /.exec(text)[1]);
  for (const row of await page.getByRole("region", {name: "Nodes by class"}).locator("tbody tr").all()) {
    const [name, rented, free, out, all] = await row.locator("td").allTextContents();
    const mine = cells.filter((cell) => cell.name.endsWith(` of class ${name}`));
    const sum = (list) => list.reduce((total, cell) => total + of(cell.name), 0);
    need(sum(mine) === nodes(all) && nodes(rented) + nodes(free) + nodes(out) === nodes(all), `cells and table of ${name}: ${sum(mine)}, ${all}`);
    need(sum(mine.filter((cell) => cell.name.startsWith("free "))) === nodes(free), `what is free of ${name}`);
    need(["acme", "globex", "free"].every((word) => mine.some((cell) => cell.name.startsWith(`${word} `))), `who has it: ${mine.map((cell) => cell.name)}`);
  }
  const sized = cells.filter((cell) => of(cell.name) >= 20).map((cell) => cell.size / of(cell.name));
  need(Math.max(...sized) < 1.5 * Math.min(...sized), `an area is a count: ${sized.map(Math.round)}`);
  await area.evaluate((one) => one.scrollIntoView({block: "center"}));
  await walk.look("overview-fleet", {narrow: false});
  await page.setViewportSize({width: 390, height: 800});
  await area.evaluate((one) => one.scrollIntoView({block: "center"}));
  await page.screenshot({path: `${facts.pictures}/site-overview-fleet-narrow.png`});
  await page.setViewportSize({width: 1280, height: 800});
  need((await area.locator("a[tabindex='0']").count()) === 1, "Tab takes one cell");
  for (const cell of cells.filter((one) => /^(acme|free|held) .* gpu8$/.test(one.name))) {
    await walk.open(cell.href);
    await until(`${cell.name} are listed`, async () => nodes((await page.locator(".head .about").textContent()).split("of")[0]) === of(cell.name));
    await page.goBack();
    await area.locator("a.use").first().waitFor();
  }
  await area.locator("a[tabindex='0']").focus();
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  need(/ of class gpu8$/.test(name), `arrows go from the class to a cell: ${name}`);
  await page.keyboard.press("Enter");
  await until("Enter opens its nodes", async () => (await title()) === "Nodes");
  await crowded(area, nodes, of);
}

/** Twenty tenants: those that have least are one cell, and that leads to all of theirs. */
async function crowded(area, nodes, of) {
  const list = /\/api\/v1\/nodes(\?|$)/;
  await page.route(list, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    await route.fulfill({response, json: {...json, items: json.items.map((one) => (one.tenant ? {...one, tenant: `t${Number(one.name.slice(4)) % 20}`} : one))}});
  });
  await walk.open("/overview");
  const rest = area.getByRole("link", {name: /^9 other tenants .* gpu8$/});
  await rest.waitFor();
  need((await area.getByRole("link", {name: /^t\d+ .* gpu8$/}).count()) === 11, "eleven by name");
  const want = of(await rest.getAttribute("aria-label"));
  await area.evaluate((one) => one.scrollIntoView({block: "center"}));
  await page.screenshot({path: `${facts.pictures}/site-overview-crowded.png`});
  await rest.click();
  await until("all of theirs are listed", async () => nodes((await page.locator(".head .about").textContent()).split("of")[0]) === want);
  await page.unrouteAll({behavior: "wait"});
}

async function tenants() {
  await goes("q", "Tenants");
  await press("New tenant");
  await dialog.getByRole("textbox", {name: "Name", exact: true}).fill("initech");
  need((await line(dialog)) === "haasctl tenant create initech", "the command follows");
  await walk.look("tenant-new", {narrow: false});
  await press("Create", dialog);
  await row("Tenants", "initech").waitFor();
  await row("Tenants", "globex").click();
  await panel.getByText("networks").first().waitFor();
  await walk.look("tenants");
  await panel.getByRole("row").filter({hasText: "networks"}).getByRole("button").click();
  await dialog.getByRole("textbox", {name: "At most", exact: true}).fill("many");
  await press("Set", dialog);
  await dialog.getByText('"many" is no limit').waitFor();
  await dialog.getByRole("textbox", {name: "At most", exact: true}).fill("12");
  need((await line(dialog)) === "haasctl tenant limit set globex --networks 12", `its command: ${await line(dialog)}`);
  await happen("/limit");
  await press("Set", dialog);
  await changed(/^A limit of globex was changed meanwhile by user root at \d\d:\d\d:\d\d;/, {images: "imagesno limit, by the site7no limit, by the site", networks: "networksno limit, by the siteno limit, by the site12"});
  await walk.look("limit-changed");
  await press("Keep mine where I changed it", dialog);
  await press("Set", dialog);
  await panel.getByRole("button", {name: "7", exact: true}).waitFor();
  await panel.getByRole("button", {name: "12", exact: true}).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", {name: /^Usage since/}).click()]);
  need(/^usage-globex-\d{4}-\d\d-01\.csv$/.test(file.suggestedFilename()) && readFileSync(await file.path(), "utf8").startsWith("tenant,"), "usage as CSV");
  await press("Delete…", panel);
  await dialog.getByRole("textbox", {name: "Type 1, the count of what goes", exact: true}).fill("1");
  await press("Delete", dialog);
  await dialog.getByRole("alert").waitFor();
  await walk.look("tenant-refused", {narrow: false});
  await press("Back", dialog);
}

/** A month that is over: whole hours, a row each tenant, one level down its PDCIs, and the same as CSV. */
async function usage() {
  await goes("z", "Usage");
  await page.getByText("Nothing was used in this time").waitFor();
  await walk.open("/usage?from=2026-01-01&to=2026-02-01");
  await until("all of it", async () => (await page.locator(".numbers").textContent()).startsWith("276 hof nodes"));
  const asked = await page.evaluate(() => performance.getEntriesByName(`${location.origin}/api/v1/whoami`).map((one) => one.initiatorType).join());
  need(asked === "link", `who it is was asked once, beside the code of the page: ${asked}`);
  need((await row("Usage", "acme").textContent()).includes("264 h") && (await row("Usage", "globex").textContent()).includes("12.0 h10.0 TiB h"), "a row each tenant");
  await walk.look("usage");
  await row("Usage", "acme").getByRole("link").click();
  await until("one level down", async () => (await row("Usage", "eval").textContent()).includes("240 h"));
  await row("Usage", "train1").click();
  await panel.getByText("gpu-0004").waitFor();
  await walk.look("usage-tenant");
  need((await page.locator(".command code").last().textContent()) === "haasctl usage list --tenant acme --from 2026-01-01 --to 2026-02-01 -o csv", "its command");
  const [file] = await Promise.all([page.waitForEvent("download"), press("Save as CSV")]);
  const lines = readFileSync(await file.path(), "utf8").trimEnd().split("\r\n");
  need(file.suggestedFilename() === "usage-acme-2026-01-01.csv" && lines.length === 3 && lines.filter((one) => one.includes(",86400,")).length === 1, `as CSV: ${lines}`);
}

async function people() {
  await goes("e", "People");
  await press("Invite");
  await dialog.getByRole("textbox", {name: "Name", exact: true}).fill("nina");
  await dialog.getByRole("combobox", {name: "Role", exact: true}).selectOption("tenant-member");
  await dialog.getByRole("combobox", {name: "Tenant", exact: true}).selectOption("acme");
  need((await line(dialog)) === "haasctl account invite nina --role tenant-member --tenant acme", `its command: ${await line(dialog)}`);
  await press("Invite", dialog);
  const once = page.getByRole("status", {name: "Told once"});
  need(/\/link#haas_l_[\w-]{43}/.test(await once.textContent()), "the link is told");
  await row("People", "acme/nina").waitFor();
  await walk.look("people-link", {narrow: false});
  await press("I have it");
  need((await once.count()) === 0, "and then no more");
  await row("People", "oscar").click();
  await press("Disable…", panel);
  await dialog.getByRole("textbox", {name: "Type 1, the count of what goes", exact: true}).fill("1");
  await happen("/role");
  await press("Disable", dialog);
  await changed(/^Account oscar was changed meanwhile by /, {Role: "Roleon-callauditoron-call", Disabled: "Disablednonoyes"});
  await press("Keep mine where I changed it", dialog);
  await press("Disable", dialog);
  await panel.getByText("disabled", {exact: true}).waitFor();
  await row("People", "olga").click();
  await panel.getByText("this one").waitFor();
  await walk.look("people");
  await press("Role", panel);
  await dialog.getByRole("combobox", {name: "Role", exact: true}).selectOption("auditor");
  await press("Change", dialog);
  await dialog.getByText("olga is the last operator").waitFor();
  await walk.look("last-operator", {narrow: false});
  await press("Back", dialog);
  await row("People", "tom").click();
  await panel.getByText("password and code").waitFor();
  await press("End", panel);
  await press("End", dialog);
  await panel.getByText("None is open.").waitFor();
  await press("Reset second factor…", panel);
  await dialog.getByRole("textbox", {name: "Why", exact: true}).fill("the phone is lost");
  await dialog.getByRole("textbox", {name: "Type 1, the count of what goes", exact: true}).fill("1");
  await press("Reset", dialog);
  await until("a password alone is enough again", async () => !(await panel.textContent()).includes("and code"));
}

async function audit() {
  await goes("u", "Audit");
  await page.getByText("Block 1").waitFor();
  await page.getByLabel("Filter").fill("account.changed oscar");
  await row("Audit", "disabled").click();
  await panel.getByRole("table").waitFor();
  need((await panel.getByRole("row").filter({hasText: "disabled"}).textContent()).includes("falsetrue"), "before and after");
  await panel.getByText("olga").first().waitFor();
  await walk.look("audit");
  await panel.getByRole("link", {name: /\w/}).last().click();
  await until("all of that request", async () => page.url().includes("request%3A"));
  await page.getByLabel("Filter").fill("");
  await page.getByLabel("Kind").fill("nobody.*");
  await page.getByLabel("Kind").press("Enter");
  await page.getByText("No event of this kind").waitFor();
  need((await line()) === "haasctl event list --kind 'nobody.*'", "its command");
}

async function records() {
  await row("Jobs", "deployment.install").click();
  await panel.getByText("the agent did not call back").first().waitFor();
  await walk.look("jobs");
  await goes("v", "Certificates");
  await row("Certificates", "gpu-0040").click();
  await panel.getByText(facts.script, {exact: false}).waitFor();
  await panel.getByText("haasctl certificate verify").waitFor();
  await walk.look("certificates");
  await goes("r", "Rotations");
  await row("Rotations", "gpu-0002").click();
  await panel.getByText("set one of both by hand").waitFor();
  await walk.look("rotations");
}

async function settings() {
  await goes("s", "Settings");
  await page.getByText("alert.backup_hours").waitFor();
  await walk.look("settings");
  await page.getByRole("button", {name: "Change alert.backup_hours"}).click();
  await dialog.getByRole("textbox", {name: "Value, in hours", exact: true}).fill("0");
  await press("Set", dialog);
  await dialog.getByText("alert.backup_hours cannot be 0").waitFor();
  await dialog.getByRole("textbox", {name: "Value, in hours", exact: true}).fill("24");
  await dialog.getByLabel(/^Why/).fill("nightly backups");
  need((await line(dialog)) === "haasctl setting set alert.backup_hours=24", "its command");
  await walk.look("setting", {narrow: false});
  await press("Set", dialog);
  await page.getByText("changed, 24 hours").waitFor();
  await page.getByRole("button", {name: "Change login.second_factor"}).click();
  await happen("/settings");
  await dialog.getByRole("combobox", {name: "Value", exact: true}).selectOption("operators");
  await press("Set", dialog);
  await changed(/^A setting was changed meanwhile by /, {"login.second_factor": "login.second_factornonenoneoperators", "alert.pdci_waiting_s": /^alert.pdci_waiting_s\d+ seconds700 seconds\d+ seconds$/});
  await walk.look("setting-changed", {narrow: false});
  await press("Take what is now", dialog);
  await page.getByText("changed, 700 seconds").waitFor();
}

async function webhooks() {
  await goes("w", "Webhooks");
  await page.getByText("Nobody outside is told events").waitFor();
  await walk.look("webhooks-empty", {narrow: false});
  await press("New webhook");
  await dialog.getByRole("textbox", {name: "Name", exact: true}).fill("tickets");
  await dialog.getByRole("textbox", {name: "URL", exact: true}).fill(facts.hook);
  await dialog.getByRole("textbox", {name: "Kinds of events", exact: true}).fill("account. site.");
  await press("Add", dialog);
  const once = page.getByRole("status", {name: "Told once"});
  need(/haas_w_[\w-]+/.test(await once.textContent()), "the secret is told");
  await row("Webhooks", "tickets").click();
  await panel.getByText("answered 200").first().waitFor();
  await walk.look("webhook-secret", {narrow: false});
  await press("I have it");
  await happen("/receiver/500");
  await press("New secret…", panel);
  await dialog.getByRole("textbox", {name: "Type 1, the count of what goes", exact: true}).fill("1");
  await press("Make a secret", dialog);
  await panel.getByText("answered 500").first().waitFor();
  await row("Webhooks", "failing").waitFor();
  await walk.look("webhooks");
  await happen("/receiver/200");
  await panel.getByRole("button", {name: /^Send again/}).first().click();
  await until("it is taken", async () => !(await panel.textContent()).includes("answered 500"), 20);
  await press("I have it");
  await press("Disable", panel);
  await press("Disable", dialog);
  await row("Webhooks", "disabled").waitFor();
}

async function others() {
  await press("Log out");
  await walk.logIn("globex/gina");
  await walk.open("/webhooks");
  await page.getByText("Nobody outside is told events").waitFor();
  await press("New webhook");
  await dialog.getByRole("textbox", {name: "Name", exact: true}).fill("mine");
  await dialog.getByRole("textbox", {name: "URL", exact: true}).fill(facts.hook);
  await press("Add", dialog);
  await dialog.getByText("a tenant's webhook is called by https").waitFor();
  await walk.look("webhook-tenant", {narrow: false});
  await press("Back", dialog);
  await walk.open("/audit");
  await until("a tenant's own events", async () => (await title()) === "Events");
  need((await page.getByText("Block 1").count()) === 0, "blocks are the site's");
  await walk.open("/people");
  await page.getByText("No screen is at this address").waitFor();
}

/** Straight to a screen: what a login lands on is walked elsewhere. */
async function enter() {
  await walk.open("/jobs");
  await walk.logIn("olga");
}

const PARTS = {overview, tenants, usage, people, audit, settings, enter, records, webhooks, others};
for (const name of facts.parts) {
  const began = Date.now();
  await PARTS[name]().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/site-failed.png`}).catch(() => undefined);
    console.log(`${name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
