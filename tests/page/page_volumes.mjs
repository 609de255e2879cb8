// Volumes: a tenant without any; one that makes, detaches, grows, archives, attaches and deletes, and what is refused; its local disks; the operator's storages.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("volumes");
const {page} = walk;
const title = () => page.getByRole("heading", {level: 1}).textContent();
const panel = page.getByRole("region", {name: "Chosen"});
const dialog = page.getByRole("dialog");
const row = (text, label = "Volumes") => page.getByRole("grid", {name: label}).getByRole("row").filter({hasText: text}).first();
const press = (name, of = page) => of.getByRole("button", {name, exact: true}).click();
const fill = (name, text) => dialog.getByRole("textbox", {name, exact: true}).fill(text);
const line = (of = page) => of.locator(".command code").last().textContent();
const states = async () => (await fetch(facts.control + "/states")).json();
const typed = "Type 1, the count of what goes";

async function shows(name, state) {
  await until(`${name} is ${state}`, async () => (await row(name).textContent()).includes(state));
}

async function leave() {
  await page.getByRole("button", {name: "Log out"}).click();
  await page.getByLabel("Password").waitFor();
}

async function none() {
  await walk.open("/volumes");
  await walk.logIn("initech/ivan");
  await page.getByText("No volume").waitFor();
  need((await title()) === "Volumes" && (await page.getByText("Storages").count()) === 0, "storages are not a tenant's");
  await walk.look("none");
  await leave();
}

async function made() {
  await walk.logIn("globex/gina");
  await page.keyboard.press("g");
  await page.keyboard.press("y");
  await shows("data", "attached");
  const text = await page.getByRole("grid", {name: "Volumes"}).textContent();
  need(!text.includes("models") && !text.includes("acme"), "another tenant's volumes are not there");
  await page.getByText("Volumes and archives: 1.2 TiB of 3.0 TiB").waitFor();
  await press("New volume");
  await fill("Name", "logs");
  await fill("Size", "2 cups");
  await press("Create", dialog);
  await dialog.getByText('"2 cups" is not a size').waitFor();
  await fill("Size", "2T");
  need((await line(dialog)) === "haasctl volume create logs --size 2T", `its command: ${await line(dialog)}`);
  await press("Create", dialog);
  await dialog.getByText(/limit/).first().waitFor();
  await walk.look("refused", {narrow: false});
  await fill("Size", "100G");
  await press("Create", dialog);
  await shows("logs", "creating");
  need((await states()).logs === `creating present - ${100 * 2 ** 30}`, `it is asked for: ${(await states()).logs}`);
  await row("fresh").click();
  await panel.getByText("its file could not be made").waitFor();
  need(!(await panel.textContent()).includes("/srv/volume"), "where it lies is not a tenant's");
}

async function detached() {
  await row("data").click();
  await panel.getByText("gpu-0003").waitFor();
  await walk.look("volumes");
  await press("New secret…", panel);
  need((await line(dialog)) === "haasctl volume secret data", "its command");
  await fill(typed, "1");
  await press("Make a secret", dialog);
  await page.getByRole("status", {name: "Told once"}).waitFor();
  await press("I have it");
  await press("Detach…", panel);
  need(await dialog.getByRole("button", {name: "Detach", exact: true}).isDisabled(), "its count has to be typed");
  await fill(typed, "1");
  await press("Detach", dialog);
  await shows("data", "detaching");
  await fetch(facts.control + "/detached");
  await shows("data", "detached");
  await press("Archive", panel);
  await fill("Name of the archive", "data-1");
  need((await line(dialog)) === "haasctl volume archive data data-1", "its command");
  await press("Archive", dialog);
  await shows("data", "archiving");
}

async function grown() {
  await row("scratch").click();
  await press("Grow", panel);
  await fill("New size", "10G");
  await press("Grow", dialog);
  await dialog.getByText(/can only grow/).first().waitFor();
  await fill("New size", "1T");
  need((await line(dialog)) === "haasctl volume resize scratch 1T", "its command");
  await press("Grow", dialog);
  await shows("scratch", "growing");
  await fetch(facts.control + "/grown");
  await shows("scratch", "detached");
  await press("Attach", panel);
  await dialog.getByLabel("To PDCI").selectOption("web");
  await press("Attach", dialog);
  await shows("scratch", "attaching");
}

async function deleted() {
  await row("old").click();
  await press("Delete…", panel);
  await fill(typed, "1");
  need((await line(dialog)) === "haasctl volume delete old", "its command");
  await press("Delete", dialog);
  await shows("old", "deleting");
  need((await panel.getByRole("button", {name: /Delete|Attach|Grow/}).count()) === 0, "nothing more is done about it");
  need((await states()).old.startsWith("ready absent"), `it is asked for: ${(await states()).old}`);
  await page.getByRole("link", {name: "Local disks"}).click();
  await row("gpu-0003/nvme0n1", "Local disks").waitFor();
  await walk.look("local");
  await leave();
}

async function storages() {
  await walk.open("/volumes?show=storages");
  await walk.logIn("olga");
  await walk.open("/volumes?show=storages&at=store2");
  await panel.getByText("tgtd does not answer").waitFor();
  await row("store3", "Storages").click();
  await panel.getByText("its bampi-stored was never heard").waitFor();
  await row("store1", "Storages").click();
  await panel.getByRole("row").filter({hasText: "acme"}).getByText("4.8 TiB").waitFor();
  await walk.look("storages");
  await press("Take no new volumes", panel);
  need((await line(dialog)) === "haasctl storage set store1 --accepts no", "its command");
  await press("Take no new ones", dialog);
  await panel.getByRole("button", {name: "Take new volumes"}).waitFor();
  // Somebody else changes it meanwhile: what differs is shown, and merged.
  await press("Edit", panel);
  await fill("At most, for volumes and archives", "many");
  await press("Save", dialog);
  await dialog.getByText('"many" is not a size').waitFor();
  await fill("At most, for volumes and archives", "22T");
  need((await line(dialog)) === "haasctl storage set store1 --capacity 22T", `its command: ${await line(dialog)}`);
  await fetch(facts.control + "/storage");
  await press("Save", dialog);
  await dialog.getByText("was changed meanwhile").waitFor();
  const differs = (await dialog.getByRole("row").allTextContents()).join();
  need(differs.includes("10.4.0.2:326010.4.0.9:326010.4.0.2:3260") && differs.includes("20T20T22T"), `was, is now, yours: ${differs}`);
  await walk.look("storage-changed");
  await press("Keep mine where I changed it", dialog);
  await press("Save", dialog);
  await until("both changes are there", async () => /of 22\.0 TiB[^]*10\.4\.0\.9:3260/.test(await panel.textContent()));
  await page.getByRole("link", {name: "Shared", exact: true}).click();
  await row("models").click();
  await press("Detach…", panel);
  need((await line(dialog)) === "haasctl volume detach models --tenant acme", `the site says whose: ${await line(dialog)}`);
  await press("Back", dialog);
  await walk.look("site", {narrow: false});
}

for (const part of [none, made, detached, grown, deleted, storages]) await part();
await walk.end();
