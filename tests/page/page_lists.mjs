// The fleet as a list: groups, the filter's grammar, picking all that match, export of what is shown, a sheet tried cell by cell, an edit that somebody
// else overtook, and columns and colours that follow the person.
import {readFileSync} from "node:fs";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("lists");
const {page} = walk;
const grid = page.getByRole("grid", {name: "Nodes"});
const rows = grid.getByRole("row");
const filter = (words) => page.getByLabel("Filter").fill(words);
const about = async () => (await page.locator(".head .about").textContent()).replace(/\s/g, "");
const dialog = page.getByRole("dialog");
const site = async (path) => (await fetch(facts.site + path)).json();

async function groups() {
  await walk.open("/nodes?q=rack=r01");
  await walk.logIn("olga");
  await until("32 nodes of a rack", async () => (await about()).startsWith("32of"));
  await page.getByLabel("Group by").selectOption("state");
  await grid.getByRole("row").filter({hasText: /^reserved\d/}).first().waitFor();
  need(page.url().includes("group=state"), "a group is in the address");
  await grid.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
  await page.getByRole("region", {name: "Chosen"}).waitFor();
  await page.keyboard.press("Escape");
  await walk.look("groups");
  await page.getByLabel("Group by").selectOption("");
}

async function grammar() {
  for (const [words, count] of Object.entries(facts.counts)) {
    await filter(words);
    await until(`${words}: ${count}`, async () => (await about()).startsWith(`${count}of`));
  }
  need((await page.locator(".command code").last().textContent()).startsWith("haasctl node list --where "), "the command line has the filter");
}

async function pickAll() {
  await filter("state=held");
  await until("the held ones", async () => (await about()).startsWith(`${facts.counts["state=held"]}of`));
  await page.getByRole("button", {name: /^Pick all/}).click();
  await page.getByText(`All ${facts.counts["state=held"]} picked`).waitFor();
  await page.getByRole("button", {name: "Unhold", exact: true}).click();
  const line = await dialog.locator("code").textContent();
  need(line.includes(`--where state=held --expected ${facts.counts["state=held"]}`), `the line says how many: ${line}`);
  // One of them leaves the state meanwhile: portald counts again and does nothing.
  await site("/unhold_one_unseen");
  await dialog.getByRole("button", {name: "Unhold", exact: true}).click();
  await dialog.getByRole("alert").filter({hasText: "nothing was done"}).waitFor();
  await walk.look("counted-again", {narrow: false});
  need((await site("/held")).count === facts.counts["state=held"] - 1, "nothing was done");
  await dialog.getByRole("button", {name: "Back", exact: true}).click();
  await page.reload();
  await until("the page knows of it", async () => (await about()).startsWith(`${facts.counts["state=held"] - 1}of`));
  await page.getByRole("button", {name: /^Pick all/}).click();
  await page.getByRole("button", {name: "Unhold", exact: true}).click();
  await dialog.getByRole("button", {name: "Unhold", exact: true}).click();
  await dialog.waitFor({state: "hidden"});
  await until("all of them", async () => (await site("/held")).count === 0);
  need((await site("/requests")).count === 1, "by one request");
}

async function exported() {
  await walk.open("/nodes?q=-state=active+rack=r0*&sort=-name");
  await until("they are counted", async () => /^\d+of/.test(await about()));
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", {name: "Export CSV", exact: true}).click()]);
  const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\r\n");
  const shown = await grid.getByRole("columnheader").count();
  need(lines[0].split(",").length === shown - 1, `the columns that are shown: ${lines[0]}`);
  need(String(lines.length - 1) === (await about()).split("of")[0], `the rows that are shown: ${lines.length}`);
  const first = await rows.nth(1).getByRole("link").textContent();
  need(lines[1].startsWith(`${first},`), `in the order that is shown: ${lines[1]} ${first}`);
}

async function sheet() {
  await page.getByRole("button", {name: "Import…"}).click();
  const box = dialog.getByLabel("Or paste it");
  const named = "<img src=x onerror=window.hacked=1>'; reboot #.csv";
  await dialog.locator("input[type=file]").setInputFiles({name: named, mimeType: "text/csv", buffer: Buffer.from("name,class,rack,firmware,nic,mac\nnew-1,gpu8,r90,uefi,eth0,02:00:00:0f:00:01\n")});
  await dialog.getByText("Every cell is good: 1 would be new").waitFor();
  const line = await dialog.locator("code").textContent();
  need(line === `haasctl node import '${named.replace("'", `'\\''`)}'`, `the name of a file is a word of the line: ${line}`);
  await box.fill(`name,class,rack,firmware,nic,mac\nnew-1,gpu8,r90,uefi,eth0,02:00:00:0f:00:01\n${facts.script.replaceAll(",", " ")},gpu8,r90,uefi,eth0,02:00:00:0f:00:02\nnew-3,gpu8,r90,wood,eth0,not a mac\n`);
  await dialog.getByRole("alert").filter({hasText: "cells are wrong"}).waitFor();
  need((await dialog.locator("td.wrong").count()) === 3, "each at its cell");
  need(await dialog.locator("td.wrong").filter({hasText: "bios, uefi"}).count() === 1, "with what may stand there");
  need(await dialog.getByRole("button", {name: /^Import/}).isDisabled(), "nothing can be written");
  await walk.look("sheet");
  await box.fill("name,class,rack,firmware,nic,mac\nnew-1,gpu8,r90,uefi,eth0,02:00:00:0f:00:01\nnew-2,gpu8,r90,uefi,eth0,02:00:00:0f:00:02\n");
  await dialog.getByText("Every cell is good: 2 would be new").waitFor();
  need((await site("/new")).count === 0, "it was only tried");
  await dialog.getByRole("button", {name: "Import 2 rows"}).click();
  await dialog.waitFor({state: "hidden"});
  need((await site("/new")).count === 2, "they are written");
}

async function overtaken() {
  await walk.open("/nodes?at=gpu-0007");
  await page.getByRole("button", {name: "Edit", exact: true}).click();
  await dialog.getByLabel("Rack").fill("r77");
  await site("/other_browser");
  await dialog.getByRole("button", {name: "Save", exact: true}).click();
  await dialog.getByText("was changed meanwhile").waitFor();
  const line = (name) => dialog.getByRole("row").filter({hasText: name}).allTextContents();
  need((await line("Serial"))[0].includes("OTHER"), `what the other wrote: ${await line("Serial")}`);
  need((await line("Rack"))[0].includes("r77"), `and mine: ${await line("Rack")}`);
  await walk.look("overtaken");
  await dialog.getByRole("button", {name: "Keep mine where I changed it", exact: true}).click();
  need((await dialog.getByLabel("Serial").inputValue()) === "OTHER", "theirs is kept");
  await dialog.getByRole("button", {name: "Save", exact: true}).click();
  await dialog.waitFor({state: "hidden"});
  const now = await site("/node");
  need(now.rack === "r77" && now.serial === "OTHER", `both changes: ${JSON.stringify(now)}`);
}

/** Columns and colours follow the person to another browser; what both change at once is merged. */
async function own() {
  const columns = (of, name) => of.getByRole("columnheader", {name, exact: true}).count();
  const toggle = async (of, name) => {
    await of.getByText("Columns", {exact: true}).click();
    await of.getByRole("checkbox", {name, exact: true}).click();
    await of.keyboard.press("Escape");
  };
  const kept = async (colours, ...names) => {
    const {settings} = await site("/own");
    return settings.scheme === colours && names.every((name) => settings.hidden.includes(name));
  };
  const scheme = (of) => of.evaluate(() => document.documentElement.dataset.scheme ?? "machine");
  await walk.open("/nodes");
  await until("the rack is a column", async () => (await columns(page, "Rack")) === 1);
  await toggle(page, "Rack");
  await page.getByRole("button", {name: "Auto colours"}).click();
  await until("portald has both", () => kept("light", "rack"));
  const context = await walk.browser.newContext({ignoreHTTPSErrors: true, viewport: {width: 1280, height: 800}});
  const other = await context.newPage();
  await other.goto(`${facts.url}/nodes`);
  need((await scheme(other)) === "machine", "a fresh browser knows nobody");
  await other.getByLabel("Account").fill("olga");
  await other.getByLabel("Password").fill(facts.password);
  await other.getByRole("button", {name: "Log in"}).click();
  await other.getByRole("grid", {name: "Nodes"}).waitFor();
  await until("both are there in another browser", async () => (await scheme(other)) === "light" && (await columns(other, "Rack")) === 0 && (await columns(other, "Class")) === 1);
  await toggle(other, "Class");
  await until("the other one writes", () => kept("light", "rack", "class"));
  // This one has not heard of it: refused by its version, it reads again and goes on.
  await page.getByRole("button", {name: "Light"}).click();
  await until("nothing of either is lost", () => kept("dark", "rack", "class"));
  await until("it shows what the other wrote", async () => (await columns(page, "Class")) === 0 && (await scheme(page)) === "dark");
  await other.reload();
  await until("and the other way round", async () => (await scheme(other)) === "dark" && (await columns(other, "Class")) === 0);
  await context.close();
  await page.reload();
  need((await scheme(page)) === "dark", "the first paint has its colours");
}

await groups();
await grammar();
await pickAll();
await exported();
await sheet();
await overtaken();
await own();
await walk.end();
