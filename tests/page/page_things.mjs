// Things that an operator makes, changes and forgets by the page: limits of the site, subnets, reservations, mirror ports, fabrics and their sampling, networks, ports,
// keys. What is wrong is said at its field, who comes second sees what differs, and each shows the haasctl line that does the same.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("things");
const {page} = walk;
const rows = (label) => page.getByRole("grid", {name: label, exact: true}).getByRole("row");
const panel = page.getByRole("region", {name: "Chosen"});
const dialog = page.getByRole("dialog");
const happen = (what) => fetch(facts.control + what);
const press = (where, name) => where.getByRole("button", {name, exact: true}).click();
const line = (wanted) => until(`the line ${wanted}`, async () => (await dialog.locator(".command code").textContent()) === wanted, 5);
const gone = () => dialog.waitFor({state: "hidden"});

async function fill(values) {
  for (const [label, value] of Object.entries(values)) {
    const field = dialog.getByLabel(label, {exact: true});
    await ((await field.evaluate((element) => element.tagName)) === "SELECT" ? field.selectOption(value) : field.fill(value));
  }
}

async function save(values, button = "Save") {
  await fill(values);
  await press(dialog, button);
  await gone();
}

/** Its count is typed, and what goes goes. */
async function forget(button = "Delete") {
  await dialog.getByLabel("Type 1, the count of what goes").fill("1");
  await press(dialog, button);
  await gone();
}

async function limits() {
  await walk.open("/");
  await walk.logIn("olga");
  await walk.open("/tenants");
  const site = page.getByRole("region", {name: "Limits of the site"});
  await site.getByText("no limit").first().waitFor();
  await press(site, "Change volumes and archives");
  await fill({"At most": "20T"});
  await line("haasctl tenant limit set --site --volumes 20T");
  await happen("/limited");
  await press(dialog, "Set");
  await dialog.getByText("A limit of the site was changed meanwhile").waitFor();
  need(/networks\s*no limit\s*12\s*no limit/.test((await dialog.getByRole("table").textContent())) && !(await dialog.getByRole("table").textContent()).includes("images"), `what differs: ${await dialog.getByRole("table").textContent()}`);
  await walk.look("limits-changed", {narrow: false});
  await press(dialog, "Keep mine where I changed it");
  await press(dialog, "Set");
  await gone();
  await until("both limits are there", async () => /networks\s*12/.test(await site.textContent()) && (await site.textContent()).includes("20.0 TiB"));
  await walk.look("limits");
}

async function subnets() {
  await walk.open("/addresses?show=subnets");
  await press(page, "New subnet");
  await fill({Name: "r09", Prefix: "10.9.0.0/22", "Boot server": "10.9.0.300", "Name servers": "10.9.0.2, 10.9.0.3", "Unknown MACs": "no"});
  await line("haasctl subnet set r09 --prefix 10.9.0.0/22 --boot-server 10.9.0.300 --dns 10.9.0.2 --dns 10.9.0.3 --open --lease 3600s");
  await press(dialog, "Make");
  await until("what is wrong stands at its field", async () => (await dialog.getByLabel("Boot server", {exact: true}).getAttribute("aria-invalid")) === "true");
  await walk.look("subnet-wrong");
  await save({"Boot server": "10.9.0.1"}, "Make");
  await rows("Subnets").filter({hasText: "r09"}).getByText("r09").click();
  await panel.getByText("10.9.0.2, 10.9.0.3").waitFor();
  await walk.look("subnet");
  await press(panel, "Edit");
  await fill({Gateway: "10.9.0.1"});
  await line("haasctl subnet set r09 --gateway 10.9.0.1");
  await happen("/subnet");
  await press(dialog, "Save");
  await dialog.getByText("The subnet r09 was changed meanwhile").waitFor();
  await walk.look("subnet-changed", {narrow: false});
  await press(dialog, "Keep mine where I changed it");
  await press(dialog, "Save");
  await gone();
  await until("mine and theirs are there", async () => (await panel.textContent()).includes("2 h 0 min") && (await panel.textContent()).includes("Gateway10.9.0.1"));
  await press(page.locator(".bar .end"), "New subnet");
  await fill({Name: "r09", Prefix: "10.10.0.0/22", "Boot server": "10.10.0.1"});
  await press(dialog, "Make");
  await dialog.getByText("subnet r09 is there already").waitFor();
  await page.keyboard.press("Escape");
  await gone();
  await press(panel, "Delete…");
  await line("haasctl subnet delete r09");
  await forget();
  await until("it is gone", async () => (await rows("Subnets").filter({hasText: "r09"}).count()) === 0);
}

async function reservations() {
  await page.getByRole("link", {name: "Reservations"}).click();
  await press(page, "New reservation");
  await fill({MAC: "52:54:00:99:00:01", Subnet: "prov", Address: "10.50.2.77"});
  await line("haasctl reservation set 52:54:00:99:00:01 prov 10.50.2.77");
  await save({}, "Make");
  await rows("Reservations").filter({hasText: "10.50.2.77"}).getByText("10.50.2.77").click();
  await press(panel, "Delete…");
  await forget();
  await until("it is gone", async () => (await rows("Reservations").filter({hasText: "10.50.2.77"}).count()) === 0);
  await page.getByRole("link", {name: "Rules"}).click();
  await press(page, "New rule");
  await save({Name: "dumb", "Relays, by their address": "10.50.0.9/32", "Circuit-id": "port{port}", Switch: "leaf2", Port: "{port}"}, "Make");
  await rows("Rules").filter({hasText: "dumb"}).getByText("dumb").click();
  await press(panel, "Edit");
  await fill({"Added to the number of the port": "-1"});
  await line("haasctl circuit set dumb --offset -1");
  await save({});
  await press(panel, "Delete…");
  await forget();
  await until("the rule is gone", async () => (await rows("Rules").filter({hasText: "dumb"}).count()) === 0);
}

async function points() {
  await walk.open("/captures");
  const points = page.getByRole("region", {name: "Mirror ports"});
  await press(points, "New mirror port");
  await fill({Switch: "leaf1", "Port of the switch": "m1", "Interface of the collector": "eth3"});
  await line("haasctl capture point leaf1 --port m1 --interface eth3");
  await walk.look("point-new");
  await save({}, "Make");
  await points.getByText("m1", {exact: true}).waitFor();
  await press(points, "Edit the mirror port of leaf1");
  await save({"Port of the switch": "m2"});
  await points.getByText("m2", {exact: true}).waitFor();
  await walk.look("points");
  await press(points, "Delete the mirror port of leaf1");
  await line("haasctl capture point leaf1 --none");
  await forget();
  await points.getByText("No switch has a mirror port").waitFor();
}

async function fabrics() {
  await walk.open("/links?show=fabrics");
  await rows("Fabrics").getByText("f1").click();
  await press(panel, "Edit");
  await fill({"A VLAN rests so many seconds": "120"});
  await line("haasctl fabric create f1 --quarantine 120s");
  await save({});
  await until("it rests two minutes", async () => (await panel.textContent()).includes("2:00"));
  await press(panel, "Sampling");
  await fill({"One frame of so many": "4000"});
  await line("haasctl sampling set --fabric f1 --rate 4000");
  await save({});
  await walk.look("fabrics");
  await press(page, "New fabric");
  await fill({Name: "f9", "First VLAN of ours": "100", "Last VLAN of ours": "199", "First VLAN of free ports": "4000", "So many from there": "8"});
  await line("haasctl fabric create f9 --vlans 100-199 --parking 4000-4007 --foreign repair");
  await save({}, "Make");
  await rows("Fabrics").getByText("f9").click();
  await press(panel, "Delete…");
  await forget();
  await until("it is gone", async () => (await rows("Fabrics").count()) === 2);
}

async function networks() {
  await walk.open("/topology?show=networks");
  await press(page, "New network");
  await fill({Name: "backup", "Its addresses": "10.70.0.0/24", Tenant: "acme"});
  await line("haasctl network create backup --prefix 10.70.0.0/24 --kind tenant --tenant acme");
  await save({}, "Make");
  await rows("Networks").getByText("backup").click();
  await panel.getByText("10.70.0.0/24").waitFor();
  await walk.look("networks");
  await press(panel, "Delete…");
  await forget();
  await panel.getByText("not there any more").or(panel.getByText("backup")).first().waitFor();
}

async function ports() {
  await walk.open("/switches/leaf1?at=m1");
  await press(panel, "Node behind it");
  await fill({Node: "gpu-0007"});
  await line("haasctl port set leaf1 m1 --node gpu-0007");
  await save({});
  await press(panel, "Park…");
  await line("haasctl port park leaf1:m1");
  await walk.look("port");
  await page.keyboard.press("Escape");
  await press(panel, "Forget…");
  await forget("Forget");
  await press(page.getByRole("region", {name: "Management"}), "Addresses");
  await fill({"Port n gives this address + n": "10.2.0.0"});
  await line("haasctl switch set leaf1 --base 10.2.0.0");
  await walk.look("switch-addresses", {narrow: false});
  await save({});
  await press(page.getByRole("region", {name: "Management"}), "New secrets");
  await fill({"SSH user": "haas2", "Secrets, NAME=VALUE in a line each": "ssh_password=hidden-word"});
  await line("haasctl rotation switch leaf1 --ssh-user haas2 --secrets FILE --keep 86400s");
  await page.keyboard.press("Escape");
}

async function keys() {
  await walk.open("/rotations");
  await press(page, "New key");
  await fill({Of: "portald", "Keep the old one, seconds": "0"});
  await line("haasctl rotation seal portald --keep 0s");
  await walk.look("key");
  await press(dialog, "Exchange");
  await gone();
  await page.getByRole("grid", {name: "Rotations"}).getByText("portald").waitFor();
  await press(page, "New BMC passwords");
  await fill({Nodes: "gpu-0001 gpu-0002"});
  await line("haasctl rotation bmc gpu-0001 gpu-0002 --keep 86400s");
  await page.keyboard.press("Escape");
  await gone();
}

async function node() {
  await walk.open("/nodes/gpu-0001");
  await press(page.getByRole("region", {name: "NICs"}), "Networks");
  await dialog.getByLabel("eth0", {exact: true}).waitFor();
  await fill({eth0: "front, store:tagged"});
  await until("its line", async () => (await dialog.locator(".command code").textContent()).includes("eth0=front eth0=store:tagged"));
  await walk.look("node-networks", {narrow: false});
  await press(dialog, "Save");
  await dialog.getByText("front").first().waitFor();
  await page.keyboard.press("Escape");
  await press(page.getByRole("region", {name: "Facts"}), "Delete…");
  await line("haasctl node delete gpu-0001");
  await dialog.getByLabel("Type 1, the count of what goes").fill("1");
  await press(dialog, "Delete");
  await dialog.getByRole("alert").waitFor();
}

for (const part of [limits, subnets, reservations, points, fabrics, networks, ports, keys, node]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/things-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
