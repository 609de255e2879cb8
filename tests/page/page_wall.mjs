// 512 nodes on the wall: what needs somebody, what is left, a lane, and its end.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("wall");
const {page} = walk;
const dialog = page.getByRole("dialog");
const wall = page.getByRole("region", {name: "Wall of install"});
const cells = (shape = "") => wall.locator(`.cell${shape}`).count();

async function all() {
  need(facts.cells - facts.done === 512 && facts.done > 0, `more than 200 are newer than those that are done: ${facts.cells}, ${facts.done}`);
  await walk.open("/deployments");
  await walk.logIn("olga");
  await until("a cell for each", async () => (await cells()) === facts.cells);
  await until("those that are done are counted", async () => (await page.locator(".numbers").textContent()).includes(`${facts.done}done`));
  await until("how long it takes", async () => /≈ .+until the last one/.test(await page.locator(".numbers").textContent()));
  await until("what is usual in a lane", async () => (await wall.getByText(/usually 7:\d\d/).count()) === 1);
  await until("what is left, a row each", async () => (await page.getByRole("grid", {name: "Deployments"}).getByText(/≈ \d+/).count()) > 3);
  await walk.look("all");
}

async function reasons() {
  const list = page.getByRole("region", {name: "Why some do not go on"});
  const bmc = list.getByRole("button", {name: "bmc: the BMC of node … does not answer: it is in back-off"});
  await bmc.click();
  need(new URL(page.url()).searchParams.get("why")?.startsWith("bmc: "), "the reason stands in the address");
  const wanted = await list.getByRole("listitem").filter({has: page.locator("[aria-pressed=true]")}).locator(".mark").textContent();
  await until("the table has those alone", async () => (await page.getByRole("grid", {name: "Deployments"}).getAttribute("aria-rowcount")) === String(Number(wanted) + 1));
  await wall.locator(".cell.wait").first().click();
  await page.getByRole("region", {name: "Chosen"}).getByText("does not answer").first().waitFor();
  await walk.look("reason", {narrow: false});
  await page.getByRole("button", {name: "Show all"}).first().click();
}

async function lane() {
  await wall.getByRole("button", {name: "agent", exact: true}).click();
  await page.getByRole("button", {name: `Cancel ${facts.lane}…`}).click();
  await dialog.locator("#dialog-count").fill(String(facts.lane));
  await dialog.getByRole("button", {name: "Cancel", exact: true}).click();
  await until("the lane is empty", async () => (await dialog.count()) === 0 && (await wall.getByRole("button", {name: "agent", exact: true}).count()) <= 1);
  await page.getByRole("button", {name: "Show all"}).first().click();
}

async function failed() {
  await page.getByRole("button", {name: `Retry ${facts.failed}`, exact: true}).waitFor();
  await wall.getByRole("button", {name: "failed", exact: true}).click();
  await page.getByRole("button", {name: `Clear ${facts.failed}`, exact: true}).click();
  await dialog.getByRole("button", {name: "Clear", exact: true}).click();
  await until("those that failed are put aside", async () => (await cells(".fail")) === 0);
}

for (const part of [all, reasons, lane, failed]) {
  const begin = Date.now();
  await part();
  console.log(`ok: ${part.name} ${((Date.now() - begin) / 1000).toFixed(1)} s`);
}
await walk.end();
