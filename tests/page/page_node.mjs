// One node: what an operator does and finds, and what its tenant sees of it.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("node");
const {page} = walk;
const dialog = page.getByRole("dialog");
const part = (name) => page.getByRole("region", {name, exact: true});

async function sensors() {
  const table = part("Sensors");
  await table.getByRole("row").filter({hasText: "PSU 2"}).getByText("critical").waitFor();
  await until("a line each", async () => (await table.locator(".spark").count()) === 4);
  await table.getByRole("button", {name: "CPU 1"}).click();
  await page.getByText(/CPU 1: mean/).waitFor();
  need(new URL(page.url()).searchParams.get("sensor") === "CPU 1:2", "which sensor is large stands in the address");
  await until("the large one is drawn", async () => (await table.locator("canvas").count()) === 1);
  need((await table.locator(".command code").textContent()) === "haasctl node series gpu-0001 --sensor 'CPU 1'", "the command names the sensor");
}

async function drives() {
  const table = part("Drives");
  await table.getByText("the drive refused").waitFor();
  await table.getByText("never erased by us").waitFor();
  need((await page.getByText(facts.script, {exact: false}).count()) >= 3, "what a drive, a sensor and an agent say is text");
}

async function lists() {
  const log = part("Event log of the BMC");
  await until("the newest entries", async () => (await log.getByRole("listitem").count()) === 25);
  await log.getByRole("button", {name: "Older"}).click();
  await until("the next page is there", async () => (await log.getByRole("listitem").count()) === 50);
  await log.getByRole("button", {name: "Older"}).click();
  await until("all are there", async () => (await log.getByRole("listitem").count()) === 60);
  need((await log.getByRole("button", {name: "Older"}).count()) === 0, "and nothing is older");
  const story = part("Story");
  await until("the newest events", async () => (await story.getByRole("listitem").count()) === 30);
  await story.getByRole("button", {name: "Older"}).click();
  await until("older events", async () => (await story.getByRole("listitem").count()) === 60);
}

async function labels() {
  const list = part("Labels of gpu-0001");
  await list.getByText("is given to nobody").waitFor();
  await list.getByRole("button", {name: "Add a label"}).click();
  await dialog.locator("#label-word").fill("hands_off");
  await dialog.getByLabel("Severity", {exact: true}).selectOption("critical");
  await dialog.getByRole("checkbox", {name: "no_automation"}).check();
  await dialog.getByLabel("For", {exact: true}).selectOption("8h");
  await dialog.locator("#dialog-why").fill("bob is in the rack");
  need((await dialog.locator("code").textContent()) === "haasctl health add hands_off gpu-0001 --reason 'bob is in the rack' --severity critical --effect no_automation --for 8h", `the line: ${await dialog.locator("code").textContent()}`);
  await walk.look("label");
  await dialog.getByRole("button", {name: "Add a label", exact: true}).click();
  const mine = list.getByRole("listitem").filter({hasText: "hands_off"});
  await mine.getByText("no step goes on by itself").waitFor();
  await mine.getByRole("button", {name: "Acknowledge"}).click();
  await dialog.locator("#dialog-why").fill("known");
  await dialog.getByRole("button", {name: "Acknowledge", exact: true}).click();
  await mine.getByText("olga knows: known").waitFor();
  await walk.look("labels");
  await mine.getByRole("button", {name: "Clear", exact: true}).click();
  await dialog.locator("#dialog-why").fill("he has left");
  await dialog.getByRole("button", {name: "Clear", exact: true}).click();
  await until("the label went", async () => (await mine.count()) === 0);
}

async function operator() {
  await walk.open("/nodes/gpu-0001");
  await walk.logIn("olga");
  await part("Sensors").waitFor();
  await sensors();
  await drives();
  await lists();
  await labels();
  await page.getByRole("button", {name: "Read power"}).click();
  need((await dialog.locator("code").textContent()) === "haasctl node power status gpu-0001", "the line of the power");
  await dialog.getByRole("button", {name: "Read power", exact: true}).click();
  await until("the dialog closed", async () => (await dialog.count()) === 0);
  await part("Sensors").scrollIntoViewIfNeeded();
  await walk.look("sensors");
  await part("Event log of the BMC").scrollIntoViewIfNeeded();
  await walk.look("log");
}

async function tenant() {
  await page.getByRole("button", {name: "Log out"}).click();
  await page.getByLabel("Account").waitFor();
  await walk.open("/nodes/gpu-0001");
  await walk.logIn("globex/gina");
  await part("Sensors").getByText("CPU 1").waitFor();
  need((await part("Sensors").locator(".spark").count()) === 0, "a tenant has nothing from before the hand-over");
  await page.getByText("not kept yet").first().waitFor();
  need((await page.getByRole("button", {name: "Add a label"}).count()) === 0, "labels are the operators'");
  await walk.look("tenant");
}

for (const part of [operator, tenant]) {
  const begin = Date.now();
  await part();
  console.log(`ok: ${part.name} ${((Date.now() - begin) / 1000).toFixed(1)} s`);
}
await walk.end();
