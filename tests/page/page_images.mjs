// Who may use an image: found, given, taken back; and the tenant's side of it.
import {need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("images");
const {page} = walk;
const dialog = page.getByRole("dialog");
const row = (text) => page.getByRole("grid", {name: "Images, packages and archives"}).getByRole("row").filter({hasText: text});
const panel = page.getByRole("region", {name: "Chosen"});

async function operator() {
  await walk.open("/images");
  await walk.logIn("olga");
  await row("next:2.0").getByText("uploading 41 %").waitFor();
  await row("demo:1.0").getByText("everybody").waitFor();
  await row("driver:1.2").getByText("package").waitFor();
  await row("cuda:12.4").click();
  await walk.look("list");
  await panel.getByRole("button", {name: "Let a tenant use it"}).click();
  await dialog.locator("#grant-tenant").selectOption("globex");
  need((await dialog.locator("code").textContent()) === "haasctl grant add image cuda:12.4 globex", "the same as a line");
  await walk.look("grant", {narrow: false});
  await dialog.getByRole("button", {name: "Let it use", exact: true}).click();
  await row("cuda:12.4").getByText("the operators, globex").waitFor();
  await panel.getByText("by olga").waitFor();
}

async function back() {
  await panel.getByRole("button", {name: "Take back…"}).click();
  await dialog.locator("#dialog-count").fill("1");
  await dialog.getByRole("button", {name: "Take back", exact: true}).click();
  await until("it is the operators' alone", async () => !(await row("cuda:12.4").textContent()).includes("globex"));
}

/** What its owner does: no new installs, that taken back, deleted. */
async function owner() {
  await row("cuda:12.4").click();
  await panel.getByRole("button", {name: "Retire", exact: true}).click();
  need((await dialog.locator("code").textContent()) === "haasctl image retire cuda:12.4", "the same as a line");
  await dialog.getByRole("button", {name: "Retire", exact: true}).click();
  await row("cuda:12.4").getByText("retired").waitFor();
  await panel.getByRole("button", {name: "Use again", exact: true}).click();
  need((await dialog.locator("code").textContent()) === "haasctl image retire cuda:12.4 --undo", "and taken back");
  await dialog.getByRole("button", {name: "Use again", exact: true}).click();
  await row("cuda:12.4").getByText("ready").waitFor();
  await row("driver:1.2").click();
  await panel.getByRole("button", {name: "Delete…"}).click();
  need((await dialog.locator("code").textContent()) === "haasctl package delete driver:1.2", "a package too");
  await walk.look("delete", {narrow: false});
  await dialog.locator("#dialog-count").fill("1");
  await dialog.getByRole("button", {name: "Delete", exact: true}).click();
  await until("it is gone", async () => (await row("driver:1.2").count()) === 0);
}

async function tenant() {
  await page.getByRole("button", {name: "Log out"}).click();
  await page.getByLabel("Account").waitFor();
  await walk.open("/images");
  await walk.logIn("globex/gina");
  await row("demo:1.0").getByText("everybody").waitFor();
  need((await row("cuda:12.4").count()) === 0, "what is not granted is not there");
  await row("demo:1.0").click();
  need((await page.getByRole("button", {name: "Let a tenant use it"}).count()) === 0, "grants are the operators'");
  need((await panel.getByRole("button", {name: /^(Retire|Withdraw…|Delete…)$/}).count()) === 0, "an image of the operators is not a tenant's to delete");
  await walk.look("tenant", {narrow: false});
}

for (const part of [operator, back, owner, tenant]) {
  const begin = Date.now();
  await part();
  console.log(`ok: ${part.name} ${((Date.now() - begin) / 1000).toFixed(1)} s`);
}
await walk.end();
