// Traffic: from an alert to the flow that fills a link, one click a level, each level an address; captures and their consent; cases and their clock.
import {execFileSync} from "node:child_process";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("traffic");
const {page} = walk;
const title = () => page.getByRole("heading", {level: 1}).textContent();
const row = (label, text) => page.getByRole("grid", {name: label}).getByRole("row").filter({hasText: text}).first();
const dialog = page.getByRole("dialog");
const panel = page.getByRole("region", {name: "Chosen"});
const press = (name, of = page) => of.getByRole("button", {name, exact: true}).click();
const level = (name) => page.getByRole("region", {name, exact: true});

/** The text of a number: "413.5 Mbit/s". */
const rate = (mbit) => `${mbit.toFixed(1)} Mbit/s`;

/** Where the page is, as a reference: nothing else is in its address. */
const here = () => page.url().slice(facts.url.length);

async function alert() {
  await walk.open("/alerts");
  await walk.logIn("oscar");
  await row("Alerts", "leaf3:up1").click();
  await panel.getByText("Suspects, most suspect first").waitFor();
  const suspects = await panel.locator(".suspects li").allTextContents();
  need(suspects.length === 2 && suspects[0].includes("10.50.0.2:23552") && suspects[0].includes("all of the rise"), `ranked, with reasons: ${suspects}`);
  need((await panel.getByRole("link", {name: "leaf3:up1", exact: true}).getAttribute("href")) === "/switches/leaf3?at=up1", "its port is one click away");
  await walk.look("alert");
  await press("Silence planned work…");
  await dialog.getByLabel("Subject that begins so").fill("leaf2:");
  await dialog.getByLabel("For how long").selectOption("8 hours");
  await dialog.getByLabel("Why").fill("its cables are changed");
  need((await dialog.locator("code").textContent()) === "haasctl alert silence --subject leaf2: --for 8h --reason 'its cables are changed'", "its command follows the fields");
  await press("Silence", dialog);
  await page.getByRole("region", {name: "Silences"}).getByText("its cables are changed").waitFor();
  await press("Open case…", panel);
  await dialog.getByLabel("The complaint, in its own words").fill("my network is slow");
  await dialog.getByRole("button", {name: "Open case", exact: true}).click();
  await until("the case is there, its clock runs", async () => /^Case \d+$/.test(await title()));
  await page.getByText("is written into it").first().waitFor();
  await page.goBack();
  await row("Alerts", "leaf3:up1").click();
  await panel.getByRole("link", {name: /^Drill at/}).click();
}

/** The flow that fills the link, by what is on the screen alone: always the largest, one click a level. */
async function drill() {
  let node = facts.golden;
  for (const words of ["tenants", "VLANs", "pairs", "flows"]) {
    await level(words).waitFor();
    const [kind, path, sum, , parts] = node;
    await until(`${kind} ${sum} is shown`, async () => (await page.locator(".numbers b").first().textContent()) === rate(sum));
    const text = await level(words).locator("tbody tr").allTextContents();
    need(text.length === parts.length && parts.every((part, at) => text[at].includes(rate(part[2])) && text[at].includes(`${((100 * part[2]) / sum).toFixed(1)} %`)), `its parts, largest first: ${text}`);
    need((await level(words).locator("tfoot tr").first().textContent()).startsWith("other"), "other is a row");
    need(here() === `/drill?path=${path}&at=${facts.end}&window=5m`, `one string: ${here()}`);
    need((await page.locator(".command code").last().textContent()) === here(), "and it stands there to be copied");
    need((await page.locator(".command code").nth(-2).textContent()) === `haasctl drill ${path.includes("~") ? `'${path}'` : path} --at ${facts.end} --window 5m`, `its command: ${await page.locator(".command code").nth(-2).textContent()}`);
    await page.getByRole("img", {name: /Rate over time/}).waitFor();
    if (kind === "link" || kind === "pair") await walk.look(`drill-${kind}`);
    await level(words).locator("tbody a").first().click();
    node = parts[0];
  }
  await page.getByRole("region", {name: "This flow"}).getByText("10.50.0.2 port 23552").waitFor();
  await until("200.5 of it is one flow", async () => (await page.locator(".numbers b").first().textContent()) === rate(200.5));
  await page.getByRole("link", {name: "capture 1"}).waitFor();
  await walk.look("drill-flow");
}

async function around() {
  await page.getByRole("navigation", {name: "Where"}).getByRole("link", {name: "link leaf3:up1"}).click();
  await level("tenants").waitFor();
  await until("the time before stands beside it", async () => /\+212 %/.test(await level("tenants").locator("tbody tr").first().textContent()));
  need(/−4 %/.test(await level("tenants").locator("tbody tr").nth(1).textContent()), "and what changed little");
  await until("its share of the speed, and the alert", async () => /83 %of 1 Gbit\/s/.test(await page.locator(".numbers").textContent()) && /1open alert here/.test(await page.locator(".numbers").textContent()));
  await level("tenants").locator("tbody a").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until("down by keys", async () => here().includes("/tenant:globex&"));
  await level("VLANs").locator("tbody a").first().focus();
  await page.keyboard.press("ArrowLeft");
  await until("up by keys", async () => here().includes("path=link:leaf3:up1&"));
  await page.goBack();
  await until("back works", async () => here().includes("/tenant:globex&"));
  for (const [text, want] of [[`${facts.url}/drill?path=link:leaf3:up1&at=${facts.end}&window=5m`, `/drill?path=link:leaf3:up1&at=${facts.end}&window=5m`], ["link:leaf3:up1/tenant:acme", "/drill?path=link:leaf3:up1/tenant:acme"]]) {
    await page.getByLabel("Open a reference").fill(text);
    await page.keyboard.press("Enter");
    await until(`a pasted reference opens: ${text}`, async () => here() === want);
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill(`/drill?path=link:leaf3:up1&at=${facts.end}&window=15m`);
  await page.keyboard.press("Enter");
  await until("the palette takes it too", async () => here() === `/drill?path=link:leaf3:up1&at=${facts.end}&window=15m`);
  await page.getByLabel("Open a reference").fill("no such thing");
  await page.keyboard.press("Enter");
  await page.getByText("neither a reference nor a path").waitFor();
  await walk.open("/drill?path=link:nowhere:1");
  await page.getByText("there is no traffic of a switch nowhere").waitFor();
  await walk.look("drill-refused", {narrow: false});
  await walk.open(`/drill?path=link:leaf3:up1&at=2020-01-01T00:00:00Z&window=5m`);
  await page.getByText("Nothing was collected then").waitFor();
  await walk.open("/drill");
  await page.getByRole("region", {name: "links", exact: true}).or(page.getByText("Nothing was collected then")).first().waitFor();
  await walk.open(`/drill?path=link:leaf3:up1&at=${facts.end}&window=15m`);
  const plot = page.getByRole("img", {name: /Rate over time/});
  await plot.waitFor();
  await until("it is drawn", async () => (await plot.locator("canvas").count()) > 0);
  const box = await plot.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 30, {steps: 4});
  await page.mouse.up();
  await page.getByRole("link", {name: /^Look at/}).click();
  await until("a span that was dragged is the window", async () => /window=\d+s$/.test(here()));
}

/** The same way down by the bands; and a name that a stranger wrote is text in them. */
async function bands() {
  const picture = page.getByRole("region", {name: "How it splits"});
  await walk.open(`/drill?path=link:leaf3:up1&at=${facts.end}&window=5m`);
  await picture.getByRole("group").waitFor();
  await page.evaluate(() => (window.kept = true));
  await picture.getByRole("link", {name: /^globex: 236.3 Mbit.s/}).click();
  await until("a band leads to its level", async () => here() === `/drill?path=link:leaf3:up1/tenant:globex&at=${facts.end}&window=5m`);
  need(await page.evaluate(() => window.kept === true), "without a new page");
  await page.goBack();
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
  await picture.getByRole("group").waitFor();
  need((await picture.locator("a[tabindex='0']").count()) === 1, "Tab takes one link of the picture");
  await picture.locator("a[tabindex='0']").focus();
  for (const [key, want] of [["ArrowDown", /^globex: /], ["ArrowUp", /^acme: /], ["ArrowRight", /^1301 train: 367.8 Mbit.s/], ["ArrowRight", /^gpu-0002 . gpu-0004: 296.3 Mbit.s/], ["ArrowRight", /^gpu-0002 . gpu-0004: /]]) {
    await page.keyboard.press(key);
    need(want.test(await focused()), `${key}: ${await focused()}`);
  }
  await page.keyboard.press("Enter");
  await until("Enter opens it", async () => here().includes("/pair:gpu-0002~gpu-0004&"));
  need((await picture.count()) === 0, "where one level is left the table says all of it");
  await walk.open(`/drill?path=link:leaf3:up1&at=${facts.hostile}&window=1m`);
  await picture.locator("text").getByText(facts.script.slice(0, 8)).first().waitFor();
  need((await picture.getByRole("link", {name: `1301 ${facts.script}`}).count()) === 1, "a stranger's name is text, in full in the name of its band");
  need((await picture.locator("text *").count()) === 0, "and nothing of it became an element");
  await picture.scrollIntoViewIfNeeded();
  await walk.look("bands-hostile");
  await page.setViewportSize({width: 390, height: 800});
  await walk.open(`/drill?path=link:leaf3:up1&at=${facts.end}&window=5m`);
  await picture.getByRole("group").waitFor();
  need((await picture.locator("svg .head").allTextContents()).join() === "Tenant,VLAN", "two columns have room in 390 pixels");
  await picture.evaluate((one) => one.scrollIntoView());
  await page.screenshot({path: `${facts.pictures}/traffic-bands-narrow.png`});
  await page.setViewportSize({width: 1280, height: 800});
  await walk.open("/drill");
  await page.getByRole("region", {name: "links", exact: true}).or(page.getByText("Nothing was collected then")).first().waitFor();
}

async function capture() {
  const pair = facts.golden[4][0][4][0][4][0][1];
  await walk.open(`/drill?path=${pair}&at=${facts.end}&window=5m`);
  await page.getByRole("region", {name: "Packets"}).getByRole("link", {name: "capture 1"}).waitFor();
  const way = await page.getByRole("link", {name: /^Path of /}).getAttribute("href");
  need(way.startsWith("/topology?tenant=acme&at=path%3A"), `the path of the two is one click away: ${way}`);
  await press("Capture…", page.getByRole("region", {name: "Packets"}));
  await dialog.getByLabel("Bytes of each frame that are kept").fill("96");
  await until("its command follows", async () => (await dialog.locator("code").textContent()).includes("--snap 96"));
  await walk.look("capture-ask", {narrow: false});
  await press("Ask for it", dialog);
  await until("the capture is there", async () => /^Capture \d+$/.test(await title()));
  await page.getByText("Waits for consent of acme's admin").first().waitFor();
  need((await page.getByRole("button", {name: "Approve", exact: true}).count()) === 0, "nobody consents to a request of their own");
}

/** Down to packets: as they come, and as a file that another program reads. */
async function packets() {
  await fetch(`${facts.control}/approve`);
  const live = page.getByRole("region", {name: "Live packets"});
  await live.getByText("No packet yet").waitFor();
  await fetch(`${facts.control}/mirror`);
  const text = () => live.getByLabel("Packets").textContent();
  await until("packets are shown as they come", async () => /10\.50\.0\.2\.23552 > 10\.50\.0\.4\.5153 tcp \[P\.?\] seq \d+/.test(await text()));
  need(!(await text()).includes("10.50.0.9"), "nobody else's are");
  await until("they are counted", async () => /^400/.test(await page.locator(".numbers b").first().textContent()));
  need(await live.getByLabel("Packets").evaluate((box) => box.scrollHeight > box.clientHeight && box.scrollTop + box.clientHeight > box.scrollHeight - 20), "the newest are in sight");
  await walk.look("packets");
  await press("Stop");
  await press("Stop", dialog);
  const button = page.getByRole("button", {name: /^Download/});
  await button.waitFor();
  await page.getByRole("region", {name: "Live packets"}).waitFor({state: "detached"});
  await walk.look("packets-ended", {narrow: false});
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  need(/^capture-\d+-gpu-0002\.pcapng$/.test(download.suggestedFilename()), `its name: ${download.suggestedFilename()}`);
  const read = execFileSync("tcpdump", ["-n", "-e", "-r", await download.path()], {encoding: "utf8", stdio: ["ignore", "pipe", "ignore"]}).trimEnd().split("\n");
  need(read.length === 400 && read.filter((line) => line.includes("10.50.0.2.23552 > 10.50.0.4.5153")).length === 300, `each packet is in the file: ${read.length} ${read[0]}`);
  need(!read.some((line) => line.includes("10.50.0.9")), "and nobody else's");
}

async function solved() {
  await page.getByRole("link", {name: /^Cases/}).click();
  await row("Cases", "my network is slow").waitFor();
  await page.getByText("our jobs stand still").first().waitFor();
  await walk.look("cases");
  await page.getByRole("grid", {name: "Cases"}).getByRole("row").filter({hasText: "my network is slow"}).getByRole("link").click();
  const done = page.getByRole("region", {name: "What was done"});
  await done.locator(".entry.query").nth(4).waitFor();
  need((await done.locator(".entry.capture").count()) === 4, "what became of the capture is in it: asked for, consented, started, ended");
  await page.getByLabel("Finding: its tenant reads it").fill(`one flow of gpu-0002 fills leaf3:up1 ${facts.script}`);
  await press("Write it");
  await done.locator(".entry.finding").waitFor();
  await walk.look("case");
  await press("Close…");
  await dialog.getByLabel("The answer, as the tenant reads it").fill("A copy between two nodes filled the link; it is limited now.");
  await walk.look("case-close", {narrow: false});
  await press("Close it", dialog);
  await page.getByRole("region", {name: "Report"}).getByText("What was found").first().waitFor();
}

for (const part of [alert, drill, around, bands, capture, packets, solved]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/traffic-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
