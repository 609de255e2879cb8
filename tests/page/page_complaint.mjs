// A tenant: its own share of a link and nobody else's, a complaint with its clock, consent to captures, the report that answers it. And what an operator sees of
// packets and of the collector.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("complaint");
const {page} = walk;
const row = (label, text) => page.getByRole("grid", {name: label}).getByRole("row").filter({hasText: text}).first();
const dialog = page.getByRole("dialog");
const panel = page.getByRole("region", {name: "Chosen"});
const press = (name, of = page) => of.getByRole("button", {name, exact: true}).click();
const level = (name) => page.getByRole("region", {name, exact: true});

/** The text of a number: "413.5 Mbit/s". */
const rate = (mbit) => `${mbit.toFixed(1)} Mbit/s`;

async function tenant() {
  await walk.open(`/drill?path=link:leaf3:up1&at=${facts.end}&window=5m`);
  await walk.logIn("globex/gina");
  await level("tenants").waitFor();
  const text = await level("tenants").textContent();
  need(text.includes("globex") && !text.includes("acme") && !text.includes("initech"), `its own alone: ${text}`);
  await until("the whole is its own", async () => (await page.locator(".numbers b").first().textContent()) === rate(236.3));
  await walk.look("tenant-drill");
  await walk.open(`/drill?path=link:leaf3:up1/tenant:acme&at=${facts.end}&window=5m`);
  await page.getByRole("alert").first().waitFor();
  await page.getByRole("link", {name: /^Complaints/}).click();
  await press("Complain…");
  await dialog.getByLabel("What is wrong, since when, and between which nodes").fill(`gpu-0003 reaches nobody ${facts.script}`);
  await press("Complain", dialog);
  await page.getByText("Their answer comes here.").waitFor();
  await page.getByRole("link", {name: /^Captures/}).click();
  await row("Captures", "gpu-0003").click();
  await panel.getByText("Waits for consent").waitFor();
  await walk.look("tenant-captures");
  await press("Consent", panel);
  await press("Consent", dialog);
  await until("it has consent", async () => (await panel.textContent()).includes("globex/gina"));
  const consent = page.getByRole("region", {name: "Consent"});
  await press("Consent…", consent);
  await press("Consent", dialog);
  await press("Withdraw…", consent);
  await press("Withdraw", dialog);
  await consent.getByText(/withdrawn/).waitFor();
}

async function packets() {
  await press("Log out");
  await walk.logIn("olga");
  await walk.open("/captures?all=yes&at=1");
  await panel.getByText("slow since ten").waitFor();
  await walk.look("captures");
  await walk.open("/captures/1");
  await page.getByRole("region", {name: "Applications"}).getByText(facts.script).waitFor();
  need((await page.getByRole("region", {name: "Conversations"}).textContent()).includes("812 again"), "what TCP suffered");
  await walk.look("capture");
}

async function collector() {
  await walk.open("/collector");
  await page.getByRole("alert").first().waitFor();
  await fetch(facts.control + "/collector");
  await page.getByRole("button", {name: "Try again"}).first().click();
  await row("Switches that send samples", "leaf3").waitFor();
  await walk.look("collector");
}

async function answered() {
  await walk.open("/cases");
  await page.getByRole("grid", {name: "Cases"}).getByRole("row").filter({hasText: "reaches nobody"}).getByRole("link").click();
  await press("Close…");
  await dialog.getByLabel("The answer, as the tenant reads it").fill("Its cable was loose.");
  await press("Close it", dialog);
  await page.getByText("Its cable was loose.").first().waitFor();
  await press("Log out");
  await walk.logIn("globex/gina");
  await walk.open("/cases?all=yes");
  await page.getByRole("grid", {name: "Complaints"}).getByRole("row").filter({hasText: "reaches nobody"}).getByRole("link").click();
  await page.getByRole("region", {name: "Report"}).getByText("Its cable was loose.").waitFor();
  await walk.look("tenant-report");
}

for (const part of [tenant, packets, collector, answered]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/complaint-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
