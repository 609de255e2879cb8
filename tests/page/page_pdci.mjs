// A tenant asks for a PDCI: each step says whether it could be, and what could be instead; a reload keeps the draft; then its progress, its power, an OS written
// anew, and the proofs when it is given back.
import {readFileSync} from "node:fs";
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("pdci");
const {page} = walk;
const form = page.locator("form.wizard");
const field = (label) => form.getByLabel(label, {exact: true});
const verdict = page.getByRole("region", {name: "Could it be?"});
const says = (what, words, seconds = 10) => until(what, async () => (await verdict.textContent()).includes(words), seconds);
const next = (name) => page.getByRole("button", {name: `Next: ${name}`}).click();
const control = (path) => fetch(facts.control + path);

async function begin() {
  await walk.open("/pdcis");
  await walk.logIn("globex/gina");
  await page.getByRole("link", {name: "New PDCI"}).first().click();
  await page.getByRole("heading", {name: "New PDCI"}).waitFor();
  await says("it says what it needs", "an image for each group");
  await walk.look("new", {narrow: false});
}

async function nodes() {
  await field("Name of the PDCI").fill("web");
  await field("Class").selectOption("gpu");
  await page.getByText("2 × H100, 2.0 TiB, 1 disk").waitFor();
  await field("Image").selectOption("demo:1");
  await says("two nodes could be had", "Possible now");
  await field("Nodes").fill("9");
  await says("nine could not", "4 of 9");
  need(!(await verdict.textContent()).includes("s5"), "no name of a node that is not its own");
  await walk.look("nodes");
  await page.getByRole("button", {name: "Use 4", exact: true}).click();
  await says("the nearest request is possible", "Possible now");
  await control("/limit");
  await field("Name of the PDCI").fill("web1");
  await says("a limit of the tenant refuses", "tenant globex may have 3 nodes");
  await says("and is shown", "3 left of 3");
  await field("Name of the PDCI").fill("Web");
  await says("a wrong name is told at its member", "/name");
  await field("Name of the PDCI").fill("web");
  await field("Nodes").fill("2");
  await says("two are within it", "Possible now");
  await next("Networks");
}

async function networks() {
  await page.getByRole("button", {name: "Add a network"}).click();
  need((await field("Prefix").inputValue()) === "10.50.0.0/24", "a free prefix is offered");
  await page.getByRole("button", {name: "Add a network"}).click();
  need((await field("Prefix").nth(1).inputValue()) === "10.50.1.0/24", "the next one does not overlap it");
  await field("Prefix").first().fill("10.50.0.0/30");
  await says("a small prefix is refused", "room for 2 nodes; it has 0");
  await walk.look("networks");
  await page.getByRole("button", {name: "Use 10.50.0.0/24"}).click();
  await says("the offered one has room", "Possible now");
  await field("Which NIC carries what").selectOption("own");
  await page.getByRole("button", {name: "Add a bond"}).click();
  await field("front on bond0").selectOption("untagged");
  await field("back on bond0").selectOption("untagged");
  need((await field("front on bond0").inputValue()) === "", "one untagged network on a NIC");
  await field("front on bond0").selectOption("untagged");
  await field("back on bond0").selectOption("tagged");
  await says("a bond can be", "Possible now");
  await walk.look("bond");
  await next("Volumes");
}

async function volumes() {
  await page.getByRole("button", {name: "Add a volume"}).click();
  await field("Size").fill("9T");
  await says("there is no room for 9 TiB", "No room");
  await walk.look("volume", {narrow: false});
  await page.getByRole("button", {name: "Use 200 GiB"}).click();
  need((await field("Size").inputValue()) === "200G", "the largest that fits is taken");
  await says("there is room for that", "Possible now");
  await page.getByRole("button", {name: "Remove volume 1"}).click();
  await next("Software");
}

async function software() {
  await field("SSH keys for root, a line each").fill("no key at all");
  await says("what is no key is refused", "/params/ssh_keys/0");
  await field("SSH keys for root, a line each").fill(facts.key);
  await form.getByLabel("tools:1").check();
  await says("a package that one may use", "Possible now");
  await walk.look("software");
  await page.reload();
  need((await field("SSH keys for root, a line each").inputValue()) === facts.key && (await form.getByLabel("tools:1").isChecked()), "a reload keeps the draft");
  await next("Places");
  await field("Host name of place 1").fill("-bad");
  await until("a wrong cell is told in it", async () => (await form.getByRole("alert").allTextContents()).some((one) => one.includes("must be a host name")));
  await walk.look("places");
  await field("Host name of place 1").fill("head");
  await field("Addresses of place 2").fill("10.50.0.77");
  await field("Keys, user data: place 2").click();
  await field("User data of place 2").fill("=a secret of place 2");
  await says("the sheet could be", "Possible now");
  need(!(await page.evaluate(() => JSON.stringify(localStorage))).includes("secret of place"), "user data stays in the tab");
  await page.reload();
  need((await field("Host name of place 1").inputValue()) === "head", "a reload keeps the places");
  await next("Review");
  await says("all of it could be", "Possible now");
  await walk.look("review");
}

async function create() {
  const line = await page.locator(".command code").first().textContent();
  need(line.includes("haasctl pdci create web --class gpu --nodes 2 --image demo:1 --bond bond0=eth0+eth1 --nic bond0:front:native --nic bond0:back:tagged --network front=10.50.0.0/24"), `its line: ${line}`);
  await page.getByRole("button", {name: "Ask for it"}).click();
  await page.getByRole("heading", {level: 1, name: "web"}).waitFor();
  await until("its nodes come, and their step", async () => (await page.getByRole("row").filter({hasText: "write_image"}).count()) === 2, 20);
  await walk.look("progress");
  await control("/go");
  await until("it is ready", async () => (await page.locator(".numbers").textContent()).includes("2 of 2"), 25);
  need((await page.getByRole("table").textContent()).includes("10.50.0.77"), "the address of its place");
  await walk.open("/pdcis/new");
  need((await field("Name of the PDCI").inputValue()) === "", "the draft is gone");
}

const cell = (label) => page.getByLabel(label, {exact: true});
const press = (name) => page.getByRole("button", {name}).click();
const said = (what, words) => until(what, async () => (await page.locator("main").textContent()).includes(words));

async function sheet() {
  await walk.open("/pdcis/web");
  const networks = page.getByRole("region", {name: "Networks", exact: true});
  need((await networks.getByRole("link", {name: "Traffic"}).getAttribute("href")) === "/drill?path=tenant:globex", "its traffic is one click away");
  need((await networks.getByRole("link", {name: "On the fabric"}).getAttribute("href")) === "/topology?tenant=globex", "and its place on the fabric");
  await page.getByRole("link", {name: "OS sheet"}).click();
  await until("the sheet is read", async () => (await cell("Host name of place 1").inputValue()) === "head");
  await cell("Addresses of place 1").fill("10.50.0.77");
  await press("Check");
  await said("an address of another place", "place 1 has this address");
  await walk.look("sheet-wrong");
  await cell("Addresses of place 1").fill("10.50.0.9");
  await cell("Host name of place 1").fill("head2");
  await press("Check");
  await page.getByRole("region", {name: "What would change"}).waitFor();
  await walk.look("sheet-changes");
  await press("Write 2 cells");
  await said("it is written", "The sheet is written.");
  await cell("Disk of place 1").fill("nvme1n1");
  await press("Check");
  await control("/sheet");
  await press("Write 1 cell");
  await said("who comes second is told", "The OS sheet of web was changed meanwhile");
  const differs = async (name) => page.getByRole("alert").getByRole("row").filter({has: page.getByRole("rowheader", {name, exact: true})}).textContent();
  need((await differs("Place 2, host name")).endsWith("emptyotherempty") && (await differs("Place 1, disk")).endsWith("emptyemptynvme1n1"), `was, is now, yours: ${await differs("Place 2, host name")}, ${await differs("Place 1, disk")}`);
  await walk.look("sheet-overtaken");
  await press("Keep mine where I changed it");
  await until("what the other wrote is shown", async () => (await cell("Host name of place 2").inputValue()) === "other");
  need((await cell("Disk of place 1").inputValue()) === "nvme1n1", "mine is kept");
  await press("Write 1 cell");
  await said("it is written over what is now", "The sheet is written.");
  const file = (text) => page.getByLabel("Read CSV").setInputFiles({name: "sheet.csv", mimeType: "text/csv", buffer: Buffer.from(text)});
  await file("place,hostname\n1,head\n9,<script>x\n");
  await said("a wrong cell of a file by its line", "line 3, place");
  await file("place,hostname\n1,filed\n");
  await said("a file is tried first", "sheet.csv would change");
  await press(/^Write \d+ cells?$/);
  await said("then it is written", "The sheet is written.");
  const saved = page.waitForEvent("download");
  await press("Save as CSV");
  need((await saved).suggestedFilename() === "web-sheet.csv", "it is saved as a file");
}

const dialog = page.getByRole("dialog");
const table = page.getByRole("region", {name: "Table of nodes"});
const rowOf = (name) => table.getByRole("row").filter({hasText: name});
const confirm = async (button, count) => {
  if (count) await dialog.getByLabel(/^Type \d+, the count/).fill(String(count));
  await dialog.getByRole("button", {name: button, exact: true}).click();
  await dialog.waitFor({state: "hidden"});
};

/** All of its nodes, or those that are picked: asked of the BMC, and read back. */
async function power() {
  await walk.open("/pdcis/web");
  await until("the power of each is read", async () => (await table.getByText(/^on$/).count()) === 2, 20);
  await page.getByText("2 free of class gpu").waitFor();
  const [one, other] = await table.getByRole("link", {name: /^s\d$/}).allTextContents();
  await page.getByLabel(`Pick ${one}`).check();
  await page.getByText("1 picked").waitFor();
  await walk.look("picked");
  await press("Power off…");
  need((await dialog.locator("code").textContent()) === `haasctl node power off ${one}`, "its line has the picked one alone");
  need(await dialog.getByRole("button", {name: "Power off", exact: true}).isDisabled(), "its count has to be typed");
  await confirm("Power off", 1);
  await until("it is read back", async () => (await rowOf(one).textContent()).includes("off"), 20);
  need(!(await rowOf(other).textContent()).includes("off"), "the other one runs on");
  await page.getByLabel(`Pick ${one}`).uncheck();
  await page.getByRole("button", {name: "Power on", exact: true}).click();
  need((await dialog.locator("code").textContent()) === `haasctl node power on ${one} ${other}`, "all of them");
  await confirm("Power on");
  await until("both are on again", async () => (await table.getByText(/^on$/).count()) === 2, 20);
  await page.getByRole("button", {name: "Read power", exact: true}).click();
  await confirm("Read power");
}

/** What it would be replaced by, and an OS that is written anew. */
async function again() {
  await table.getByRole("button", {name: "Replace…"}).first().click();
  await dialog.getByText("2 nodes of class gpu are free now.").waitFor();
  await walk.look("replace", {narrow: false});
  await dialog.getByRole("button", {name: "Back", exact: true}).click();
  await press("Reinstall…");
  need((await dialog.locator("code").textContent()).startsWith("haasctl deployment create --plan reinstall --image demo:1 s"), "the image that was asked for");
  need(await dialog.getByRole("button", {name: "Reinstall", exact: true}).isDisabled(), "its count has to be typed");
  await walk.look("reinstall", {narrow: false});
  await control("/hold");
  await confirm("Reinstall", 2);
  await until("both are installed anew", async () => (await page.locator(".numbers").textContent()).includes("0 of 2"), 10);
  await control("/go");
  await until("and ready again", async () => (await page.locator(".numbers").textContent()).includes("2 of 2"), 40);
}

/** It is given back; what proves that its disks were erased stays. */
async function proofs() {
  await page.getByRole("link", {name: "Proofs"}).click();
  await page.getByText("No proof of erasure yet").waitFor();
  await press("Release…");
  await confirm("Release", 2);
  const save = page.getByRole("button", {name: "Save all 2 as JSON"});
  await until("two proofs are signed", async () => (await save.count()) === 1, 60);
  await walk.look("proofs");
  const saved = page.waitForEvent("download");
  await save.click();
  const file = await saved;
  const list = JSON.parse(readFileSync(await file.path(), "utf8"));
  need(file.suggestedFilename() === "web-proofs.json" && list.length === 2 && list.every((one) => one.signature && JSON.parse(one.body).drives.length), "as they were signed");
}

for (const part of [begin, nodes, networks, volumes, software, create, sheet, power, again, proofs]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/pdci-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
