// Switches, cables and addresses: lists and one of each, what is planned against what was found, a rule made from a relay's text.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("switches");
const {page} = walk;
const title = () => page.getByRole("heading", {level: 1}).textContent();
const rows = (label) => page.getByRole("grid", {name: label, exact: true}).getByRole("row");
const panel = page.getByRole("region", {name: "Chosen"});
const dialog = page.getByRole("dialog");

async function switches() {
  await walk.open("/");
  await walk.logIn("olga");
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await until("g f goes to the switches", async () => (await title()) === "Switches" && (await rows("Switches").count()) > 10);
  await page.getByLabel("Filter").fill("silent");
  await rows("Switches").nth(1).click();
  await panel.getByText("it does not answer").waitFor();
  await walk.look("switches");
  await walk.open("/switches/leaf1");
  await page.getByRole("region", {name: "Health"}).getByText("Fan 2").waitFor();
  await page.getByRole("grid", {name: "Ports", exact: true}).getByText("spine1:dn1").click();
  await panel.getByRole("figure", {name: "Counters of leaf1:up1"}).waitFor();
  await panel.locator(".u-over").waitFor();
  await walk.look("switch");
  const management = page.getByRole("region", {name: "Management"});
  await management.getByRole("button", {name: "Edit", exact: true}).click();
  await dialog.getByLabel("Read each so many seconds").fill("45");
  need((await dialog.locator("code").textContent()) === "haasctl switch add leaf1 --poll 45s", `its command: ${await dialog.locator("code").textContent()}`);
  await fetch(facts.control + "/managed");
  await dialog.getByRole("button", {name: "Save", exact: true}).click();
  await dialog.getByText("The switch leaf1 was changed meanwhile").waitFor();
  await walk.look("management-changed", {narrow: false});
  await dialog.getByRole("button", {name: "Keep mine where I changed it", exact: true}).click();
  await dialog.getByRole("button", {name: "Save", exact: true}).click();
  await until("both changes are there", async () => (await management.textContent()).includes("45 s") && (await management.textContent()).includes("f1, spine"));
  await management.getByRole("button", {name: "Sampling", exact: true}).click();
  await dialog.getByLabel("Collector").fill("10.255.0.1");
  await dialog.getByLabel("One frame of so many").fill("2000");
  await walk.look("sampling-edit");
  await dialog.getByRole("button", {name: "Save", exact: true}).click();
  await management.getByText("one of 2\u202f000").waitFor();
  await page.getByRole("button", {name: "Compare", exact: true}).click();
  await page.getByRole("region", {name: "Differences"}).getByRole("alert").waitFor();
  await page.getByRole("button", {name: "Repair differences…"}).click();
  need(await dialog.getByRole("button", {name: "Repair", exact: true}).isDisabled(), "a count has to be typed");
  need((await dialog.locator("code").textContent()) === "haasctl switch reconcile leaf1", "its command");
  await walk.look("reconcile", {narrow: false});
  await page.keyboard.press("Escape");
  await walk.open("/switches/no-such");
  await page.getByRole("alert").waitFor();
}

async function cables() {
  await walk.open("/links");
  const numbers = () => page.locator(".numbers").textContent();
  await until("planned and found are compared", async () => /[1-9]\d*planned, not found/.test(await numbers()));
  await page.getByLabel("Filter").fill("leaf1:up1");
  await rows("Cables").nth(1).click();
  await until("a cable as planned", async () => (await rows("Cables").nth(1).textContent()).includes("as planned"));
  await page.getByLabel("Filter").fill("finding:found");
  await rows("Cables").nth(1).click();
  await panel.getByText("nothing was seen there").waitFor();
  await walk.look("links");
  await page.getByRole("button", {name: "Import…"}).click();
  const box = dialog.getByLabel("Or paste it");
  await box.fill("switch,port,node,nic\nleaf1,Ethernet1/7,gpu-0007,eth7\nleaf99,Ethernet1/8,gpu-0008,eth0\n");
  await dialog.getByRole("alert").filter({hasText: "1 cell is wrong"}).waitFor();
  need((await dialog.locator("td.wrong").textContent()).includes("switch leaf99 is not declared"), "at its cell");
  await walk.look("cables-import");
  await box.fill("switch,port,node,nic\nleaf1,Ethernet1/7,gpu-0007,eth7\n");
  await dialog.getByText("Every cell is good: 1 cable would be planned").waitFor();
  need((await dialog.locator(".command code").textContent()) === "haasctl wiring import cables.csv", "its command");
  await dialog.getByRole("button", {name: "Import 1 row"}).click();
  await dialog.waitFor({state: "hidden"});
  await page.getByLabel("Filter").fill("leaf1:Ethernet1/7");
  await until("it is planned", async () => (await rows("Cables").count()) === 2);
  await page.getByRole("link", {name: "Aggregates"}).click();
  await page.getByText("leaf1:ae1").waitFor();
  await walk.look("aggregates", {narrow: false});
  await page.getByRole("link", {name: "Sampling"}).click();
  await page.getByText("leaf1").first().waitFor();
  await walk.look("sampling", {narrow: false});
}

async function addresses() {
  await walk.open("/addresses");
  await rows("Leases").filter({hasText: "declined"}).getByText("declined").click();
  await panel.getByRole("button", {name: "Take back…"}).click();
  need(await dialog.getByRole("button", {name: "Take back", exact: true}).isDisabled(), "a count has to be typed");
  await page.keyboard.press("Escape");
  await walk.look("addresses");
  for (const name of ["Subnets", "Reservations", "Locations", "Rules"]) {
    await page.getByRole("navigation", {name: "Which table"}).getByRole("link", {name}).click();
    await until(`${name} are listed`, async () => (await rows(name).count()) > 1);
  }
  await page.getByRole("navigation", {name: "Which table"}).getByRole("link", {name: "Unread circuits"}).click();
  await page.getByText("<script>window.hacked=1</script>").first().waitFor();
  await rows("Unread circuits").filter({hasText: "Ethernet1/7"}).first().click();
  await panel.getByLabel("Switch", {exact: true}).fill("leaf1");
  await panel.getByLabel("Port", {exact: true}).fill("Ethernet1/7");
  await panel.getByRole("button", {name: "Propose rules"}).click();
  await page.getByRole("list", {name: "Proposals"}).getByRole("button", {name: "Make this rule"}).first().waitFor();
  await walk.look("circuits");
  await page.getByRole("list", {name: "Proposals"}).getByRole("button", {name: "Make this rule"}).first().click();
  await until("the text is read now", async () => (await rows("Unread circuits").filter({hasText: "Ethernet1/7"}).count()) === 0);
}

for (const part of [switches, cables, addresses]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/switches-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
